#pragma once

#include "node/api/validator_json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace node::api {

// A key with which a validator would go on signs nothing that counts: evidence against it is on the
// chain ('reportbad').
struct Conviction {
    chain::Name producer;
    std::string key;
    std::string kind;          // What its owner did.
    chain::Height height = 0;  // Of the block that holds the report.
    bool own = false;          // The key is here.
};

// Why there is no connection to a peer.
struct Refusal {
    std::string who;  // Its organisation, if it is registered, and its address.
    std::string text;
};

// A recovery that this node's operator confirms, and that the final block is not above yet.
struct FollowedRecovery {
    std::string id;
    chain::Height from = 0;  // The block that it begins from.
    bool is_retime = false;  // It sets the time back; the schedule stays.
};

// What one node sees of the agreement, for the question what is wrong with it.
struct AgreementView {
    // Of the schedule in force, in its order; of the recovery's, where one is followed.
    std::vector<ValidatorStatus> validators;
    std::optional<FollowedRecovery> recovery;
    // That peers of two organisations name, from a block above the final one of this node, which
    // was not told of it.
    std::optional<FollowedRecovery> peers_recovery;
    std::vector<Conviction> convicted;  // Whose validators have no other keys yet.
    std::size_t quorum = 1;
    bool has_member = true;  // The chain has one.
    chain::Height head = 0;
    chain::Height finalized = 0;
    chain::Slot head_slot = 0;
    std::uint64_t lag_milliseconds = 0;  // Of the final block behind the head or the clock.
    std::uint32_t interval_milliseconds = 500;
    // Clocks of validators that were heard since the start, ours among them, if it counts.
    std::size_t clocks_heard = 0;
    chain::TimePoint clock;       // What ours shows.
    chain::TimePoint final_time;  // Of the final block's slot.
    // A key of this node signs nothing for slots before this.
    std::optional<chain::TimePoint> signs_from;
    // What this node waits for before it fetches anything of its peers; empty: nothing.
    std::string joining_waits_for;
    // Why there is no connection to those that are dialled, in their words ("revoked: ...") or
    // ours.
    std::vector<std::string> refusals;
    bool is_registered = false;  // This node's key, as its own final block has it.
    std::vector<Refusal> forks;  // Of peers that have another final block than this node.
};

// One thing that is wrong.
struct Finding {
    enum class Kind : std::uint8_t {
        fork,        // Another node has another final block.
        unsound,     // More validators were convicted than the agreement tolerates.
        memberless,  // Nobody may vote, or sign a recovery.
        revoked,     // This node, or a validator's, is not in the registry any more.
        recovery,    // Peers follow another chain since a recovery.
        joining,     // This node has no history yet, and believes none of its peers one.
        twin,        // A vote key is used twice.
        partition,   // Too few validators can be reached.
        down,        // A validator cannot be reached.
        clock,       // Clocks differ too much.
        lagging,     // A validator, or this node, is behind.
        silent,      // A validator is connected and does not vote.
        stale,       // What is final here is far behind the clock.
        convicted,   // A validator's key counts no more.
        amnesia,     // A key went on without what it had promised, and has no successor yet.
    };
    Kind kind = Kind::down;
    std::string who;   // The validator; empty: this node.
    std::string text;  // One sentence that names who and why.
};
[[nodiscard]] std::string_view to_string(Finding::Kind kind);

// What is wrong, the most telling first. Empty: nothing.
[[nodiscard]] std::vector<Finding> diagnose(const AgreementView& view);
// Why nothing becomes final, in one sentence; empty: it does.
[[nodiscard]] std::string why_finality_waits(const AgreementView& view,
                                             const std::vector<Finding>& findings);
[[nodiscard]] Json finding_to_json(const Finding& finding);

}  // namespace node::api
