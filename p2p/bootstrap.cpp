#include "p2p/bootstrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace p2p {

namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

// Pieces of proof and manifest, as a node's limits of these files have them (256 MiB).
constexpr std::uint32_t kPiecesMax = 64;
// Each change of the schedule leaves a link for ever. A node checks links as they come and holds
// one piece of them in memory, so that only the disk limits how many there are (64 GiB).
constexpr std::uint32_t kLinkPiecesMax = 16'384;
constexpr std::size_t kPieceBytesMax = kSnapshotPageBytes + (64U << 10U);
constexpr base::Duration kPatience = seconds(10);            // Since the last answer of this peer.
constexpr base::Duration kLastPatience = milliseconds(500);  // Then another is asked, too.
// For links, proof and manifest, then another source is tried; twice as long each time, for slow
// lines. Without it a piece now and then would hold up the join.
constexpr base::Duration kHistoryTime = seconds(60);
constexpr std::uint32_t kHistoryDoublingsMax = 6;
// Good links give their sender that much more time: who sends at this rate goes on to the end.
// Proof and manifest give none: they are checked when all of them are here.
constexpr std::int64_t kLinkBytesPerSecond = 64U << 10U;
constexpr base::Duration kAgain = seconds(10);
constexpr int kLate = 34;  // Points: three cost the connection.
constexpr int kUseless = 20;
constexpr std::size_t kRememberedMax = 1'024;

// What is remembered of peers is bounded; what is forgotten is found out again.
template <class Set, class Value>
void remember(Set& set, Value value) {
    if (set.size() >= kRememberedMax) set.clear();
    set.insert(std::move(value));
}

template <class Set>
void forget_slot(Set& set, PeerSlot slot) {
    std::erase_if(set, [slot](const auto& item) { return item.first == slot; });
}

std::uint32_t pieces_max(SnapshotPart part) {
    return part == SnapshotPart::links ? kLinkPiecesMax : kPiecesMax;
}

Bootstrap::Fault proof(PeerSlot slot, const std::string& text) {
    return {.slot = slot, .points = 0, .reason = Reason::bad_block, .text = text};
}

}  // namespace

std::string_view to_string(Bootstrap::Stage stage) {
    constexpr std::array<std::string_view, 7> kNames = {
        "idle", "looking", "history", "checking", "chunks", "loading", "loaded"};
    return kNames[static_cast<std::size_t>(stage)];
}

// --- Which snapshot ---

bool Bootstrap::has(const Source& source, const SnapshotPoint& snapshot) const {
    const auto is_in = [&](const auto& set) {
        return set.contains({source.slot, snapshot.manifest});
    };
    return snapshot.height > own_final_ &&
           std::ranges::find(*source.snapshots, snapshot) != source.snapshots->end() &&
           !is_in(lacking_) && !is_in(refused_);
}

std::optional<SnapshotPoint> Bootstrap::choose(const std::vector<Source>& sources) const {
    struct Namers {
        std::set<chain::Name> organisations;
        std::size_t peers = 0;
    };
    std::map<SnapshotPoint, Namers> named;
    for (const Source& source : sources) {
        for (const SnapshotPoint& snapshot : *source.snapshots) {
            if (wrong_.contains(snapshot.manifest) || !has(source, snapshot)) continue;
            Namers& each = named[snapshot];
            ++each.peers;
            if (source.organisation != chain::Name{}) {
                each.organisations.insert(source.organisation);
            }
        }
    }
    const auto rank = [&](const auto& item) {
        return std::tuple(is_checked() && item.first == target_,
                          item.first == begun_,
                          item.second.organisations.size(),
                          item.first.height,
                          item.second.peers);
    };
    const auto best = std::ranges::max_element(named, {}, rank);
    return best == named.end() ? std::nullopt : std::optional(best->first);
}

// Answers to what was asked before do not count any more; that it was asked does.
void Bootstrap::take(const SnapshotPoint& snapshot) {
    target_ = snapshot;
    chunks_ = stored_ = 0;
    waiting_.clear();
    missing_.clear();
    with_node_.clear();
    look();
}

void Bootstrap::look() {
    stage_ = Stage::looking;
    is_said_ = false;
    giver_.reset();
    parts_ = {};
}

void Bootstrap::stop() {
    stage_ = Stage::idle;
    is_said_ = false;
    trouble_.clear();
}

// --- What to ask ---

