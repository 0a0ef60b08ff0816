#include "node/snapshot_exchange.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace node {

SnapshotExchange::SnapshotExchange(SnapshotStore& store,
                                   const SnapshotReceiver::Options& options,
                                   World world,
                                   const base::Log& log)
    : store_(store),
      world_(std::move(world)),
      log_(log),
      pieces_(store, log),
      receiver_(options, store, log),
      checking_(options.workers) {
    store_.set_changed([this] { tell_snapshots(); });
}

SnapshotExchange::~SnapshotExchange() {
    stop();
}

void SnapshotExchange::stop() {
    store_.set_changed(nullptr);
    receiver_.stop();
    reader_.stop();
    checking_.stop();
    receiving_.stop();
}

void SnapshotExchange::start(chain::Height own_final) {
    tell_snapshots();
    receiving_.post([this, own_final] { receiver_.forget_up_to(own_final); });
}

void SnapshotExchange::tell_snapshots() {
    p2p::input::SnapshotsChanged changed;
    for (const SnapshotStore::Listed& each : store_.list())
        changed.snapshots.push_back({each.head.height, each.id});
    // The newest, where there are more than fit.
    const std::size_t more =
        changed.snapshots.size() - std::min(changed.snapshots.size(), p2p::kSnapshotsMax);
    changed.snapshots.erase(changed.snapshots.begin(),
                            changed.snapshots.begin() + static_cast<std::ptrdiff_t>(more));
    world_.tell(std::move(changed));
}

void SnapshotExchange::carry_out(p2p::Effect asked) {
    if (const auto* read = std::get_if<p2p::effect::ReadSnapshot>(&asked)) {
        reader_.post([this, read = *read] { world_.tell(pieces_.read(read)); });
    } else if (const auto* keep = std::get_if<p2p::effect::KeepSnapshot>(&asked)) {
        if (keep->piece.part == p2p::SnapshotPart::chunk) {
            checking_.post([this, keep = *keep] { world_.tell(receiver_.keep_chunk(keep)); });
        } else {
            receiving_.post([this, keep = *keep] { world_.tell(receiver_.keep(keep)); });
        }
    } else if (const auto* check = std::get_if<p2p::effect::CheckSnapshot>(&asked)) {
        receiving_.post(
            [this, snapshot = check->snapshot] { world_.tell(receiver_.check(snapshot)); });
    } else if (const auto* wanted = std::get_if<p2p::effect::LoadSnapshot>(&asked)) {
        receiving_.post([this, snapshot = wanted->snapshot] { load(snapshot); });
    }
}

void SnapshotExchange::load(const p2p::SnapshotPoint& snapshot) {
    const auto next = world_.next_state();
    if (!next) {
        return world_.tell(p2p::input::SnapshotLoaded{
            snapshot.manifest, p2p::SnapshotVerdict::unavailable, next.error().detail});
    }
    auto loaded = receiver_.load(snapshot, *next, world_.own_final());
    const bool is_good = loaded.verdict == p2p::SnapshotVerdict::good;
    if (is_good) {
        const std::scoped_lock lock(mutex_);
        made_ = Made{*next, snapshot};
    }
    world_.tell(std::move(loaded));
    if (is_good) world_.made();
}

std::optional<SnapshotExchange::Made> SnapshotExchange::made() const {
    const std::scoped_lock lock(mutex_);
    return made_;
}

base::Result<void> SnapshotExchange::take_over(const Made& made) {
    auto taken = store_.take_over(receiver_.path_of(made.snapshot), /*keep=*/false);
    if (!taken) return base::fail(taken.error());
    receiver_.forget_up_to(made.snapshot.height);
    return {};
}

}  // namespace node
