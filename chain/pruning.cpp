#include "chain/pruning.hpp"

#include "chain/chain_manager.hpp"
#include "chain/meta_keys.hpp"
#include "chain/state/block_store.hpp"
#include "chain/state/proof_store.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace chain {

namespace {

using base::Errc;
using base::fail;

constexpr std::int64_t kDayMicroseconds = std::int64_t{86'400} * 1'000'000;

// The first stored block that is not dated before `time`; `last` at the latest.
base::Result<Height> first_since(const BlockReader& blocks,
                                 const SlotTimes& times,
                                 TimePoint time,
                                 Height last) {
    auto earliest = blocks.earliest();
    if (!earliest) return fail(std::move(earliest).error());
    Height low = std::min(earliest->value_or(last), last);
    Height high = last;
    while (low < high) {
        const Height middle = low + (high - low) / 2;
        auto block = blocks.at(middle);
        if (!block) return fail(std::move(block).error());
        if (*block == nullptr) {
            return fail(Errc::corrupt, "final block " + std::to_string(middle) + " is not stored");
        }
        if (times.time_of((*block)->header.slot) < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// The lowest height that `retention` keeps.
base::Result<Height> first_kept(const Retention& retention,
                                const BlockReader& blocks,
                                const SlotTimes& times,
                                Height final) {
    if (retention.unit == Retention::Unit::all) return Height{0};
    if (retention.unit == Retention::Unit::blocks) {
        return final < retention.count ? Height{0} : final - retention.count + 1;
    }
    auto last = blocks.at(final);
    if (!last) return fail(std::move(last).error());
    if (*last == nullptr) {
        return fail(Errc::corrupt, "final block " + std::to_string(final) + " is not stored");
    }
    TimePoint since = times.time_of((*last)->header.slot);
    since.microseconds -= kDayMicroseconds * retention.count;
    return first_since(blocks, times, since, final);
}

base::Result<bool> has_unchecked(const base::StorageView& storage) {
    const base::Bytes prefix = meta_key(kMetaUnchecked);
    auto row = storage.at_or_after(base::Family::meta, prefix);
    if (!row) return fail(std::move(row).error());
    if (!row->has_value()) return false;
    const base::ByteView key = (*row)->key;
    return base::equal(key.first(std::min(key.size(), prefix.size())), prefix);
}

// What must stay whatever the operator wishes: blocks from this height on.
base::Result<Height> needed_from(const base::StorageView& storage,
                                 const BlockReader& blocks,
                                 Height snapshot) {
    auto schedules = ChainManager::stored_schedules(storage);
    if (!schedules) return fail(std::move(schedules).error());
    if (!*schedules) return Height{0};
    // What is not checked yet is checked from a block below it on.
    auto unchecked = has_unchecked(storage);
    if (!unchecked) return fail(std::move(unchecked).error());
    if (*unchecked) return Height{0};
    Height needed = (*schedules)->base_height;
    const ScheduleState& now = (*schedules)->final_block;
    if (now.proposed != nullptr) {
        // A restart reads the header that proposes, until the link is stored.
        auto linked = has_link(storage, now.proposed->version);
        if (!linked) return fail(std::move(linked).error());
        if (!*linked) needed = std::min(needed, now.proposed_at);
    }
    auto block = blocks.at(snapshot);
    if (!block) return fail(std::move(block).error());
    // One that is below what is stored helps nobody to the blocks that are.
    if (*block == nullptr) return Height{0};
    return std::min(needed, height_of((*block)->header.finalized.id));
}

// The blocks below `floor` from which a recovery begins, and their children.
base::Result<std::vector<Height>> kept_below(const base::StorageView& storage,
                                             const PruningRules& rules,
                                             Height floor) {
    auto links = stored_recoveries(storage);
    if (!links) return fail(std::move(links).error());
    std::vector<Height> from = rules.recoveries;
    for (const RecoveryLink& link : *links)
        from.push_back(height_of(link.reset.from));
    std::vector<Height> kept;
    for (const Height height : from) {
        for (const Height each : {height, height + 1}) {
            if (each < floor) kept.push_back(each);
        }
    }
    std::ranges::sort(kept);
    const auto twice = std::ranges::unique(kept);
    kept.erase(twice.begin(), twice.end());
    if (kept.size() > kKeptMax) kept.resize(kKeptMax);
    return kept;
}

}  // namespace

base::Result<Retention> Retention::from_string(std::string_view text) {
    if (text == "full") return Retention{};
    if (text == "none") return Retention{Unit::blocks, 0};
    std::uint32_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    if (error == std::errc{} && count > 0) {
        if (unit == "b") return Retention{Unit::blocks, count};
        if (unit == "d") return Retention{Unit::days, count};
    }
    return fail(Errc::invalid,
                "'" + std::string(text) +
                    "' is not a length of history: full, none, a number of blocks as 1000b, or a "
                    "number of days as 30d");
}

base::Result<HistoryFloor> next_floor(const base::StorageView& storage,
                                      const PruningRules& rules,
                                      std::optional<Height> snapshot) {
    auto floor = read_floor(storage);
    if (!floor) return floor;
    const auto final = stored_final(storage);
    if (!final) return fail(final.error());
    const BlockReader blocks(storage);
    if (snapshot && rules.blocks.unit != Retention::Unit::all) {
        auto wanted = first_kept(rules.blocks, blocks, rules.times, final->height);
        if (!wanted) return fail(std::move(wanted).error());
        auto needed = needed_from(storage, blocks, *snapshot);
        if (!needed) return fail(std::move(needed).error());
        const Height from = std::min(*wanted, *needed);
        if (from > floor->blocks && from > 1) {
            floor->blocks = from;
            auto kept = kept_below(storage, rules, from);
            if (!kept) return fail(std::move(kept).error());
            floor->kept = *std::move(kept);
        }
    }
    auto traced = first_kept(rules.traces, blocks, rules.times, final->height);
    if (!traced) return fail(std::move(traced).error());
    // Traces without their block are shown by no call.
    floor->traces = std::max({floor->traces, floor->blocks, std::min(*traced, final->height)});
    return floor;
}

}  // namespace chain
