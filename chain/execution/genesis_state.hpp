#pragma once

#include "chain/execution/rows.hpp"

#include <vector>

namespace chain {

// What the first state is made of; the folder genesis reads it from a file.
struct GenesisParameters {
    struct Member {
        Name name;
        Authority authority;  // Of owner and active.
        std::uint64_t weight = 1;
    };

    struct Node {
        Name name;
        Name organisation;  // One of the members.
        PublicKey key;
        std::uint32_t roles = 0;
    };

    SlotTimes times;
    Authority system_authority;  // Of eosio@owner and eosio@active.
    std::vector<Member> members;
    std::vector<Node> nodes;  // Who may connect at first.
    Schedule schedule;
    BorParameters parameters;
    ChainConfig config;
    WasmConfig wasm;
};

// Writes the state of block 1: eosio (privileged), eosio.null, eosio.prods with its majorities,
// the members, nodes, parameters, schedule and limits. The validators are registered producers,
// and the members vote for them, so that the first election changes nothing. `state` is empty. The
// parameters have been checked: names are unique and authorities valid.
void write_genesis_state(StateDelta& state, const GenesisParameters& genesis);

// Sets eosio.prods@active, prod.major and prod.minor to more than 2/3, 1/2 and 1/3 of the
// validators, as nodeos does when a schedule comes into force.
void set_producers_authority(StateDelta& state, const Schedule& schedule, TimePoint now);

}  // namespace chain
