#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "chain/state/state.hpp"
#include "chain/types/authority.hpp"
#include "chain/types/parameters.hpp"
#include "chain/types/schedule.hpp"
#include "chain/types/transaction.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace chain {

// Keys and values of the state's rows (spec 03, "State"). Part of the state digest.
// Keys are big-endian, so that the order of bytes is the order of numbers; values are
// Antelope's binary form. decode functions are strict; a row that does not decode is damage.

__extension__ typedef unsigned __int128 Uint128;  // NOLINT(modernize-use-using): for __extension__.
// Antelope's key256: two 128-bit words in the order of memory, each little-endian.
using Key256 = std::array<Uint128, 2>;

// A key built in place, without allocation. Only what is used of it gets written.
class RowKey {  // NOLINT(cppcoreguidelines-pro-type-member-init): for that reason.
  public:
    RowKey& u16(std::uint16_t value) { return big_endian(value, 2); }
    RowKey& u32(std::uint32_t value) { return big_endian(value, 4); }
    RowKey& u64(std::uint64_t value) { return big_endian(value, 8); }
    RowKey& name(Name value) { return u64(value.value); }
    RowKey& u128(Uint128 value);
    RowKey& raw(base::ByteView bytes);  // At most what is left of 80 bytes.

    [[nodiscard]] base::ByteView view() const { return {bytes_.data(), size_}; }
    operator base::ByteView() const { return view(); }  // NOLINT(google-explicit-constructor)

  private:
    RowKey& big_endian(std::uint64_t value, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            bytes_[size_ + i] = static_cast<std::byte>(value >> (8 * (size - 1 - i)));
        }
        size_ += size;
        return *this;
    }

    std::array<std::byte, 80> bytes_;
    std::size_t size_ = 0;
};

// corrupt, and what to do: `row` does not decode.
[[nodiscard]] tl::unexpected<base::Error> corrupt_row(std::string_view row);
// The row that pack() made these bytes of. corrupt: it does not decode.
template <class Row>
[[nodiscard]] base::Result<Row> decode_row(base::ByteView bytes) {
    auto row = unpack<Row>(bytes, Row::kTable);
    if (!row) return corrupt_row("a row of table " + std::string(Row::kTable));
    return row;
}

// The big-endian integer at `offset` of a key that has it.
[[nodiscard]] std::uint64_t key_u64(base::ByteView key, std::size_t offset);

// --- Table::account: name ---------------------------------------------------------------

// Usage that decays over a window (Antelope's exponential moving average).
struct UsageAverage {
    std::uint32_t last_ordinal = 0;
    std::uint64_t value_ex = 0;  // Scaled by 1,000,000.
    std::uint64_t consumed = 0;

    friend bool operator==(const UsageAverage&, const UsageAverage&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.last_ordinal, self.value_ex, self.consumed);
    }

    [[nodiscard]] std::uint64_t average() const;
    // Adds `units` at `ordinal`, which is not before the last one; `window` is positive.
    void add(std::uint64_t units, std::uint32_t ordinal, std::uint32_t window);
};

// Everything counted for an account, in one row (spec 03: an expansion of the digest a row).
struct AccountRow {
    TimePoint created;
    bool privileged = false;
    std::uint64_t recv_sequence = 0;
    std::uint64_t auth_sequence = 0;
    std::uint64_t code_sequence = 0;
    std::uint64_t abi_sequence = 0;
    base::Hash256 code_hash;       // Zero: no code.
    std::uint32_t code_bytes = 0;  // Of that code: its loading is paid before it is read.
    TimePoint last_code_update;
    std::uint64_t ram_usage = 0;   // Bytes.
    std::int64_t ram_quota = -1;   // Bytes; -1: none.
    std::int64_t net_weight = -1;  // -1: not limited.
    std::int64_t cpu_weight = -1;
    UsageAverage net;
    UsageAverage cpu;
    // When `active` was last used; of other permissions it is in their rows. Here because
    // every transaction changes it, and it changes this row anyway.
    TimePoint active_last_used;

