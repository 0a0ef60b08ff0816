#include "consensus/header_rules.hpp"

#include "chain/types/rule.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace consensus {

namespace {

using base::Errc;
using base::fail;
using base::Result;
using chain::is_left_out;
using chain::Rule;

Result<void> check_progress(const chain::BlockHeader& header, const HeaderContext& context) {
    const chain::BlockHeader& parent = context.parent;
    if (!is_left_out(Rule::header_justify_grows) && header.justify.slot < parent.justify.slot) {
        return fail(Errc::invalid, "header: justify is older than the parent's");
    }
    if (!is_left_out(Rule::header_final_grows) && header.finalized.slot < parent.finalized.slot) {
        return fail(Errc::invalid, "header: final is older than the parent's");
    }
    if (!is_left_out(Rule::header_final_below_justify) &&
        header.finalized.slot > header.justify.slot) {
        return fail(Errc::invalid, "header: final is newer than justify");
    }
    if (!is_left_out(Rule::header_justify_ancestor) && header.justify != parent.justify &&
        !context.justify_is_ancestor) {
        return fail(Errc::invalid, "header: justify is not an ancestor");
    }
    if (!is_left_out(Rule::header_final_ancestor) && header.finalized != parent.finalized &&
        !context.final_is_ancestor) {
        return fail(Errc::invalid, "header: final is not an ancestor");
    }
    return {};
}

Result<void> check_transactions(const chain::BlockHeader& header, const HeaderContext& context) {
    const chain::Slot distance = header.slot - std::min(header.finalized.slot, header.slot);
    if (header.transaction_root.is_zero() || distance <= context.full_within) return {};
    if (is_left_out(Rule::header_empty_without_final)) return {};
    return fail(Errc::invalid,
                fmt::format("header: has transactions {} slots above the final block that it "
                            "names, and may have them up to {} slots above",
                            distance,
                            context.full_within));
}

Result<void> check_change(const chain::BlockHeader& header, const HeaderContext& context) {
    if (!header.schedule_change) return {};
    if (!chain::may_propose(
            context.schedules, context.parent.slot, header.slot, context.schedule_period)) {
        return fail(Errc::invalid,
                    "header: proposes a schedule where a change is on its way or the period is "
                    "not new");
    }
    const std::uint32_t version = context.schedules.active->version + 1;
    if (!is_left_out(Rule::change_version) && header.schedule_change->version != version) {
        return fail(Errc::invalid,
                    fmt::format("header: proposes schedule version {}, the next is {}",
                                header.schedule_change->version,
                                version));
    }
    return {};
}

}  // namespace

chain::Slot full_within(const chain::SlotTimes& times) {
    constexpr std::uint64_t kMinute = 60'000;
    constexpr std::uint64_t kHonest = 7'000;  // Until honest producers leave them out, and a bit.
    constexpr chain::Slot kSlots = 120;       // What counts is how many blocks there can be.
    const std::uint64_t interval = std::max(times.interval_milliseconds, 1U);
    return std::clamp<chain::Slot>(
        kSlots, kHonest / interval, std::max<chain::Slot>(1, kMinute / interval));
}

Result<void> check_header(const chain::BlockHeader& header, const HeaderContext& context) {
    const chain::Schedule& schedule = *context.schedules.active;
    if (header.previous != context.parent_id || header.height != context.parent.height + 1) {
        return fail(Errc::invalid, "header: does not follow its parent");
    }
    if (!is_left_out(Rule::header_slot) && header.slot <= context.parent.slot) {
        return fail(
            Errc::invalid,
            fmt::format(
                "header: slot {} is not above the parent's {}", header.slot, context.parent.slot));
    }
    if (!is_left_out(Rule::header_version) && header.schedule_version != schedule.version) {
        return fail(Errc::invalid,
                    fmt::format("header: schedule version {}, the parent implies {}",
                                header.schedule_version,
                                schedule.version));
    }
    const chain::Name owner = schedule.producer_of(header.slot, context.repetitions).producer;
    if (!is_left_out(Rule::header_producer) && header.producer != owner) {
        return fail(Errc::invalid,
                    fmt::format("header: slot {} belongs to {}, not to {}",
                                header.slot,
                                owner.to_string(),
                                header.producer.to_string()));
    }
    if (auto good = check_progress(header, context); !good) return good;
    if (auto good = check_transactions(header, context); !good) return good;
    return check_change(header, context);
}

}  // namespace consensus
