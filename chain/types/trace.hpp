#pragma once

#include "chain/types/block.hpp"
#include "chain/types/exception.hpp"
#include "chain/types/transaction.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chain {

// What a stored trace may hold: bytes of a text or value, and items of a list.
inline constexpr std::size_t kTraceTextMax = 4 * 1024 * 1024;
inline constexpr std::size_t kTraceItemsMax = 1024 * 1024;

// What an executed action proves; leaf of action_root.
struct ActionReceipt {
    Name receiver;
    Digest act_digest;
    std::uint64_t global_sequence = 0;
    std::uint64_t recv_sequence = 0;
    std::vector<std::pair<Name, std::uint64_t>> auth_sequence;  // Sorted by name.
    std::uint32_t code_sequence = 0;
    std::uint32_t abi_sequence = 0;

    friend bool operator==(const ActionReceipt&, const ActionReceipt&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.receiver,
              self.act_digest,
              self.global_sequence,
              self.recv_sequence,
              Limited{self.auth_sequence, {kAuthorizationsMax, 16}},
              Varuint32{self.code_sequence},
              Varuint32{self.abi_sequence});
    }

    [[nodiscard]] Digest digest() const;
};

// SHA-256(SHA-256(account, name, authorization) || SHA-256(data, return_value)): Antelope's
// digest of an action since ACTION_RETURN_VALUE.
[[nodiscard]] Digest action_digest(const Action& action, base::ByteView return_value);

struct RamDelta {
    Name account;
    std::int64_t delta = 0;

    friend bool operator==(const RamDelta&, const RamDelta&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.account, self.delta); }
};

// One entry of nodeos' exception stack: a format with ${name} parts and their values.
struct TraceMessage {
    std::string format;
    std::vector<std::pair<std::string, std::string>> values;

    friend bool operator==(const TraceMessage&, const TraceMessage&) = default;

    [[nodiscard]] std::string text() const;
};

// Why a transaction or action failed: JSON "except". stack[0].text() is the error's message.
struct TraceException {
    Exception code = Exception::exception;
    std::vector<TraceMessage> stack;

    friend bool operator==(const TraceException&, const TraceException&) = default;

    // One entry for each of the error's details. Finds again the format behind messages whose
    // values clients look at (assertions, authorizations, pending console output).
    [[nodiscard]] static TraceException from_error(const base::Error& error);
    [[nodiscard]] base::Error to_error() const;
};

struct ActionTrace {
    std::uint32_t action_ordinal = 0;  // From 1, in order of creation.
    std::uint32_t creator_action_ordinal = 0;
    std::uint32_t closest_unnotified_ancestor_action_ordinal = 0;
    std::optional<ActionReceipt> receipt;  // Absent: it failed.
    Name receiver;
    Action act;
    bool context_free = false;
    std::int64_t elapsed = 0;  // Microseconds.
    std::string console;
    std::vector<RamDelta> account_ram_deltas;
    std::optional<TraceException> except;
    std::optional<std::uint64_t> error_code;
    base::Bytes return_value;

    friend bool operator==(const ActionTrace&, const ActionTrace&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(Varuint32{self.action_ordinal},
              Varuint32{self.creator_action_ordinal},
              Varuint32{self.closest_unnotified_ancestor_action_ordinal},
              self.receipt,
              self.receiver,
              self.act,
              self.context_free,
              self.elapsed,
              Limited{self.console, {kTraceTextMax}},
              Limited{self.account_ram_deltas, {kTraceItemsMax, 16}},
              self.except,
              self.error_code,
              Limited{self.return_value, {kTraceTextMax}});
    }
};

// The version of the packed form.
struct TraceVersion {};

// What happened when a transaction ran. block_num and block_time of its actions are its own.
struct TransactionTrace {
    TransactionId id;
    Height block_num = 0;
    TimePoint block_time;
    std::optional<BlockId> producer_block_id;  // Absent: not in a block yet.
    std::optional<TransactionReceiptHeader> receipt;
    std::int64_t elapsed = 0;     // Microseconds.
    std::uint64_t net_usage = 0;  // Bytes.
    bool scheduled = false;
    std::vector<ActionTrace> action_traces;  // By action_ordinal.
    std::optional<RamDelta> account_ram_delta;
    std::optional<TraceException> except;
    std::optional<std::uint64_t> error_code;

    friend bool operator==(const TransactionTrace&, const TransactionTrace&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(TraceVersion{},
              self.id,
              self.block_num,
              self.block_time,
              self.producer_block_id,
              self.receipt,
              self.elapsed,
              self.net_usage,
              self.scheduled,
              Limited{self.action_traces, {kTraceItemsMax, 40}},
              self.account_ram_delta,
              self.except,
              self.error_code);
    }
};

// The packed form of traces is our own, for storage only.
void encode(base::Writer& out, TraceVersion version);
void decode(base::Reader& in, TraceVersion version, std::string_view field);
void encode(base::Writer& out, const TraceMessage& message);
void encode(base::Writer& out, const TraceException& except);
void decode(base::Reader& in, TraceMessage& message, std::string_view field);
void decode(base::Reader& in, TraceException& except, std::string_view field);

}  // namespace chain