// The one to fetch may be another now.
void Bootstrap::choose_again(const std::vector<Source>& sources) {
    const auto chosen = choose(sources);
    if (chosen) {
        trouble_.clear();
        if (stage_ == Stage::idle || *chosen != target_) take(*chosen);
    } else if (trouble_.empty()) {
        trouble_ =
            fmt::format("no peer that is connected has a snapshot above block {}", own_final_);
    }
}

Bootstrap::Plan Bootstrap::plan(base::Timestamp now,
                                const std::vector<Source>& sources,
                                chain::Height own_final) {
    Plan plan;
    own_final_ = own_final;
    if (stage_ == Stage::loaded || now < not_before_) return plan;
    if (stage_ != Stage::loading) choose_again(sources);
    std::vector<const Source*> having;
    for (const Source& source : sources) {
        if (stage_ != Stage::idle && has(source, target_)) having.push_back(&source);
    }
    sources_ = static_cast<std::uint32_t>(having.size());
    if (stage_ == Stage::history) plan_history(now, having, plan);
    if (stage_ == Stage::chunks) plan_chunks(now, having, plan);
    const bool is_asking = stage_ == Stage::looking || stage_ == Stage::checking;
    if (is_asking && !std::exchange(is_said_, true)) plan.check = target_;
    if (stage_ == Stage::loading && !std::exchange(is_said_, true)) plan.load = target_;
    return plan;
}

void Bootstrap::ask(base::Timestamp now, PeerSlot slot, const SnapshotPiece& piece, Plan& plan) {
    const std::uint64_t correlation = next_correlation_++;
    asked_[correlation] = {.slot = slot, .piece = piece, .at = now};
    givers_.try_emplace(slot);
    plan.asks.push_back({slot, correlation, {.piece = piece, .landing_token = 0}});
}

// No piece is asked for far ahead of the first that is not kept: the node checks links in their
// order, and what it cannot check yet must not fill its disk.
std::optional<SnapshotPiece> Bootstrap::next_of_history() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        Part& part = parts_.at(i);
        std::uint32_t& index = part.wanted_from;
        while (part.under_way.contains(index) || part.kept.contains(index))
            ++index;
        if (index >= part.count.value_or(1)) continue;
        const bool is_far = !part.under_way.empty() &&
                            index >= part.under_way.begin()->first + kSnapshotRequestsMax;
        if (!is_far) return SnapshotPiece{target_.manifest, static_cast<SnapshotPart>(i), index};
    }
    return {};
}

bool Bootstrap::is_history_kept() const {
    return std::ranges::all_of(
        parts_, [](const Part& part) { return part.count && part.kept.size() == *part.count; });
}

void Bootstrap::plan_history(base::Timestamp now,
                             const std::vector<const Source*>& sources,
                             Plan& plan) {
    const auto is_giver = [this](const Source* source) { return source->slot == giver_; };
    if (giver_ && std::ranges::none_of(sources, is_giver)) return look();
    if (giver_ && sources.size() > 1 && now >= giver_until_) {
        ++givers_[*giver_].late;
        return look();
    }
    if (!giver_) {
        const Source* source = freest(sources, {});
        if (source == nullptr) return;
        giver_ = source->slot;
        const std::uint32_t late = std::min(givers_[*giver_].late, kHistoryDoublingsMax);
        giver_until_ = now + kHistoryTime * (std::int64_t{1} << late);
    }
    while (open_of(*giver_) < kSnapshotRequestsMax) {
        const auto piece = next_of_history();
        if (!piece) return;
        parts_.at(static_cast<std::size_t>(piece->part)).under_way[piece->index] = 0;
        ask(now, *giver_, *piece, plan);
    }
}

void Bootstrap::plan_chunks(base::Timestamp now,
                            const std::vector<const Source*>& sources,
                            Plan& plan) {
    while (!waiting_.empty() && under_way() < kWindow) {
        const Source* source = freest(sources, {});
        if (source == nullptr) return;
        const std::uint32_t chunk = waiting_.front();
        waiting_.pop_front();
        ask(now, source->slot, {target_.manifest, SnapshotPart::chunk, chunk}, plan);
    }
    if (waiting_.empty()) plan_last(now, sources, plan);
}

// The last ones are asked of a second peer.
void Bootstrap::plan_last(base::Timestamp now,
                          const std::vector<const Source*>& sources,
                          Plan& plan) {
    std::vector<std::uint32_t> slow;
    for (const auto& [correlation, asked] : asked_) {
        const bool is_ours =
            asked.piece.manifest == target_.manifest && asked.piece.part == SnapshotPart::chunk;
        if (!is_ours || asked.is_late || now < asked.at + kLastPatience) continue;
        const std::uint32_t chunk = asked.piece.index;
        if (missing_.contains(chunk) && !with_node_.contains(chunk)) slow.push_back(chunk);
    }
    for (const std::uint32_t chunk : slow) {
        if (askers_of(chunk) > 1 || under_way() >= kWindow) continue;
        const Source* source = freest(sources, chunk);
        if (source == nullptr) continue;
        ask(now, source->slot, {target_.manifest, SnapshotPart::chunk, chunk}, plan);
    }
}

