#include "node/api/diagnosis.hpp"

#include "node/api/clocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace node::api {

namespace {

using Kind = Finding::Kind;

constexpr std::uint32_t kLagMilliseconds = 3'000;
// A peer that stands still is given up after about four seconds: it is to be seen before.
constexpr std::uint32_t kPeerLagMilliseconds = 2'000;
constexpr chain::Height kLagBlocksMin = 3;

// As many blocks as are made in the time after which one is called late.
chain::Height late_blocks(const AgreementView& view) {
    return std::max(kLagBlocksMin, kPeerLagMilliseconds / std::max(view.interval_milliseconds, 1U));
}

std::string last_vote(const AgreementView& view, const ValidatorStatus& validator) {
    if (!validator.last_vote) return "no vote of it was ever seen here";
    const auto& [kind, height, slot] = *validator.last_vote;
    return fmt::format("its last vote was for block {}, {} blocks below the head, {} slots ago",
                       height,
                       view.head - std::min(height, view.head),
                       view.head_slot - std::min(slot, view.head_slot));
}

// While nothing becomes final, blocks follow each other a second and the slots of others later, at
// one height. Validators that vote do so for the newest. Before a first vote is heard, the chain
// has to stand: this node may have begun a moment ago, or may lack blocks.
bool is_silent(const AgreementView& view, const ValidatorStatus& validator, chain::Height best) {
    const chain::Height late = late_blocks(view);
    const chain::Slot slots = late + view.validators.size();
    if (!validator.last_vote) {
        return best == view.head && view.lag_milliseconds > slots * view.interval_milliseconds;
    }
    return validator.last_vote->height + late < view.head ||
           validator.last_vote->slot + slots < view.head_slot;
}

bool is_connected(const ValidatorStatus& validator) {
    return validator.own || validator.connected;
}

// Over a connection, or by way of others: while blocks become final here, its votes come.
bool is_reachable(const AgreementView& view, const ValidatorStatus& validator) {
    if (is_connected(validator)) return true;
    const bool is_final = view.lag_milliseconds < kLagMilliseconds;
    return is_final && validator.last_vote && !is_silent(view, validator, view.head);
}

void find_memberless(const AgreementView& view, std::vector<Finding>& out) {
    if (view.has_member) return;
    out.push_back({Kind::memberless,
                   "",
                   "The chain has no member, since all were removed ('bor-cli member remove'): "
                   "nobody can vote for validators, or sign a recovery. Make an account a member "
                   "while blocks become final ('bor-cli member add'); where none does any more, "
                   "only a new chain is left."});
}

// Whose nodes may connect, or are seen to be.
std::size_t admitted(const AgreementView& view) {
    return static_cast<std::size_t>(
        std::ranges::count_if(view.validators, [&](const ValidatorStatus& each) {
            return each.has_node_key || is_reachable(view, each);
        }));
}

// Named in one sentence, and before the nodes themselves: each alone could be done without.
void find_too_few_admitted(const AgreementView& view, std::vector<Finding>& out) {
    const std::size_t count = admitted(view);
    if (count >= view.quorum) return;
    out.push_back({Kind::revoked,
                   "",
                   fmt::format("Only {} of {} validators have a registered validator's node, or "
                               "are seen here, and {} must agree: nothing becomes final, and a "
                               "node that is registered now may connect only once that is final. "
                               "The nodes of the others were removed ('bor-cli node remove', or "
                               "'bor-cli member remove', which revokes all of a member), or never "
                               "added for them. Where they cannot come back, recover with "
                               "validators whose nodes 'bor-cli node list' shows (README, \"More "
                               "than a third of the validators are lost for ever\").",
                               count,
                               view.validators.size(),
                               view.quorum)});
}

void find_revoked(const AgreementView& view, std::vector<Finding>& out) {
    const auto revoked = std::ranges::find_if(view.refusals, [](const std::string& text) {
        return text.find("revoked") != std::string::npos ||
               text.find("not_permitted") != std::string::npos;
    });
    // A peer that is behind, or blank, does not know a new key yet. One that knew a key, and does
    // no more, may know of its end before this node does.
    const bool is_new_there = revoked != view.refusals.end() && view.is_registered &&
                              revoked->find("revoked") == std::string::npos;
    if (is_new_there) {
        out.push_back({Kind::lagging,
                       "",
                       fmt::format("A peer refuses this node, whose key is registered ({}): that "
                                   "peer is behind, or blank. It looks for others within a "
                                   "minute; what it lacks its own 'bor-cli doctor' says.",
                                   *revoked)});
    } else if (revoked != view.refusals.end()) {
        out.push_back({Kind::revoked,
                       "",
                       fmt::format("Peers refuse this node, since its key is revoked or was never "
                                   "registered ({}): where it was rotated, set p2p-node-key to the "
                                   "new one; else a member registers it at a node that peers "
                                   "accept: 'bor-cli -u URL node add'.",
                                   *revoked)});
    }
    for (const ValidatorStatus& each : view.validators) {
        if (each.has_node_key || is_reachable(view, each)) continue;
        out.push_back({Kind::revoked,
                       name_of(each),
                       fmt::format("{} cannot connect, since no key of a validator's node is "
                                   "registered for it: it was revoked, never added, or added "
                                   "with another role ('bor-cli node add', for another role "
                                   "with --replace).",
                                   name_of(each))});
    }
}

// Where blocks become final nobody has to be recovered.
std::string after_answer(const AgreementView& view) {
    const std::int64_t behind = (view.clock.microseconds - view.final_time.microseconds) / 1'000;
    if (behind < static_cast<std::int64_t>(kLagMilliseconds)) {
        return "Where it shall sign again, and members make no recovery, its validator gets a new "
               "key (README, \"A validator's keys are to change\").";
    }
    return "Where members have made it, ask them for its file, and start with --recover-from and a "
           "new key; else make it, once for all ('bor-cli recover make').";
}

// The head of most peers, where that is far above ours.
std::optional<chain::Height> head_of_peers(const AgreementView& view) {
    std::size_t above = 0;
    std::size_t known = 0;
    chain::Height best = view.head;
    for (const ValidatorStatus& each : view.validators) {
        if (each.own || !each.connected || !each.head) continue;
        ++known;
        best = std::max(best, *each.head);
        if (*each.head > view.head + late_blocks(view)) ++above;
    }
    return above * 2 > known ? std::optional(best) : std::nullopt;
}

std::string without_journal(const AgreementView& view, const std::string& name) {
    // Peers that have blocks give them: then nothing is to be looked for.
    if (view.finalized <= 1 && !head_of_peers(view)) {
        return fmt::format(
            "{} does not vote: its safety journal is lost, and neither this node nor a connected "
            "peer has a block of the chain. Look for what is left of it first, a data directory, a "
            "snapshot or an archive, of observers too, and start that node: --accept-amnesia would "
            "begin the chain again from its first block, without all that was final.",
            name);
    }
    return fmt::format(
        "{} does not vote yet, since its safety journal is lost or behind, or its storage was set "
        "back: it waits for a final block made after its start. Where too many wait so that none "
        "is made, start one once with --accept-amnesia, or as many as are short of a quorum "
        "(README, \"A safety journal is lost\").",
        name);
}

// Keys of this node that keep still, and those that should be here.
void find_keys(const AgreementView& view, std::vector<Finding>& out) {
    for (const ValidatorStatus& each : view.validators) {
        if (!each.lacks.empty()) {
            out.push_back({Kind::silent,
                           name_of(each),
                           fmt::format("{} is in the schedule with the key {}, which no "
                                       "signature-provider of this node has: add it, and start "
                                       "the node, until the schedule has another key ('bor-cli "
                                       "get schedule').",
                                       name_of(each),
                                       each.lacks)});
        }
        if (!each.signing_failure.empty()) {
            out.push_back({Kind::silent,
                           name_of(each),
                           fmt::format("{} signed nothing when it was asked last: {}. The daemon "
                                       "has to run at the socket of signature-provider, with its "
                                       "wallet unlocked ('bor-cli wallet unlock').",
                                       name_of(each),
                                       each.signing_failure)});
        }
        if (each.twin) {
            out.push_back(
                {Kind::twin,
                 name_of(each),
                 fmt::format("The vote key of {} is used on another machine that started "
                             "earlier, so this node does not vote. Stop one of the two; if "
                             "the other is stopped, start this node again, which votes "
                             "only then.",
                             name_of(each))});
        }
        if (each.waits) {
            out.push_back({Kind::silent,
                           name_of(each),
                           fmt::format("{} does not sign for the first seconds, since too few "
                                       "validators have told what they have seen of its votes.",
                                       name_of(each))});
        }
        if (each.lacks_lock) {
            out.push_back({Kind::silent,
                           name_of(each),
                           fmt::format("{} does not vote, since it is locked on a block that is "
                                       "not in the storage any more (the log names the block): "
                                       "peers are asked for it. Where no validator has it, start "
                                       "each once with --accept-amnesia: final blocks may have "
                                       "been lost with it.",
                                       name_of(each))});
        }
        if (each.stopped) {
            out.push_back({Kind::silent,
                           name_of(each),
                           fmt::format("{} signs nothing more, since its key has answered a "
                                       "recovery. {}",
                                       name_of(each),
                                       after_answer(view))});
        }
        if (each.journal_lost) {
            out.push_back({Kind::silent, name_of(each), without_journal(view, name_of(each))});
        }
    }
}

// It was said why peers do not want this node.
bool is_refused(const std::vector<Finding>& said) {
    return std::ranges::any_of(said, [](const Finding& each) {
        return each.kind == Kind::twin || each.kind == Kind::fork ||
               (each.kind == Kind::revoked && each.who.empty());
    });
}

void find_unreachable(const AgreementView& view, std::vector<Finding>& out) {
    std::vector<const ValidatorStatus*> missing;
    std::vector<std::string> names;
    for (const ValidatorStatus& each : view.validators) {
        if (is_reachable(view, each)) continue;
        // It is this node, and does not look for itself.
        if (each.has_node_key && each.lacks.empty()) missing.push_back(&each);
        names.push_back(name_of(each));
    }
    const std::size_t reached = view.validators.size() - names.size();
    // Who is missing for a recovery, or may not connect, was named with it.
    if (view.recovery && reached < view.quorum) return;
    if (admitted(view) < view.quorum) return;
    if (reached < view.quorum && names.size() > 1) {
        // A node that catches up may be connected to few, and one that peers refuse to none.
        if (head_of_peers(view) || is_refused(out)) return;
        out.push_back(
            {Kind::partition,
             "",
             fmt::format("The network is partitioned, as seen from here: only {} of {} "
                         "validators can be reached and {} must agree; {} are cut off or "
                         "down: start them, or mend the line to them; where they are gone "
                         "for good, members recover the chain (README, \"When something "
                         "is wrong\").",
                         reached,
                         view.validators.size(),
                         view.quorum,
                         joined(names))});
        return;
    }
    for (const ValidatorStatus* each : missing) {
        out.push_back({Kind::down,
                       name_of(*each),
                       fmt::format("{} is down or cannot be reached: there is no connection to a "
                                   "node that holds its vote key, and {}. Start it, or mend the "
                                   "line to it; one that is gone for good another can replace "
                                   "(README, \"A new validator\").",
                                   name_of(*each),
                                   last_vote(view, *each))});
    }
}

// As far as it shows here.
std::string why_silent(const ValidatorStatus& validator) {
    const std::string off = clock_off_by_more(validator, kPeerLagMilliseconds);
    return off.empty() ? "'bor-cli doctor' and the log there say why"
                       : "its clock is " + off + " this node's";
}

void find_lagging(const AgreementView& view, std::vector<Finding>& out) {
    const chain::Height late = late_blocks(view);
    chain::Height best = view.head;
    for (const ValidatorStatus& each : view.validators)
        if (!each.own && each.connected) best = std::max(best, each.head.value_or(0));
    if (const auto theirs = head_of_peers(view)) {
        out.push_back({Kind::lagging,
                       "",
                       fmt::format("This node lags: its head is block {}, its peers are at block "
                                   "{}; 'bor-cli net sync' shows how it catches up.",
                                   view.head,
                                   *theirs)});
    }
    for (const ValidatorStatus& each : view.validators) {
        if (each.own || !each.connected) continue;
        if (each.head && *each.head + late < best) {
            out.push_back({Kind::lagging,
                           name_of(each),
                           fmt::format("{} lags: its head is block {}, {} blocks behind block {}.",
                                       name_of(each),
                                       *each.head,
                                       best - *each.head,
                                       best)});
        } else if (is_silent(view, each, best)) {
            out.push_back({Kind::silent,
                           name_of(each),
                           fmt::format("{} is connected, but does not vote: {}; {}.",
                                       name_of(each),
                                       last_vote(view, each),
                                       why_silent(each))});
        }
    }
}

// Peers that say so when they are dialled, or dial.
void find_forks(const AgreementView& view, std::vector<Finding>& out) {
    for (const Refusal& each : view.forks) {
        out.push_back({Kind::fork,
                       each.who,
                       fmt::format("{} and this node are on two final branches ({}): prove it with "
                                   "'bor-cli fork-proof URL URL --file FILE', with the API of "
                                   "each. Then members choose the branch that goes on (README, "
                                   "\"Two nodes show different final blocks\").",
                                   each.who,
                                   each.text)});
    }
}

// Here the peers look cut off, and the blocks of this node look hostile to them.
void find_recovery(const AgreementView& view, std::vector<Finding>& out) {
    if (view.peers_recovery) {
        out.push_back({Kind::recovery,
                       "",
                       fmt::format("Peers follow recovery {} above block {}, and this node, whose "
                                   "final block is {}, was not told of it: blocks may look as if "
                                   "they came too early, and nothing above that block is taken. "
                                   "Ask a member for its file, put it as recovery.txt into the "
                                   "data directory, and start with --recover-from {}.",
                                   view.peers_recovery->id,
                                   view.peers_recovery->from,
                                   view.finalized,
                                   view.peers_recovery->id)});
        return;
    }
    const auto told = std::ranges::find_if(view.refusals, [](const std::string& text) {
        return text.find("needs its recovery.txt") != std::string::npos;
    });
    if (told == view.refusals.end()) return;
    out.push_back({Kind::recovery,
                   "",
                   fmt::format("Peers follow another recovery than this node, whose final block is "
                               "{} ({}). The members know which counts: who lacks it asks them for "
                               "its file and ID ('bor-cli recover check FILE GENESIS' tells the ID "
                               "too), puts the file as recovery.txt into the data directory, and "
                               "starts with --recover-from ID.",
                               view.finalized,
                               *told)});
}

// What the recovery waits for is all that is left to do.
void find_followed(const AgreementView& view, std::vector<Finding>& out) {
    if (!view.recovery) return;
    std::vector<std::string> missing;
    for (const ValidatorStatus& each : view.validators) {
        // Votes of before the recovery tell nothing.
        if (!is_connected(each)) missing.push_back(name_of(each));
    }
    const std::size_t here = view.validators.size() - missing.size();
    std::string waits = "for its next block";
    if (here < view.quorum) {
        waits = fmt::format("for {}: start each with the same recovery.txt and --recover-from",
                            joined(missing));
    }
    out.push_back({Kind::recovery,
                   "",
                   fmt::format("This node follows recovery {} above block {}: {} of its {} "
                               "validators are here and {} must agree. It waits {}.",
                               view.recovery->id,
                               view.recovery->from,
                               here,
                               view.validators.size(),
                               view.quorum,
                               waits)});
}

void find_joining(const AgreementView& view, std::vector<Finding>& out) {
    if (view.joining_waits_for.empty()) return;
    out.push_back({Kind::joining,
                   "",
                   fmt::format("This node has no history yet: {}.", view.joining_waits_for)});
}

// "2 more may fail".
std::string spare(std::size_t count) {
    if (count == 0) return "no other may fail";
    return fmt::format("{} more may fail", count);
}

// A convicted validator is out of the schedule, or will be: nothing else shows that the chain
// tolerates less now.
void find_convicted(const AgreementView& view, std::vector<Finding>& out) {
    std::set<chain::Name> guilty;
    for (const Conviction& each : view.convicted)
        guilty.insert(each.producer);
    std::size_t left = 0;
    std::size_t reached = 0;
    for (const ValidatorStatus& each : view.validators) {
        if (guilty.contains(each.entry.producer)) continue;
        ++left;
        if (is_reachable(view, each)) ++reached;
    }
    for (const Conviction& each : view.convicted) {
        const std::string name = each.producer.to_string();
        const std::string remedy =
            each.own
                ? "This node has the key. Stop whatever else signs with it, and give the validator "
                  "a new one: 'bor-cli key create --vote --journal DATA_DIR --file FILE', its "
                  "signature-provider, a start, 'bor-cli system regproducer " +
                      name + " NEWKEY'."
                : "It comes back with a new key ('bor-cli system regproducer " + name +
                      " NEWKEY').";
        out.push_back({Kind::convicted,
                       name,
                       fmt::format("{} was convicted in block {} of {}: its key {} counts no more. "
                                   "{} of {} validators are left and {} must agree: {}. {}",
                                   name,
                                   each.height,
                                   each.kind,
                                   each.key,
                                   left,
                                   left + guilty.size(),
                                   view.quorum,
                                   spare(reached - std::min(reached, view.quorum)),
                                   remedy)});
    }
}

// With more of them than the agreement tolerates no certificate proves anything.
void find_unsound(const AgreementView& view, std::vector<Finding>& out) {
    std::set<chain::Name> guilty;
    for (const Conviction& each : view.convicted)
        guilty.insert(each.producer);
    std::set<chain::Name> all = guilty;
    for (const ValidatorStatus& each : view.validators)
        all.insert(each.entry.producer);
    if (guilty.empty()) return;
    const std::size_t tolerated = (all.size() - 1) / 3;
    if (guilty.size() <= tolerated) return;
    std::vector<std::string> names;
    names.reserve(guilty.size());
    for (const chain::Name& each : guilty)
        names.push_back(each.to_string());
    out.push_back({Kind::unsound,
                   "",
                   fmt::format("{} of {} validators were convicted ({}), and {} are tolerated: the "
                               "agreement cannot hold, and two final branches may exist. Compare "
                               "nodes ('bor-cli fork-proof URL URL'), give these validators new "
                               "keys, and where too few are left recover ('bor-cli recover').",
                               names.size(),
                               all.size(),
                               joined(names),
                               tolerated)});
}

void find_amnesia(const AgreementView& view, std::vector<Finding>& out) {
    for (const ValidatorStatus& each : view.validators) {
        if (!each.forgot) continue;
        out.push_back({Kind::amnesia,
                       name_of(each),
                       fmt::format("The vote key {} of {} went on without its safety journal "
                                   "(accept-amnesia): what it signed before can convict it. Give "
                                   "it a successor: 'bor-cli key create --vote --journal DATA_DIR "
                                   "--file FILE', its signature-provider, a start, 'bor-cli "
                                   "system regproducer {} NEWKEY'.",
                                   each.entry.vote_key.to_string(),
                                   name_of(each),
                                   name_of(each))});
    }
}

}  // namespace

