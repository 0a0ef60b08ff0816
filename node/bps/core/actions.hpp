#pragma once

#include "chain/types/codec.hpp"
#include "chain/types/name.hpp"
#include "node/bps/core/rows.hpp"

#include <cstdint>
#include <string>
#include <vector>

// Arguments of the actions that a broker asks for, as contracts/bps/bps.hpp has them and in their
// packed form. `by` is the broker's account, to which the owner delegated the action.
namespace bps::actions {

using chain::literals::operator""_n;
using rows::kItems;
using rows::kText;

inline constexpr std::size_t kListMax = 128;  // Of what one action changes, as the contract has it.

// Replicas of a new partition, the preferred leader first.
struct Replicas {
    std::vector<std::int32_t> brokers;

    friend bool operator==(const Replicas&, const Replicas&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(chain::Limited{self.brokers, kItems});
    }
};
using Assignment = std::vector<Replicas>;

struct CreateTopic {
    static constexpr chain::Name kName = "createtopic"_n;

    chain::Name by;
    chain::Name owner;
    std::string name;
    std::vector<rows::Setting> settings;
    Assignment assignment;

    static void each_field(auto& self, auto&& visit) {
        visit(self.by,
              self.owner,
              chain::Limited{self.name, kText},
              chain::Limited{self.settings, kItems},
              chain::Limited{self.assignment, kItems});
    }
};

struct AlterTopic {
    static constexpr chain::Name kName = "altertopic"_n;

    chain::Name by;
    std::uint32_t topic = 0;
    std::vector<rows::Setting> settings;  // All of them.

    static void each_field(auto& self, auto&& visit) {
        visit(self.by, self.topic, chain::Limited{self.settings, kItems});
    }
};

struct DeleteTopic {
    static constexpr chain::Name kName = "deletetopic"_n;

    chain::Name by;
    std::uint32_t topic = 0;

    static void each_field(auto& self, auto&& visit) { visit(self.by, self.topic); }
};

struct AddParts {
    static constexpr chain::Name kName = "addparts"_n;

    chain::Name by;
    std::uint32_t topic = 0;
    Assignment assignment;

    static void each_field(auto& self, auto&& visit) {
        visit(self.by, self.topic, chain::Limited{self.assignment, kItems});
    }
};

struct OffsetOf {
    std::uint32_t partition = 0;
    std::int64_t offset = 0;

    static void each_field(auto& self, auto&& visit) { visit(self.partition, self.offset); }
};

struct DeleteRecords {
    static constexpr chain::Name kName = "deleterecs"_n;

    chain::Name by;
    std::uint32_t topic = 0;
    std::vector<OffsetOf> starts;

    static void each_field(auto& self, auto&& visit) {
        visit(self.by, self.topic, chain::Limited{self.starts, kItems});
    }
};

struct Grant {
    static constexpr chain::Name kName = "grant"_n;

    chain::Name by;
    chain::Name owner;
    rows::Grant grant;  // But for its id, which the contract gives.

    static void each_field(auto& self, auto&& visit) {
        visit(self.by,
              self.owner,
              self.grant.resource,
              self.grant.prefixed,
              chain::Limited{self.grant.name, kText},
              self.grant.account,
              self.grant.permission,
              self.grant.operation,
              self.grant.first,
              self.grant.last);
    }
};

struct Revoke {
    static constexpr chain::Name kName = "revoke"_n;

    chain::Name by;
    chain::Name owner;
    std::vector<std::uint64_t> grants;

    static void each_field(auto& self, auto&& visit) {
        visit(self.by, self.owner, chain::Limited{self.grants, kItems});
    }
};

struct PartitionOf {
    std::uint32_t topic = 0;
    std::uint32_t partition = 0;

    static void each_field(auto& self, auto&& visit) { visit(self.topic, self.partition); }
};

struct Elect {
    static constexpr chain::Name kName = "elect"_n;

    std::vector<PartitionOf> partitions;

    static void each_field(auto& self, auto&& visit) {
        visit(chain::Limited{self.partitions, kItems});
    }
};

struct Prefer {
    static constexpr chain::Name kName = "prefer"_n;

    std::int32_t broker = 0;
    PartitionOf id;
    std::int32_t epoch = 0;

    static void each_field(auto& self, auto&& visit) { visit(self.broker, self.id, self.epoch); }
};

struct Reassign {
    static constexpr chain::Name kName = "reassign"_n;

    chain::Name by;
    PartitionOf id;
    std::vector<std::int32_t> target;  // Empty: takes back what is on its way.

    static void each_field(auto& self, auto&& visit) {
        visit(self.by, self.id, chain::Limited{self.target, kItems});
    }
};

// What a broker says when it starts.
struct RegBroker {
    static constexpr chain::Name kName = "regbroker"_n;

    std::int32_t broker = 0;
    std::uint32_t boot = 0;
    base::Hash<16> start_id;
    std::vector<base::Hash<16>> earlier;
    base::Hash<16> log_id;
    base::crypto::PublicKey node_key;
    std::vector<rows::Listener> listeners;

    static void each_field(auto& self, auto&& visit) {
        visit(self.broker,
              self.boot,
              self.start_id,
              chain::Limited{self.earlier, kItems},
              self.log_id,
              self.node_key,
              chain::Limited{self.listeners, kItems});
    }
};

// The answer to a suspicion.
struct Alive {
    static constexpr chain::Name kName = "alive"_n;

    std::int32_t broker = 0;
    std::uint32_t boot = 0;

    static void each_field(auto& self, auto&& visit) { visit(self.broker, self.boot); }
};

struct LeaseIds {
    static constexpr chain::Name kName = "leaseids"_n;

    std::int32_t broker = 0;
    std::uint32_t boot = 0;

    static void each_field(auto& self, auto&& visit) { visit(self.broker, self.boot); }
};

// Gives numbers to at most kListMax accounts. An account that has one, and a name that is no
// account, are passed over.
struct AddIdSpaces {
    static constexpr chain::Name kName = "addidspaces"_n;

    std::int32_t broker = 0;
    std::vector<chain::Name> accounts;

    static void each_field(auto& self, auto&& visit) {
        visit(self.broker, chain::Limited{self.accounts, kItems});
    }
};

}  // namespace bps::actions