// The one with the fewest pieces under way; of equal ones that which was late least. Null: none has
// room. `not_asked`: it must not have been asked for this chunk already.
const Bootstrap::Source* Bootstrap::freest(const std::vector<const Source*>& sources,
                                           std::optional<std::uint32_t> not_asked) const {
    const Source* best = nullptr;
    std::pair<std::uint32_t, std::size_t> least;
    for (const Source* source : sources) {
        const std::size_t open = open_of(source->slot);
        if (open >= kSnapshotRequestsMax || is_late(source->slot)) continue;
        if (not_asked && is_asked_for(source->slot, *not_asked)) continue;
        const auto giver = givers_.find(source->slot);
        const std::pair rank(giver == givers_.end() ? 0U : giver->second.late, open);
        if (best != nullptr && rank >= least) continue;
        best = source;
        least = rank;
    }
    return best;
}

bool Bootstrap::is_asked_for(PeerSlot slot, std::uint32_t chunk) const {
    const SnapshotPiece piece{target_.manifest, SnapshotPart::chunk, chunk};
    return std::ranges::any_of(asked_, [&](const auto& item) {
        return item.second.slot == slot && item.second.piece == piece;
    });
}

std::size_t Bootstrap::open_of(PeerSlot slot) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        asked_, [slot](const auto& item) { return item.second.slot == slot; }));
}

bool Bootstrap::is_late(PeerSlot slot) const {
    return std::ranges::any_of(asked_, [slot](const auto& item) {
        return item.second.slot == slot && item.second.is_late;
    });
}

std::size_t Bootstrap::under_way() const {
    const auto open =
        std::ranges::count_if(asked_, [](const auto& item) { return !item.second.is_late; });
    return static_cast<std::size_t>(open) + with_node_.size();
}

std::size_t Bootstrap::askers_of(std::uint32_t chunk) const {
    return static_cast<std::size_t>(std::ranges::count_if(asked_, [&](const auto& item) {
        const Asked& asked = item.second;
        return !asked.is_late && asked.piece.part == SnapshotPart::chunk &&
               asked.piece.manifest == target_.manifest && asked.piece.index == chunk;
    }));
}

// --- What comes ---

bool Bootstrap::is_asked(PeerSlot slot, std::uint64_t correlation) const {
    const auto at = asked_.find(correlation);
    return at != asked_.end() && at->second.slot == slot;
}

Bootstrap::Arrived Bootstrap::on_answer(base::Timestamp now,
                                        PeerSlot slot,
                                        std::uint64_t correlation,
                                        SnapshotChunk answer) {
    const auto at = asked_.find(correlation);
    const Asked asked = at->second;
    asked_.erase(at);
    givers_[slot].heard = now;
    bytes_received_ += answer.bytes.size();
    if (answer.piece != asked.piece) {
        ask_again(asked);
        return {{}, proof(slot, "answers with another piece of a snapshot than was asked for")};
    }
    if (!answer.is_known) {
        remember(lacking_, std::pair(slot, answer.piece.manifest));
        ask_again(asked);
        return {};
    }
    if (answer.bytes.size() > kPieceBytesMax) {
        ask_again(asked);
        return {{},
                proof(slot,
                      fmt::format("sends a piece of a snapshot of {} bytes, {} are allowed",
                                  answer.bytes.size(),
                                  kPieceBytesMax))};
    }
    if (answer.piece.manifest != target_.manifest) return {};
    if (asked.is_late) std::erase(waiting_, answer.piece.index);
    Arrived arrived = answer.piece.part == SnapshotPart::chunk
                          ? on_chunk(slot, std::move(answer))
                          : on_history(slot, std::move(answer));
    if (arrived.fault) ask_again(asked);
    return arrived;
}

