#pragma once

#include "chain/abi/json.hpp"
#include "chain/types/schedule.hpp"
#include "chain/types/vote.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace node::api {

using chain::abi::Json;

// A block that a validator promised something about.
struct Promise {
    chain::VoteKind kind = chain::VoteKind::notarize;
    chain::Height height = 0;
    chain::Slot slot = 0;
};

// What this node knows of one validator (spec 07, "finality per validator").
struct ValidatorStatus {
    chain::ScheduleEntry entry;
    bool own = false;                   // Its vote key is here.
    bool lacks_lock = false;            // Own: it is locked on a block that is not here.
    bool stopped = false;               // Own: it has answered a recovery and signs nothing more.
    bool journal_lost = false;          // Own: it does not vote until that is safe.
    bool twin = false;                  // Own: another machine votes with the key.
    bool waits = false;                 // Own: it signs once a quorum of validators was heard.
    bool connected = false;             // A peer has proved to hold its vote key.
    bool forgot = false;                // Its key went on without its journal (accept-amnesia).
    bool has_node_key = true;           // A validator's node is registered for it.
    std::optional<bool> voted_final;    // In the certificate of the final block.
    std::optional<Promise> last_vote;   // The newest that was seen.
    std::optional<Promise> lock;        // What its newest COMMIT was for.
    std::optional<chain::Height> head;  // Of its node, as that says.
    std::optional<std::int64_t> clock_nanoseconds;  // Its clock minus ours.
    std::int64_t clock_error_nanoseconds = 0;       // By which that may be wrong: its way here.
    std::string signing_failure;  // Own: why its key did not sign when it was asked last.
    std::string lacks;  // The validator of this node: its key in the schedule, which is not here.
};

// What a convicted key signed, by the number that its row has (chain::ConvictedKey).
[[nodiscard]] std::string_view evidence_name(std::uint8_t kind);

// Milliseconds to the microsecond; null: unknown.
[[nodiscard]] Json milliseconds_to_json(std::optional<std::int64_t> nanoseconds);
[[nodiscard]] Json validator_to_json(const ValidatorStatus& validator);

// Whether entry `index` of the active schedule signed.
[[nodiscard]] bool has_signed(const chain::Certificate& certificate, std::size_t index);

}  // namespace node::api