std::string_view to_string(Kind kind) {
    switch (kind) {
        case Kind::fork:
            return "fork";
        case Kind::unsound:
            return "unsound";
        case Kind::amnesia:
            return "amnesia";
        case Kind::memberless:
            return "memberless";
        case Kind::revoked:
            return "revoked";
        case Kind::partition:
            return "partition";
        case Kind::recovery:
            return "recovery";
        case Kind::joining:
            return "joining";
        case Kind::twin:
            return "twin";
        case Kind::down:
            return "down";
        case Kind::clock:
            return "clock";
        case Kind::lagging:
            return "lagging";
        case Kind::silent:
            return "silent";
        case Kind::stale:
            return "stale";
        case Kind::convicted:
            return "convicted";
    }
    return "unknown";
}

std::vector<Finding> diagnose(const AgreementView& view) {
    const Clocks clocks = compare_clocks(view);
    std::vector<Finding> findings;
    find_own_clock(clocks, findings);
    find_forks(view, findings);
    find_unsound(view, findings);
    find_memberless(view, findings);
    find_too_few_admitted(view, findings);
    find_revoked(view, findings);
    find_followed(view, findings);
    find_recovery(view, findings);
    find_joining(view, findings);
    find_keys(view, findings);
    find_unreachable(view, findings);
    find_clocks(view, clocks, findings);
    find_unheard(view, findings);
    find_lagging(view, findings);
    find_stale(view, clocks, findings);
    find_convicted(view, findings);
    find_amnesia(view, findings);
    return findings;
}

// A key that went on without its journal votes all the same.
std::string why_finality_waits(const AgreementView& view, const std::vector<Finding>& findings) {
    if (view.lag_milliseconds < kLagMilliseconds) return {};
    for (const Finding& each : findings)
        if (each.kind != Kind::amnesia) return each.text;
    return fmt::format("Nothing has become final for {}, though {} validators can be reached.",
                       seconds_text(static_cast<std::int64_t>(view.lag_milliseconds)),
                       std::ranges::count_if(view.validators, is_connected));
}

Json finding_to_json(const Finding& finding) {
    return {{"kind", std::string(to_string(finding.kind))},
            {"validator", finding.who},
            {"text", finding.text}};
}

}  // namespace node::api
