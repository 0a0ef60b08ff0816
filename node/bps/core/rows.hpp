#pragma once

#include "base/bytes.hpp"
#include "base/crypto/keys.hpp"
#include "base/result.hpp"
#include "chain/types/codec.hpp"
#include "chain/types/name.hpp"
#include "chain/types/time.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bps {

// Where a row of the contract is.
struct RowId {
    chain::Name table;
    chain::Name scope;
    std::uint64_t key = 0;
};

}  // namespace bps

// Rows of the contract `bps` that decide who may do what and who is where, as
// contracts/bps/tables.hpp has them and in its packed form. Limits here are above those of the
// contract: a row that it wrote is read.
namespace bps::rows {

using chain::literals::operator""_n;

inline constexpr chain::ListLimit kText{.count = 1'024};
inline constexpr chain::ListLimit kItems{.count = 1'024};

// A row from its packed form. malformed: names the row, the field and the offset.
template <class Row>
[[nodiscard]] base::Result<Row> read(const RowId& id, base::ByteView value) {
    auto row = chain::unpack<Row>(value, "row");
    if (row) return row;
    return base::fail(row.error().code,
                      fmt::format("table {}, scope {}, key {}: {}",
                                  id.table.to_string(),
                                  id.scope.to_string(),
                                  id.key,
                                  row.error().detail));
}
// malformed: a row that is not where its key says.
[[nodiscard]] tl::unexpected<base::Error> misplaced(const RowId& id);

struct Setting {
    std::string name;
    std::string value;

    friend bool operator==(const Setting&, const Setting&) = default;

    static void each_field(auto& self, auto&& visit) {
        visit(chain::Limited{self.name, kText}, chain::Limited{self.value, kText});
    }
};

// What a topic's settings say; nothing: it is not among them.
[[nodiscard]] std::optional<std::string_view> find_setting(const std::vector<Setting>& settings,
                                                           std::string_view name);
// `otherwise`: it is not among them, or no number.
[[nodiscard]] std::int64_t number_setting(const std::vector<Setting>& settings,
                                          std::string_view name,
                                          std::int64_t otherwise);

struct Topic {
    static constexpr chain::Name kTable = "topics"_n;

    std::uint32_t id = 0;
    std::string name;
    chain::Name owner;
    std::uint32_t partitions = 0;
    std::vector<Setting> settings;

    static void each_field(auto& self, auto&& visit) {
        visit(self.id,
              chain::Limited{self.name, kText},
              self.owner,
              self.partitions,
              chain::Limited{self.settings, kItems});
    }
};

enum class Resource : std::uint8_t { topic = 0, group = 1 };
enum class Operation : std::uint8_t { produce = 0, consume = 1, admin = 2 };

// Scope: the owner of what it is about.
struct Grant {
    static constexpr chain::Name kTable = "grants"_n;

    Resource resource = Resource::topic;
    bool prefixed = false;  // `name` is the beginning of names; empty: of all.
    std::string name;
    chain::Name account;
    chain::Name permission;  // Empty: any.
    Operation operation = Operation::produce;
    std::uint32_t first = 0;  // Block heights at which it holds.
    std::uint32_t last = 0;   // 0: no end.
    std::uint64_t id = 0;

    static void each_field(auto& self, auto&& visit) {
        visit(self.resource,
              self.prefixed,
              chain::Limited{self.name, kText},
              self.account,
              self.permission,
              self.operation,
              self.first,
              self.last,
              self.id);
    }
};
inline void encode(base::Writer& out, Resource value) {
    out.u8(static_cast<std::uint8_t>(value));
}
inline void encode(base::Writer& out, Operation value) {
    out.u8(static_cast<std::uint8_t>(value));
}
void decode(base::Reader& in, Resource& value, std::string_view field);
void decode(base::Reader& in, Operation& value, std::string_view field);

struct Prefix {
    static constexpr chain::Name kTable = "prefixes"_n;

    std::uint64_t id = 0;
    chain::Name owner;
    std::string prefix;

    static void each_field(auto& self, auto&& visit) {
        visit(self.id, self.owner, chain::Limited{self.prefix, kText});
    }
};

// Scope: the owner. Key: the account.
struct Delegation {
    static constexpr chain::Name kTable = "delegations"_n;

    chain::Name account;  // The broker's.
    std::int32_t broker = 0;
    std::vector<chain::Name> actions;
    std::string prefix;  // Of the topics' names; empty: all.
    chain::TimePointSec until;

    static void each_field(auto& self, auto&& visit) {
        visit(self.account,
              self.broker,
              chain::Limited{self.actions, kItems},
              chain::Limited{self.prefix, kText},
              self.until);
    }
};

struct Cert {
    static constexpr chain::Name kTable = "certs"_n;

    std::uint64_t id = 0;
    base::Hash256 hash;  // SHA-256 of the key's 33 bytes.
    chain::Name account;
    chain::Name permission;

    static void each_field(auto& self, auto&& visit) {
        visit(self.id, self.hash, self.account, self.permission);
    }
};

// Scope: the account.
struct Revocation {
    static constexpr chain::Name kTable = "revoked"_n;

    std::uint64_t key = 0;  // The first eight bytes of SHA-256 of `jti`.
    std::string jti;
    chain::TimePointSec until;

    static void each_field(auto& self, auto&& visit) {
        visit(self.key, chain::Limited{self.jti, kText}, self.until);
    }
};

// Key: the account.
struct NotBefore {
    static constexpr chain::Name kTable = "notbefore"_n;

    chain::Name account;
    chain::TimePointSec time;

    static void each_field(auto& self, auto&& visit) { visit(self.account, self.time); }
};

struct Listener {
    std::string protocol;  // PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
    std::string host;
    std::uint16_t port = 0;

    static void each_field(auto& self, auto&& visit) {
        visit(chain::Limited{self.protocol, kText}, chain::Limited{self.host, kText}, self.port);
    }
};

// Key: the id.
struct Broker {
    static constexpr chain::Name kTable = "brokers"_n;

    std::int32_t id = 0;
    chain::Name account;
    base::crypto::PublicKey node_key;
    std::vector<Listener> listeners;
    std::uint32_t boot = 0;  // Number of its last start; 0: it has never started.
    base::Hash<16> start_id;
    base::Hash<16> log_id;
    std::int32_t generation = 0;
    bool draining = false;  // It gets no new replicas.
    bool fenced = true;
    std::uint32_t replicas = 0;  // Of all partitions.
    std::int64_t first_id = -1;  // The last producer ids that it leased begin here.
    std::uint32_t suspects_at = 0;
    std::uint32_t suspected_at = 0;
    std::uint32_t covered_at = 0;
    std::uint32_t called_at = 0;
    base::Hash<16> producers;
    std::uint64_t schedule = 0;

    static void each_field(auto& self, auto&& visit) {
        visit(self.id,
              self.account,
              self.node_key,
              chain::Limited{self.listeners, kItems},
              self.boot,
              self.start_id,
              self.log_id,
              self.generation,
              self.draining,
              self.fenced,
              self.replicas,
              self.first_id,
              self.suspects_at,
              self.suspected_at,
              self.covered_at,
              self.called_at,
              self.producers,
              self.schedule);
    }
};

// What a tenant may use; -1: without bound. Key: the account; the empty name: every tenant without
// a row of its own.
struct Quota {
    static constexpr chain::Name kTable = "quotas"_n;

    chain::Name account;
    std::int64_t bytes_in = -1;   // From its clients, in a second.
    std::int64_t bytes_out = -1;  // To them.
    std::int64_t connections = -1;
    std::int64_t partitions = -1;
    std::int64_t groups = -1;
    std::int64_t stored_bytes = -1;

    static void each_field(auto& self, auto&& visit) {
        visit(self.account,
              self.bytes_in,
              self.bytes_out,
              self.connections,
              self.partitions,
              self.groups,
              self.stored_bytes);
    }
};

// Whose producer ids have this number in their high bits (producer_ids.hpp). Key: the account.
struct IdSpace {
    static constexpr chain::Name kTable = "idspaces"_n;

    chain::Name account;
    std::uint32_t number = 0;

    static void each_field(auto& self, auto&& visit) { visit(self.account, self.number); }
};

struct Replica {
    std::int32_t broker = 0;
    std::int32_t generation = -1;  // With which the broker is in ISR; -1: it is not.

    static void each_field(auto& self, auto&& visit) { visit(self.broker, self.generation); }
};

// Key: the topic in the high 32 bits, the partition in the low ones.
struct Partition {
    static constexpr chain::Name kTable = "partitions"_n;

    std::uint32_t topic = 0;
    std::uint32_t partition = 0;
    std::vector<Replica> replicas;     // The first is the preferred leader.
    std::vector<std::int32_t> target;  // Of a reassignment on its way; empty: none.
    std::uint8_t replicas_before = 0;  // How many of `replicas` there were before it.
    std::int32_t leader = -1;          // -1: nobody.
    std::uint32_t leader_boot = 0;
    std::int32_t leader_epoch = 0;
    std::int32_t partition_epoch = 0;
    std::int32_t break_epoch = 0;
    std::int64_t log_start = 0;  // Records below were deleted by the owner.

    static void each_field(auto& self, auto&& visit) {
        visit(self.topic,
              self.partition,
              chain::Limited{self.replicas, kItems},
              chain::Limited{self.target, kItems},
              self.replicas_before,
              self.leader,
              self.leader_boot,
              self.leader_epoch,
              self.partition_epoch,
              self.break_epoch,
              self.log_start);
    }
};

// What was given out last. Key: the table.
struct Ids {
    static constexpr chain::Name kTable = "ids"_n;

    std::int32_t broker = -1;
    std::uint32_t topic = 0;
    std::uint64_t row = 0;
    std::int64_t next_producer = 0;
    std::uint32_t id_space = 0;

    static void each_field(auto& self, auto&& visit) {
        visit(self.broker, self.topic, self.row, self.next_producer, self.id_space);
    }
};

}  // namespace bps::rows