Bootstrap::Arrived Bootstrap::on_history(PeerSlot slot, SnapshotChunk answer) {
    if (stage_ != Stage::history || slot != giver_) return {};
    Part& part = parts_.at(static_cast<std::size_t>(answer.piece.part));
    const std::uint32_t count = answer.count;
    const bool may_be_none = answer.piece.part == SnapshotPart::links;
    if (count > pieces_max(answer.piece.part) || (count == 0 && !may_be_none)) {
        return {{},
                proof(slot,
                      fmt::format("says that the {} of a snapshot has {} pieces; at most "
                                  "{} are allowed",
                                  to_string(answer.piece.part),
                                  count,
                                  pieces_max(answer.piece.part)))};
    }
    if (part.count && *part.count != count) {
        return {{}, proof(slot, "contradicts itself on how many pieces a snapshot has")};
    }
    part.count = count;
    if (count == 0) {
        part.under_way.clear();
        if (is_history_kept()) stage_ = Stage::checking;
        return {};
    }
    part.under_way[answer.piece.index] = answer.bytes.size();
    return {effect::KeepSnapshot{
                answer.piece, count, std::make_shared<const base::Bytes>(std::move(answer.bytes))},
            {}};
}

Bootstrap::Arrived Bootstrap::on_chunk(PeerSlot slot, SnapshotChunk answer) {
    const std::uint32_t chunk = answer.piece.index;
    if (stage_ != Stage::chunks) return {};
    if (answer.count != chunks_) {
        return {{},
                proof(slot,
                      fmt::format("says that a snapshot has {} chunks, its manifest has "
                                  "{}",
                                  answer.count,
                                  chunks_))};
    }
    // The other of two came first.
    if (!missing_.contains(chunk) || with_node_.contains(chunk)) return {};
    with_node_[chunk] = slot;
    ++chunks_received_;
    return {effect::KeepSnapshot{answer.piece,
                                 answer.count,
                                 std::make_shared<const base::Bytes>(std::move(answer.bytes))},
            {}};
}

void Bootstrap::ask_again(const Asked& asked) {
    if (asked.is_late || asked.piece.manifest != target_.manifest) return;
    if (asked.piece.part == SnapshotPart::chunk) return want_again(asked.piece.index);
    // All of it comes from one peer, and this one does not give it.
    if (stage_ == Stage::history && asked.slot == giver_) look();
}

void Bootstrap::want_again(std::uint32_t chunk) {
    if (stage_ != Stage::chunks || !missing_.contains(chunk) || with_node_.contains(chunk)) return;
    if (askers_of(chunk) > 0 || std::ranges::find(waiting_, chunk) != waiting_.end()) return;
    waiting_.push_front(chunk);
}