    friend bool operator==(const AccountRow&, const AccountRow&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.created,
              self.privileged,
              self.recv_sequence,
              self.auth_sequence,
              self.code_sequence,
              self.abi_sequence,
              self.code_hash,
              self.code_bytes,
              self.last_code_update,
              self.ram_usage,
              self.ram_quota,
              self.net_weight,
              self.cpu_weight,
              self.net,
              self.cpu,
              self.active_last_used);
    }
};
[[nodiscard]] inline RowKey account_key(Name account) {
    return RowKey().name(account);
}
[[nodiscard]] base::Bytes encode_account(const AccountRow& row);
[[nodiscard]] base::Result<AccountRow> decode_account(base::ByteView bytes);

// --- Table::permission: account, permission ---------------------------------------------

struct PermissionRow {
    Name parent;  // Empty for owner.
    TimePoint last_updated;
    TimePoint last_used;  // Not kept for `active`, see AccountRow.
    Authority authority;

    friend bool operator==(const PermissionRow&, const PermissionRow&) = default;
    static constexpr std::string_view kTable = "permission";
    static void each_field(auto& self, auto&& visit) {
        visit(self.parent, self.last_updated, self.last_used, self.authority);
    }
};
[[nodiscard]] inline RowKey permission_key(PermissionLevel level) {
    return RowKey().name(level.actor).name(level.permission);
}

// --- Table::authorizer: what an authority names, the permission it is of -> nothing ---------

// 'k' and SHA-256 of the packed key, or 'a' and actor and permission; then the permission.
[[nodiscard]] RowKey authorizer_prefix(const PublicKey& key);
[[nodiscard]] RowKey authorizer_prefix(PermissionLevel level);
[[nodiscard]] RowKey authorizer_prefix(Name actor);  // Of every permission of the account.
// Writes a permission and what finds it by its authority; erases it when `row` is null.
void put_permission(StateDelta& state, PermissionLevel level, const PermissionRow* row);

// --- Table::permission_link: account, code, action (empty: every action) -> name ---------

struct LinkKey {
    Name account;
    Name code;
    Name action;

    friend bool operator==(const LinkKey&, const LinkKey&) = default;
};
[[nodiscard]] inline RowKey link_key(const LinkKey& link) {
    return RowKey().name(link.account).name(link.code).name(link.action);
}

// --- Table::code: hash -> users u32, code -------------------------------------------------

[[nodiscard]] inline RowKey code_key(const base::Hash256& hash) {
    return RowKey().raw(hash.view());
}
[[nodiscard]] base::Bytes encode_code(std::uint32_t users, base::ByteView code);
[[nodiscard]] std::uint32_t code_users(base::ByteView row);
[[nodiscard]] base::ByteView code_bytes(base::ByteView row);

// --- Table::abi: account -> the ABI as given to setabi -----------------------------------

[[nodiscard]] inline RowKey abi_key(Name account) {
    return RowKey().name(account);
}

// --- Contract tables ---------------------------------------------------------------------

struct TableId {
    Name code;
    Name scope;
    Name table;  // For an index: the table's name with the index's number in the low 4 bits.

    friend auto operator<=>(const TableId&, const TableId&) = default;
};
// Table::contract_table: code, scope, table. Also the prefix of every row of the table, and
// `code` alone is the prefix of all of a contract's tables.
[[nodiscard]] inline RowKey table_key(const TableId& table) {
    return RowKey().name(table.code).name(table.scope).name(table.table);
}
struct TableRow {
    Name payer;
    std::uint32_t rows = 0;

    friend bool operator==(const TableRow&, const TableRow&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.payer, self.rows); }
};
[[nodiscard]] base::Bytes encode_table(const TableRow& row);
[[nodiscard]] base::Result<TableRow> decode_table(base::ByteView bytes);

// Table::contract_row: code, scope, table, primary -> payer u64, value.
[[nodiscard]] inline RowKey row_key(const TableId& table, std::uint64_t primary) {
    return table_key(table).u64(primary);
}
[[nodiscard]] base::Bytes encode_row(Name payer, base::ByteView value);
[[nodiscard]] Name row_payer(base::ByteView row);
[[nodiscard]] base::ByteView row_value(base::ByteView row);

