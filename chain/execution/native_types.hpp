#pragma once

#include "chain/types/authority.hpp"
#include "chain/types/parameters.hpp"
#include "chain/types/schedule.hpp"
#include "chain/types/transaction.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace chain {

// The data of the actions of `eosio` that the node itself knows (spec 03, "Native actions").
// Each has decode(); bytes after it are ignored, as nodeos does.

struct NewAccount {
    Name creator;
    Name name;
    Authority owner;
    Authority active;
};
struct SetCode {
    Name account;
    std::uint8_t vm_type = 0;
    std::uint8_t vm_version = 0;
    base::ByteView code;  // Borrowed from the action.
};
struct SetAbi {
    Name account;
    base::ByteView abi;  // Borrowed from the action.
};
struct UpdateAuth {
    Name account;
    Name permission;
    Name parent;
    Authority authority;
};
struct DeleteAuth {
    Name account;
    Name permission;
};
struct LinkAuth {
    Name account;
    Name code;
    Name type;
    Name requirement;
};
struct UnlinkAuth {
    Name account;
    Name code;
    Name type;
};

// Bios.
struct SetPriv {
    Name account;
    bool privileged = false;
};
struct SetAccountLimits {
    Name account;
    std::int64_t ram = 0;
    std::int64_t net = 0;
    std::int64_t cpu = 0;
};
struct SetProds {
    std::vector<ScheduleEntry> entries;
    bool single_keys = true;  // False: an authority is not one key of full weight.
};
struct SetParams {
    ChainConfig config;  // Without what the v0 layout lacks.
};

// eosio.system.
struct RegProducer {
    Name producer;
    PublicKey key;
    std::string url;
    std::uint16_t location = 0;
};
struct VoteProducer {
    Name voter;
    Name proxy;
    std::vector<Name> producers;
};
struct RegProxy {
    Name proxy;
    bool is_proxy = false;
};
struct OneName {  // reqauth, unregprod, ready, amnesia, addmember, rmmember, rmnode.
    Name name;
};

// BoR's own.
struct SetVoteKey {
    Name producer;
    PublicKey key;
};
struct SetWeight {
    Name member;
    std::uint64_t weight = 0;
};
struct Allow {
    Name account;
    bool accounts = false;
    bool contracts = false;
};
struct RegNode {
    Name organisation;
    Name node;
    PublicKey key;
    std::uint32_t roles = 0;
};
struct RotateKey {
    Name node;
    PublicKey key;
    TimePointSec until;
};
struct SetRules {
    std::uint32_t version = 0;
    Height height = 0;
};
struct ChainValue {
    std::string name;
    std::uint64_t value = 0;
};
struct SetChain {
    std::vector<ChainValue> values;
};

void decode(base::Reader& in, SetPriv& data, std::string_view field);
void decode(base::Reader& in, SetAccountLimits& data, std::string_view field);
void decode(base::Reader& in, SetProds& data, std::string_view field);
void decode(base::Reader& in, SetParams& data, std::string_view field);
void decode(base::Reader& in, RegProducer& data, std::string_view field);
void decode(base::Reader& in, VoteProducer& data, std::string_view field);
void decode(base::Reader& in, RegProxy& data, std::string_view field);
void decode(base::Reader& in, OneName& data, std::string_view field);
void decode(base::Reader& in, SetVoteKey& data, std::string_view field);
void decode(base::Reader& in, SetWeight& data, std::string_view field);
void decode(base::Reader& in, Allow& data, std::string_view field);
void decode(base::Reader& in, RegNode& data, std::string_view field);
void decode(base::Reader& in, RotateKey& data, std::string_view field);
void decode(base::Reader& in, SetRules& data, std::string_view field);
void decode(base::Reader& in, SetChain& data, std::string_view field);
void decode(base::Reader& in, NewAccount& data, std::string_view field);
void decode(base::Reader& in, SetCode& data, std::string_view field);
void decode(base::Reader& in, SetAbi& data, std::string_view field);
void decode(base::Reader& in, UpdateAuth& data, std::string_view field);
void decode(base::Reader& in, DeleteAuth& data, std::string_view field);
void decode(base::Reader& in, LinkAuth& data, std::string_view field);
void decode(base::Reader& in, UnlinkAuth& data, std::string_view field);

// The data of a native action. out_of_range_exception: it is too short, or malformed.
template <class T>
[[nodiscard]] base::Result<T> native_data(const Action& action) {
    auto data = unpack_start<T>(action.data, "data");
    if (!data)
        data.error().exception = 8;  // fc's out_of_range_exception, as its datastream throws.
    return data;
}

}  // namespace chain