std::vector<Bootstrap::Fault> Bootstrap::on_kept(base::Timestamp now,
                                                 const input::SnapshotKept& kept,
                                                 const std::vector<Source>& sources) {
    if (kept.piece.manifest != target_.manifest) return {};
    const std::uint32_t index = kept.piece.index;
    if (kept.piece.part != SnapshotPart::chunk) {
        if (stage_ != Stage::history) return {};
        Part& part = parts_.at(static_cast<std::size_t>(kept.piece.part));
        const auto came = part.under_way.extract(index);
        if (kept.verdict != SnapshotVerdict::good) {
            part.wanted_from = std::min(part.wanted_from, index);
            return blame(now, kept.verdict, kept.text, giver_, sources);
        }
        part.kept.insert(index);
        if (kept.piece.part == SnapshotPart::links && !came.empty()) {
            const auto bytes = static_cast<std::int64_t>(came.mapped());
            giver_until_ += milliseconds(bytes * 1'000 / kLinkBytesPerSecond);
        }
        if (is_history_kept()) stage_ = Stage::checking;
        return {};
    }
    const auto at = with_node_.find(index);
    if (stage_ != Stage::chunks || at == with_node_.end()) return {};
    const std::optional<PeerSlot> sender = at->second;
    with_node_.erase(at);
    if (kept.verdict != SnapshotVerdict::good) {
        want_again(index);
        return blame(now, kept.verdict, kept.text, sender, sources);
    }
    missing_.erase(index);
    ++stored_;
    if (missing_.empty()) {
        stage_ = Stage::loading;
        is_said_ = false;
    }
    return {};
}

std::vector<Bootstrap::Fault> Bootstrap::on_checked(base::Timestamp now,
                                                    const input::SnapshotChecked& checked,
                                                    const std::vector<Source>& sources) {
    const bool is_looking = stage_ == Stage::looking;
    const bool is_ours = (is_looking || stage_ == Stage::checking) && is_said_ &&
                         checked.manifest == target_.manifest;
    if (!is_ours) return {};
    if (checked.verdict != SnapshotVerdict::good) {
        const std::optional<PeerSlot> sender = giver_;
        look();
        is_said_ = false;
        // What lay here and is not there, or is of no use, is fetched.
        const bool is_here = is_looking && checked.verdict != SnapshotVerdict::bad_manifest &&
                             checked.verdict != SnapshotVerdict::unavailable;
        if (is_here) {
            stage_ = Stage::history;
            return {};
        }
        return blame(now, checked.verdict, checked.text, sender, sources);
    }
    begun_ = target_;
    chunks_ = checked.chunks;
    bytes_ = checked.bytes;
    rows_ = checked.rows;
    stored_ = chunks_ - static_cast<std::uint32_t>(checked.missing.size());
    missing_.clear();
    missing_.insert(checked.missing.begin(), checked.missing.end());
    std::vector<std::uint32_t> order = checked.missing;
    for (std::size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[rng_.below(left)]);
    waiting_.assign(order.begin(), order.end());
    with_node_.clear();
    stage_ = missing_.empty() ? Stage::loading : Stage::chunks;
    is_said_ = false;
    return {};
}

std::vector<Bootstrap::Fault> Bootstrap::on_loaded(base::Timestamp now,
                                                   const input::SnapshotLoaded& loaded,
                                                   const std::vector<Source>& sources) {
    if (stage_ != Stage::loading || loaded.manifest != target_.manifest) return {};
    if (loaded.verdict == SnapshotVerdict::good) {
        stage_ = Stage::loaded;
        return {};
    }
    // Where the rows are right and do not fit what is beside them, whoever gave that is to blame.
    std::optional<PeerSlot> sender;
    if (loaded.verdict == SnapshotVerdict::bad_piece) sender = giver_;
    look();
    return blame(now, loaded.verdict, loaded.text, sender, sources);
}

std::vector<Bootstrap::Fault> Bootstrap::blame(base::Timestamp now,
                                               SnapshotVerdict verdict,
                                               const std::string& text,
                                               std::optional<PeerSlot> sender,
                                               const std::vector<Source>& sources) {
    std::vector<Fault> faults;
    trouble_ = text;
    switch (verdict) {
        case SnapshotVerdict::bad_piece:
            if (sender) faults.push_back(proof(*sender, text));
            break;
        case SnapshotVerdict::useless:
            if (sender) {
                faults.push_back({*sender, kUseless, Reason::behind, text});
                remember(refused_, std::pair(*sender, target_.manifest));
            } else {
                remember(wrong_, target_.manifest);
                stage_ = Stage::idle;
            }
            break;
        case SnapshotVerdict::bad_manifest:
            for (const Source& source : sources) {
                if (std::ranges::find(*source.snapshots, target_) != source.snapshots->end()) {
                    faults.push_back(proof(source.slot, text));
                }
            }
            remember(wrong_, target_.manifest);
            stage_ = Stage::idle;
            break;
        case SnapshotVerdict::unavailable:
            not_before_ = now + kAgain;
            break;
        case SnapshotVerdict::absent:
        case SnapshotVerdict::good:
            break;
    }
    return faults;
}

// --- Who is slow, who goes ---

std::vector<Bootstrap::Fault> Bootstrap::on_time(base::Timestamp now) {
    std::vector<Fault> faults;
    for (auto& [correlation, asked] : asked_) {
        Giver& giver = givers_[asked.slot];
        if (asked.is_late || now < std::max(asked.at, giver.heard) + kPatience) continue;
        ask_again(std::exchange(asked, Asked{asked.slot, asked.piece, asked.at, true}));
        ++giver.late;
        faults.push_back({asked.slot, kLate, Reason::behind, "gives pieces of snapshots too late"});
    }
    return faults;
}

void Bootstrap::on_stored(PeerSlot slot) {
    forget_slot(lacking_, slot);
}

void Bootstrap::forget(PeerSlot slot) {
    for (auto at = asked_.begin(); at != asked_.end();) {
        if (at->second.slot != slot) {
            ++at;
            continue;
        }
        const Asked asked = at->second;
        at = asked_.erase(at);
        ask_again(asked);
    }
    for (auto& [chunk, sender] : with_node_) {
        if (sender == slot) sender.reset();
    }
    givers_.erase(slot);
    forget_slot(lacking_, slot);
    forget_slot(refused_, slot);
    if (giver_ != slot) return;
    if (stage_ == Stage::history) return look();
    giver_.reset();
}

SnapshotStatus Bootstrap::status() const {
    SnapshotStatus status;
    status.stage = to_string(stage_);
    status.snapshot = target_;
    status.chunks = stored_;
    status.chunks_all = chunks_;
    status.bytes_received = bytes_received_;
    status.sources = sources_;
    status.waiting_for = trouble_;
    return status;
}

}  // namespace p2p