// Table::index* : code, scope, table, ordered secondary, primary; and Table::index*_primary:
// code, scope, table, primary. Both have the value of encode_row(payer, secondary as given:
// 8, 16 or 32 bytes little-endian), because the ordered form of a float loses the sign of zero.

// Bits of an IEEE double or quadruple as an integer of the same order: -0 and +0 become one.
// NaN must have been refused before.
[[nodiscard]] std::uint64_t ordered_double(std::uint64_t bits);
[[nodiscard]] Uint128 ordered_long_double(Uint128 bits);

// --- Table::transaction_id: expiration u32, id -> nothing ---------------------------------

[[nodiscard]] inline RowKey transaction_key(TimePointSec expiration, const TransactionId& id) {
    return RowKey().u32(expiration.seconds).raw(id.view());
}

// --- Table::block_id: low 16 bits of the height -> id -------------------------------------

[[nodiscard]] inline RowKey block_id_key(std::uint16_t height_low) {
    return RowKey().u16(height_low);
}

// --- Table::allowed: account -> u8 of bits -------------------------------------------------

inline constexpr std::uint8_t kAllowedAccounts = 1;   // May create accounts.
inline constexpr std::uint8_t kAllowedContracts = 2;  // May set code.

// --- Table::producer, member, node ---------------------------------------------------------

inline constexpr std::size_t kUrlBytesMax = 1024;

struct ProducerRow {
    PublicKey key;
    std::optional<PublicKey> vote_key;  // Absent: `key`.
    std::string url;
    std::uint16_t location = 0;
    bool active = true;

    friend bool operator==(const ProducerRow&, const ProducerRow&) = default;
    static constexpr std::string_view kTable = "producer";
    static void each_field(auto& self, auto&& visit) {
        visit(
            self.key, self.vote_key, Limited{self.url, {kUrlBytesMax}}, self.location, self.active);
    }
};
// Table::producer, 'p' and the name: a registration. 'v' and the name: a voter.
[[nodiscard]] RowKey producer_key(Name producer);
[[nodiscard]] RowKey voter_key(Name voter);

// Producers that one voter may name.
inline constexpr std::size_t kVotesMax = 30;

struct VoterRow {
    Name proxy;
    bool is_proxy = false;
    std::vector<Name> producers;  // Sorted.

    friend bool operator==(const VoterRow&, const VoterRow&) = default;
    static constexpr std::string_view kTable = "producer";
    static void each_field(auto& self, auto&& visit) {
        visit(self.proxy, self.is_proxy, Limited{self.producers, {kProducersMax, 8}});
    }
};

// Table::member: name -> weight u64.
[[nodiscard]] inline RowKey member_key(Name member) {
    return RowKey().name(member);
}
[[nodiscard]] base::Bytes encode_u64(std::uint64_t value);
[[nodiscard]] std::uint64_t decode_u64(base::ByteView bytes);  // 8 bytes.

struct NodeRow {
    Name organisation;
    PublicKey key;
    std::uint32_t roles = 0;                // Bits.
    std::optional<PublicKey> previous_key;  // Still good until `previous_until`.
    TimePointSec previous_until;

    friend bool operator==(const NodeRow&, const NodeRow&) = default;
    static constexpr std::string_view kTable = "node";
    static void each_field(auto& self, auto&& visit) {
        visit(self.organisation, self.key, self.roles, self.previous_key, self.previous_until);
    }
};
[[nodiscard]] inline RowKey node_key(Name node) {
    return RowKey().name(node);
}

// --- Table::global: the row's name -----------------------------------------------------------

inline constexpr std::string_view kGlobalCounters = "counters";      // CountersRow
inline constexpr std::string_view kGlobalConfig = "config";          // ChainConfig
inline constexpr std::string_view kGlobalWasm = "wasm";              // WasmConfig
inline constexpr std::string_view kGlobalParameters = "parameters";  // BorParameters
inline constexpr std::string_view kGlobalSchedule = "schedule";      // Schedule in force
inline constexpr std::string_view kGlobalPending = "pending";        // See load_schedules()
inline constexpr std::string_view kGlobalRules = "rules";            // RulesRow
inline constexpr std::string_view kGlobalFixed = "schedule_fixed";   // See load_fixed()
inline constexpr std::string_view kGlobalTimes = "times";            // SlotTimes of the chain
inline constexpr std::string_view kGlobalRetimes = "retimes";        // RetimesRow, if there are
[[nodiscard]] inline base::ByteView global_key(std::string_view name) {
    return base::as_bytes(name);
}

