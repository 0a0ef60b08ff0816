#include "p2p/snapshot_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace p2p {

namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::Duration kSampleEvery = seconds(1);
constexpr base::Duration kProgressEvery = seconds(5);
// So far behind a snapshot may be faster; by so much it must be.
constexpr chain::Height kFarBehind = 10'000;
constexpr std::uint64_t kFasterTimes = 3;
// What is not measured yet, and until when.
constexpr base::Duration kMeasuredAfter = seconds(5);
constexpr std::uint64_t kBytesPerSecond = 10U << 20U;
constexpr std::uint64_t kDigestNanoseconds = 800;  // Of a row.
constexpr base::Duration kStaleAfter = std::chrono::minutes(10);
}  // namespace

SnapshotJoin::SnapshotJoin(Peers& peers, CatchUp& catch_up, const input::LedgerChanged& ledger)
    : peers_(peers),
      catch_up_(catch_up),
      ledger_(ledger),
      bootstrap_(peers.options().seed, peers.options().begun_snapshot) {}

std::vector<Bootstrap::Source> SnapshotJoin::sources() {
    std::vector<Bootstrap::Source> sources;
    peers_.for_each_ready([&](const Peer& peer) {
        if (peer.stored.snapshots.empty()) return;
        sources.push_back({.slot = peer.slot,
                           .organisation = peer.is_listed ? peer.organisation : chain::Name{},
                           .snapshots = &peer.stored.snapshots});
    });
    return sources;
}

// --- Blocks or a snapshot ---

SnapshotJoin::Choice SnapshotJoin::choose() {
    using Stage = Bootstrap::Stage;
    if (bootstrap_.stage() == Stage::loading || bootstrap_.stage() == Stage::loaded) {
        return Choice::snapshot;
    }
    if (!peers_.options().takes_snapshots || !catch_up_.is_behind()) return Choice::blocks;
    if (catch_up_.block_sources() == 0) return Choice::snapshot;
    if (catch_up_.missing_blocks() < kFarBehind || blocks_per_second_ == 0) return Choice::blocks;
    return bootstrap_.is_checked() && is_faster() ? Choice::snapshot : Choice::both;
}

// What a snapshot costs is known once its links, proof and manifest are here: they are little.
bool SnapshotJoin::is_faster() const {
    const std::uint64_t blocks_ms =
        std::uint64_t{catch_up_.missing_blocks()} * 1000 / blocks_per_second_;
    const SnapshotStatus now = bootstrap_.status();
    const bool is_measured = chunks_come_for() >= kMeasuredAfter;
    const base::Duration left =
        time_left(now, is_measured ? chunk_bytes_per_second(now) : kBytesPerSecond);
    return left * kFasterTimes <= milliseconds(blocks_ms);
}

std::optional<base::Duration> SnapshotJoin::chunks_come_for() const {
    if (chunks_since_ == base::Timestamp{}) return {};
    return peers_.now() - chunks_since_;
}

// Of what the chunks have unpacked, since they began to come, which is some time ago.
std::uint64_t SnapshotJoin::chunk_bytes_per_second(const SnapshotStatus& now) const {
    const auto elapsed = static_cast<std::uint64_t>(*chunks_come_for() / milliseconds(1));
    const std::uint64_t come = now.chunks - std::min(now.chunks, chunks_before_);
    const std::uint64_t all = std::max<std::uint64_t>(now.chunks_all, 1);
    return std::max<std::uint64_t>(bootstrap_.bytes() / all * come * 1000 / elapsed, 1);
}

