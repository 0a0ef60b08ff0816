#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "chain/types/codec.hpp"
#include "chain/types/name.hpp"
#include "chain/types/time.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Rows of the contract `bps` that decide who may do what, as contracts/bps/tables.hpp has them and
// in its packed form. Limits here are above those of the contract: a row that it wrote is read.
namespace bps::rows {

using chain::literals::operator""_n;

inline constexpr chain::ListLimit kText{.count = 1'024};
inline constexpr chain::ListLimit kItems{.count = 1'024};

struct Setting {
    std::string name;
    std::string value;

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

}  // namespace bps::rows
