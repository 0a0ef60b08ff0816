#include "tests/sim/left_out.hpp"

#include <algorithm>
#include <array>

#ifndef BOR_MUTANTS
#error "this file belongs to the build of mutants"
#endif

namespace {

// In the order of chain::Rule.
constexpr std::array<std::string_view, static_cast<std::size_t>(chain::Rule::count)> kNames{
    "none",
    "notarize-once",
    "notarize-above-lock",
    "notarize-justify-at-lock",
    "notarize-recent",
    "notarize-not-syncing",
    "past-votes",
    "past-vote-of-unknown-block",
    "commit-above-lock",
    "commit-above-floor",
    "commit-above-final",
    "commit-in-time",
    "vote-as-member",
    "vote-of-its-block",
    "vote-not-ahead",
    "tally-quorum",
    "tally-joint-quorum",
    "certificate-version",
    "certificate-bitmaps",
    "certificate-bitmap-length",
    "certificate-members",
    "certificate-quorum",
    "certificate-joint-quorum",
    "certificate-signature-count",
    "certificate-signatures",
    "certificate-of-its-block",
    "certificate-schedules",
    "voters-of-the-block",
    "proof-needs-path",
    "change-by-headers",
    "change-pending-when-final",
    "change-active-when-final",
    "change-alone",
    "change-in-new-period",
    "change-version",
    "header-slot",
    "header-version",
    "header-producer",
    "header-justify-grows",
    "header-final-grows",
    "header-final-below-justify",
    "header-justify-ancestor",
    "header-final-ancestor",
    "header-empty-without-final",
    "witness-only-where-needed",
    "witness-where-needed",
    "witness-of-the-named-block",
    "witness-form",
    "produced-final-below-justify",
    "evidence-votes-of-one-slot",
    "evidence-later-notarize",
    "evidence-older-justify",
    "evidence-not-extending",
    "evidence-headers-of-one-slot",
    "evidence-headers-differ",
    "evidence-headers-of-one-key",
    "evidence-vote-signature",
    "evidence-of-votes",
    "evidence-of-headers",
    "header-once",
    "lost-key-votes-later",
    "lost-key-produces-later",
    "lost-key-waits-for-certified",
    "lost-key-regains-later",
    "own-vote-seen",
    "hear-others-first",
    "answered-key-is-silent",
    "twin-key-is-silent",
    "unchecked-below",
    "journal-settled",
    "journal-beside-its-rows",
    "journal-beside-a-snapshot",
    "journal-of-this-life",
    "journal-without-hole",
    "journal-record-checksum",
    "journal-certificate-checksum",
    "journal-floor",
    "journal-follows-written",
    "journal-torn-replaced",
    "journal-keeps-votes",
    "journal-keeps-answer",
    "lock-with-certificate",
    "promise-durable",
    "promise-written",
    "lock-block-durable",
    "final-durable",
    "state-digest",
    "vote-binds-chain",
    "header-binds-chain",
    "vote-signature",
    "block-signature",
    "block-not-too-early",
    "sync-block-not-too-early",
    "block-not-before-its-slot",
    "produce-in-time",
    "quorum-of-clocks",
    "above-start-floor",
    "two-of-a-slot",
    "third-below-certified",
    "third-below-another",
    "bound-keeps-newest",
    "bound-keeps-others",
    "forgotten-is-told",
    "votes-to-enter",
    "absent-gives-place",
    "two-headers-go-on",
    "few-votes-of-key-go-on",
    "few-blocks-go-on",
    "snapshot-digest",
    "snapshot-chunk-lanes",
    "snapshot-agreement",
    "replaced-state-keeps-marks",
};

static_assert(!kNames.back().empty(), "each rule has a name");

// Set before any thread starts, read by all.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the option of this program.
chain::Rule chosen = chain::Rule::none;

}  // namespace

bool chain::is_left_out(Rule rule) {
    return rule == chosen;
}

namespace sim {

std::span<const std::string_view> rule_names() {
    return kNames;
}

bool leave_out(std::string_view name) {
    const auto* const found = std::ranges::find(kNames, name);
    if (found == kNames.end()) return false;
    chosen = static_cast<chain::Rule>(found - kNames.begin());
    return true;
}

chain::Rule left_out() {
    return chosen;
}

}  // namespace sim