// The times that the chain was given anew (spec 04, `recover --retime`).
struct RetimesRow {
    std::vector<Retime> retimes;  // Ascending.
    // The lowest block that a transaction may refer to. A transaction that refers to a lower block
    // may have been executed already: its id was forgotten when the chain's time passed it.
    Height refers_from = 0;

    static void each_field(auto& self, auto&& visit) {
        visit(Limited{self.retimes, {kRetimesMax, kRetimeBytes}}, self.refers_from);
    }
};

// What changes with every transaction and is of no account.
struct CountersRow {
    std::uint64_t global_action_sequence = 0;
    std::uint64_t total_net_weight = 0;
    std::uint64_t total_cpu_weight = 0;
    std::uint64_t total_ram_bytes = 0;
    std::uint64_t pending_net_usage = 0;  // Of the block being made, in bytes.
    std::uint64_t pending_cpu_usage = 0;  // In microseconds.
    std::uint64_t virtual_net_limit = 0;
    std::uint64_t virtual_cpu_limit = 0;
    UsageAverage average_net;
    UsageAverage average_cpu;

    friend bool operator==(const CountersRow&, const CountersRow&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.global_action_sequence,
              self.total_net_weight,
              self.total_cpu_weight,
              self.total_ram_bytes,
              self.pending_net_usage,
              self.pending_cpu_usage,
              self.virtual_net_limit,
              self.virtual_cpu_limit,
              self.average_net,
              self.average_cpu);
    }
};
[[nodiscard]] base::Bytes encode_counters(const CountersRow& row);
[[nodiscard]] base::Result<CountersRow> decode_counters(base::ByteView bytes);

// The newest version of the rules that this program has.
inline constexpr std::uint32_t kRulesKnown = 1;

// The version of the rules, and what was decided for later (spec 03, rules_version).
struct RulesRow {
    std::uint32_t version = 1;
    std::uint32_t next_version = 0;  // 0: none decided.
    Height next_height = 0;          // From here on next_version holds.

    friend bool operator==(const RulesRow&, const RulesRow&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.version, self.next_version, self.next_height);
    }
};

// Reads a row of Table::global; its default when there is none. corrupt: does not decode.
[[nodiscard]] base::Result<ChainConfig> load_config(const StateView& state);
[[nodiscard]] base::Result<WasmConfig> load_wasm_config(const StateView& state);
[[nodiscard]] base::Result<BorParameters> load_parameters(const StateView& state);
[[nodiscard]] base::Result<CountersRow> load_counters(const StateView& state);
[[nodiscard]] base::Result<RulesRow> load_rules(const StateView& state);
[[nodiscard]] base::Result<Schedule> load_schedule(const StateView& state);
[[nodiscard]] base::Result<SlotTimes> load_times(const StateView& state);
// Empty: the chain has the times of its genesis.
[[nodiscard]] base::Result<RetimesRow> load_retimes(const StateView& state);
// In the first block that has other times: its slot, and the height of its parent.
void put_retimes(StateDelta& state, const SlotTimes& times, Slot slot, Height parent);

// --- RAM billing, in bytes (Leap's config::billable_size) ------------------------------------

namespace ram {
inline constexpr std::int64_t kAccount = 2048;
inline constexpr std::int64_t kPermission = 288;  // And Authority::billable_bytes().
inline constexpr std::int64_t kLink = 144;
inline constexpr std::int64_t kTable = 112;
inline constexpr std::int64_t kRow = 112;  // And the value.
inline constexpr std::int64_t kIndex64 = 128;
inline constexpr std::int64_t kIndex128 = 144;
inline constexpr std::int64_t kIndex256 = 160;
inline constexpr std::int64_t kIndexDouble = 128;
inline constexpr std::int64_t kIndexLongDouble = 144;
inline constexpr std::int64_t kCodeFactor = 10;
}  // namespace ram

}  // namespace chain
