#include "node/pruning/pruning.hpp"

#include "chain/state/block_store.hpp"
#include "chain/state/state_manager.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace node {

namespace {

using base::fail;
using base::Family;
using chain::Height;

constexpr Height kStep = 16'384;  // Heights whose files go at a time.
constexpr Height kWorthMin = 1'000;
constexpr Height kWorthShare = 8;
constexpr base::Duration kPatience = std::chrono::minutes(10);
// What a piece of the index has, about. Each is rewritten by itself, so that others get the disk.
constexpr std::uint64_t kSliceBytes = std::uint64_t{16} << 20U;
constexpr std::size_t kSlicesMax = 256;

// The index's rows of this kind whose ids begin with this byte or a higher one.
base::Bytes index_from(char kind, std::size_t byte) {
    if (byte > 0xFF) return {static_cast<std::byte>(kind + 1)};
    return {static_cast<std::byte>(kind), static_cast<std::byte>(byte)};
}

// The same of blocks, whose ids begin with their heights.
base::Bytes index_of_blocks(Height from) {
    base::Bytes key{static_cast<std::byte>(chain::kIndexedBlock)};
    const base::Bytes height = chain::height_key(from);
    key.insert(key.end(), height.begin(), height.end());
    return key;
}

}  // namespace

base::Result<std::unique_ptr<Pruning>> Pruning::open(RocksDbStorage& storage,
                                                     const chain::PruningRules& rules) {
    std::unique_ptr<Pruning> made(new Pruning(storage, rules));
    auto floor = chain::read_floor(storage);
    if (!floor) return fail(std::move(floor).error());
    made->floor_ = *std::move(floor);
    made->tell_needless();
    return made;
}

void Pruning::tell_needless() {
    const auto floor = std::make_shared<const chain::HistoryFloor>(floor_);
    for (const Family family : {Family::blocks, Family::traces, Family::index}) {
        storage_.set_needless(family, [floor, family](base::ByteView key, base::ByteView value) {
            return floor->is_past(family, key, value);
        });
    }
}

base::Result<chain::HistoryFloor> Pruning::plan(std::optional<Height> snapshot) const {
    const auto view = storage_.snapshot();
    return chain::next_floor(*view, rules_, snapshot);
}

base::Result<void> Pruning::raise(const chain::HistoryFloor& to) {
    if (to.blocks <= floor_.blocks && to.traces <= floor_.traces) return {};
    chain::HistoryFloor next = to;
    next.swept = floor_.swept;  // The index may have been swept since.
    base::Batch batch;
    chain::append_floor(batch, next);
    // Durable before the first row goes: a later start must not count on it.
    if (auto done = storage_.commit(batch, /*sync=*/true); !done) return done;
    floor_ = std::move(next);
    tell_needless();
    return {};
}

base::Result<bool> Pruning::reclaim(base::Timestamp now, const Pause& pause) {
    bool has_worked = false;
    for (const auto& [family, to] :
         {std::pair(Family::blocks, floor_.blocks), std::pair(Family::traces, floor_.traces)}) {
        auto dropped = drop_files(family, to, pause);
        if (!dropped || !*dropped) return dropped;
        auto rewritten = rewrite(family, to, now);
        if (!rewritten) return rewritten;
        has_worked |= *rewritten;
        if (!pause()) return has_worked;
    }
    auto swept = sweep_index(pause);
    if (!swept) return swept;
    return has_worked || *swept;
}

// The next heights from `from` on whose blocks go, at most kStep new ones, up to the next block
// that stays. A file reaches over the borders of steps: so they begin behind the last that stays.
Pruning::Heights Pruning::step_of(Family family, Height from, Height to) const {
    Heights step{0, from + std::min(kStep, to - from)};
    if (family != Family::blocks) return step;
    const auto above = std::ranges::upper_bound(floor_.kept, from);
    if (above != floor_.kept.begin()) step.begin = *std::prev(above) + 1;
    if (above != floor_.kept.end()) step.end = std::min(step.end, *above);
    return step;
}

// False: there was no time for all.
base::Result<bool> Pruning::drop_files(Family family, Height to, const Pause& pause) {
    Height& from = dropped_.at(static_cast<std::size_t>(family));
    while (from < to) {
        const Heights step = step_of(family, from, to);
        if (step.begin < step.end) {
            auto done = storage_.drop_files(
                family, chain::height_key(step.begin), chain::height_key(step.end));
            if (!done) return fail(done.error());
        }
        from = std::max(from + 1, step.end);
        if (!pause()) return false;
    }
    return true;
}

base::Result<std::optional<Height>> Pruning::lowest_past(Family family) const {
    Height from = 0;
    while (true) {
        auto row = storage_.at_or_after(family, chain::height_key(from));
        if (!row) return fail(row.error());
        if (!*row || (*row)->key.size() != 4) return std::optional<Height>();
        const Height height = chain::height_from((*row)->key);
        if (floor_.is_past(family, (*row)->key, {})) return std::optional(height);
        if (family != Family::blocks || height >= floor_.blocks) return std::optional<Height>();
        from = height + 1;
    }
}

base::Result<bool> Pruning::is_worth_while(Height pruned) const {
    const auto final = chain::stored_final(storage_);
    if (!final) return fail(final.error());
    const Height stored = final->height - std::min(floor_.blocks, final->height);
    return pruned >= std::max(kWorthMin, stored / kWorthShare);
}

base::Result<bool> Pruning::rewrite(Family family, Height to, base::Timestamp now) {
    const auto lowest = lowest_past(family);
    if (!lowest) return fail(lowest.error());
    base::Timestamp& since = since_.at(static_cast<std::size_t>(family));
    if (!*lowest) {
        since = {};
        return false;
    }
    if (since == base::Timestamp{}) since = now;
    Height& rewritten = rewritten_.at(static_cast<std::size_t>(family));
    auto is_due = is_worth_while(to - rewritten);
    if (!is_due) return is_due;
    if (!*is_due && now < since + kPatience) return false;
    since = {};
    rewritten = to;
    auto done = storage_.rewrite(family, chain::height_key(**lowest), chain::height_key(to));
    if (!done) return fail(done.error());
    return true;
}

base::Result<bool> Pruning::sweep_index(const Pause& pause) {
    const Height to = floor_.blocks;
    auto is_due = is_worth_while(to - std::min(to, floor_.swept));
    if (!is_due || !*is_due) return is_due;
    const std::uint64_t bytes =
        storage_.statistics().families.at(static_cast<std::size_t>(Family::index)).table_bytes;
    const std::size_t slices =
        std::clamp<std::size_t>(static_cast<std::size_t>(bytes / kSliceBytes), 1, kSlicesMax);
    auto done = storage_.rewrite(Family::index, index_of_blocks(0), index_of_blocks(to));
    for (std::size_t i = 0; done && i < slices; ++i) {
        if (!pause()) return true;
        done = storage_.rewrite(Family::index,
                                index_from(chain::kIndexedTransaction, i * 256 / slices),
                                index_from(chain::kIndexedTransaction, (i + 1) * 256 / slices));
    }
    if (!done) return fail(done.error());
    floor_.swept = to;
    base::Batch batch;
    chain::append_floor(batch, floor_);
    if (auto kept = storage_.commit(batch, /*sync=*/false); !kept) return fail(kept.error());
    return true;
}

}  // namespace node