// Rows are digested when all chunks are here.
base::Duration SnapshotJoin::digest_time() const {
    return std::chrono::microseconds(bootstrap_.rows() * kDigestNanoseconds / 1'000);
}

base::Duration SnapshotJoin::time_left(const SnapshotStatus& now,
                                       std::uint64_t bytes_per_second) const {
    const std::uint64_t all = std::max<std::uint64_t>(now.chunks_all, 1);
    const std::uint64_t left = bootstrap_.bytes() / all * (all - now.chunks);
    return milliseconds(left * 1000 / bytes_per_second) + digest_time();
}

// Until the node begins with it. Nothing is known before some chunks have come.
std::optional<base::Duration> SnapshotJoin::eta(const SnapshotStatus& now) const {
    if (loading_since_ != base::Timestamp{}) {
        return std::max(digest_time() - (peers_.now() - loading_since_), base::Duration{});
    }
    const bool is_measured = chunks_come_for() >= kSampleEvery && now.chunks > chunks_before_;
    if (!is_measured) return {};
    return time_left(now, chunk_bytes_per_second(now));
}

void SnapshotJoin::choose_again() {
    const Choice before = std::exchange(choice_, choose());
    if (choice_ == before) return;
    if (choice_ == Choice::blocks) {
        peers_.log().info("snapshot: blocks are taken instead");
        bootstrap_.stop();
    } else if (choice_ == Choice::snapshot) {
        peers_.log().info("snapshot: one is taken, {} blocks are missing, {} peers have the next",
                          catch_up_.missing_blocks(),
                          catch_up_.block_sources());
    }
    catch_up_.hold(choice_ == Choice::snapshot);
}

void SnapshotJoin::on_time() {
    if (choice_ != Choice::snapshot && catch_up_.blocks_per_second() > 0) {
        blocks_per_second_ = catch_up_.blocks_per_second();
    }
    apply(bootstrap_.on_time(peers_.now()));
    choose_again();
    pump();
    if (choice_ != Choice::blocks && peers_.now() >= sampled_at_ + kSampleEvery) measure();
}

// --- What is asked and answered ---

void SnapshotJoin::pump() {
    const bool is_found_out = choice_ == Choice::both && bootstrap_.is_checked();
    if (choice_ == Choice::blocks || is_found_out) return;
    Bootstrap::Plan plan = bootstrap_.plan(peers_.now(), sources(), ledger_.finalized.height);
    for (const Bootstrap::Ask& ask : plan.asks) {
        if (Peer* peer = peers_.at(ask.slot)) {
            peers_.send(*peer, ask.request, {.correlation = ask.correlation});
        }
    }
    tell_stage();
    if (plan.check) peers_.emit(effect::CheckSnapshot{*plan.check});
    if (plan.load) peers_.emit(effect::LoadSnapshot{*plan.load});
}

bool SnapshotJoin::is_asked(const Peer& peer, const Envelope& envelope) const {
    return bootstrap_.is_asked(peer.slot, envelope.correlation);
}

void SnapshotJoin::on_answer(Peer& peer, const Envelope& envelope, SnapshotChunk answer) {
    Bootstrap::Arrived arrived =
        bootstrap_.on_answer(peers_.now(), peer.slot, envelope.correlation, std::move(answer));
    if (arrived.keep) peers_.emit(*std::move(arrived.keep));
    if (arrived.fault) apply({*arrived.fault});
    pump();
}

void SnapshotJoin::on(const input::SnapshotKept& kept) {
    apply(bootstrap_.on_kept(peers_.now(), kept, sources()));
    pump();
}

void SnapshotJoin::on(const input::SnapshotChecked& checked) {
    const bool was_checked = bootstrap_.is_checked();
    apply(bootstrap_.on_checked(peers_.now(), checked, sources()));
    if (!was_checked && bootstrap_.is_checked()) tell_age(checked);
    pump();
}

void SnapshotJoin::on(const input::SnapshotLoaded& loaded) {
    apply(bootstrap_.on_loaded(peers_.now(), loaded, sources()));
    pump();
}

void SnapshotJoin::apply(const std::vector<Bootstrap::Fault>& faults) {
    for (const Bootstrap::Fault& fault : faults) {
        Peer* peer = peers_.at(fault.slot);
        if (peer == nullptr) continue;
        peers_.log().warn("snapshot: {} {}: {}", peer->address, peer->key.to_string(), fault.text);
        if (fault.points > 0) {
            peers_.charge(*peer, fault.points, fault.reason, fault.text);
        } else {
            peers_.close(*peer, fault.reason, fault.text);
        }
    }
}

void SnapshotJoin::forget(PeerSlot slot) {
    bootstrap_.forget(slot);
    pump();
}

// --- Progress ---

void SnapshotJoin::tell_stage() {
    const SnapshotStatus now = bootstrap_.status();
    if (now.waiting_for != std::exchange(told_trouble_, now.waiting_for) &&
        !now.waiting_for.empty()) {
        peers_.log().warn("snapshot: {}", now.waiting_for);
    }
    if (bootstrap_.stage() == std::exchange(told_, bootstrap_.stage())) return;
    const bool is_coming = bootstrap_.stage() == Bootstrap::Stage::chunks;
    chunks_since_ = is_coming ? peers_.now() : base::Timestamp{};
    chunks_before_ = now.chunks;
    const bool is_loading = bootstrap_.stage() == Bootstrap::Stage::loading;
    loading_since_ = is_loading ? peers_.now() : base::Timestamp{};
    peers_.log().info("snapshot: {} block={} manifest={} chunks={}/{} received={}",
                      now.stage,
                      now.snapshot.height,
                      base::to_hex(now.snapshot.manifest.view()).substr(0, 16),
                      now.chunks,
                      now.chunks_all,
                      bootstrap_.chunks_received());
}

// How old it is decides nothing: one is made an hour, and a chain may stand still. Where clocks
// differ, that may be why.
void SnapshotJoin::tell_age(const input::SnapshotChecked& checked) {
    const base::Duration behind = peers_.clock() - checked.final_time;
    if (behind <= kStaleAfter) return;
    std::string clocks;
    peers_.for_each_ready([&](const Peer& peer) {
        if (!peer.clock_offset) return;
        clocks += fmt::format("{}{} {} ms",
                              clocks.empty() ? "" : ", ",
                              peer.address,
                              *peer.clock_offset / milliseconds(1));
    });
    peers_.log().warn(
        "snapshot: what it proves to be final is {} s behind the clock: stale until the node has "
        "caught up; clocks of peers less ours: {}",
        behind / seconds(1),
        clocks.empty() ? "none was measured" : clocks);
}

void SnapshotJoin::measure() {
    const auto elapsed = static_cast<std::uint64_t>((peers_.now() - sampled_at_) / milliseconds(1));
    const std::uint64_t bytes = bootstrap_.bytes_received();
    if (sampled_at_ != base::Timestamp{}) {
        bytes_per_second_ = (bytes - sampled_bytes_) * 1000 / elapsed;
    }
    sampled_at_ = peers_.now();
    sampled_bytes_ = bytes;
    if (peers_.now() < logged_at_ + kProgressEvery) return;
    logged_at_ = peers_.now();
    SnapshotStatus now = bootstrap_.status();
    now.eta = eta(now);
    peers_.log().info("snapshot: {} block={} chunks={}/{} {} KiB/s, {} peers have it{}{}{}",
                      now.stage,
                      now.snapshot.height,
                      now.chunks,
                      now.chunks_all,
                      bytes_per_second_ / 1024,
                      now.sources,
                      now.eta ? fmt::format(", {} s left", *now.eta / seconds(1)) : "",
                      now.waiting_for.empty() ? "" : ", ",
                      now.waiting_for);
}

std::optional<SnapshotStatus> SnapshotJoin::status() const {
    if (choice_ != Choice::snapshot) return {};
    SnapshotStatus status = bootstrap_.status();
    status.bytes_per_second = bytes_per_second_;
    status.eta = eta(status);
    return status;
}

}  // namespace p2p
