#include "tests/sim/consensus/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace sim {

namespace {

constexpr base::Duration kAskAgain = std::chrono::milliseconds(150);
constexpr base::Duration kAsksFor =
    std::chrono::hours(1);  // Everybody can reach everybody in the end.
constexpr base::Duration kClockEvery = std::chrono::seconds(2);
constexpr base::Duration kFarOff = std::chrono::seconds(10);
constexpr int kSlowAnswersPercent = 60;
constexpr std::size_t kOrphansMax = 256;
constexpr base::Duration kClockBound = std::chrono::milliseconds(100);

bool verify(const chain::Certificate& certificate, const chain::ScheduleState& schedules) {
    if (!consensus::check_form(certificate, schedules)) return false;
    const auto keys = consensus::signers(certificate, schedules);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (!is_signed(certificate.signatures[i], keys[i], certificate.data)) return false;
    }
    return true;
}

bool is_newer(const std::optional<chain::Certificate>& kept, const chain::Certificate& other) {
    return !kept || kept->data.slot < other.data.slot;
}

}  // namespace

void apply(Stored& state, Write&& write) {
    apply_rows(state, write);
    for (const consensus::JournalPage& page : write.pages)
        apply_page(state, page);
}

void apply_page(Stored& state, const consensus::JournalPage& page) {
    state.promises.note(page.bytes);
    test::write_page(state.logs, page);
}

void apply_rows(Stored& state, const Write& write) {
    if (write.block != nullptr) state.blocks.emplace(write.block->id, write.block);
    if (write.forgotten) state.blocks.erase(*write.forgotten);
    if (write.certificate) {
        auto& kept =
            write.certificate->data.kind == chain::VoteKind::commit ? state.commit : state.notarize;
        if (is_newer(kept, *write.certificate)) kept = write.certificate;
    }
    if (write.base) state.base = *write.base;
    for (const auto* pages : {&write.pages, &write.marks}) {
        for (const consensus::JournalPage& page : *pages)
            state.marks[page.key] = page;
    }
}

Host::Host(Cluster& cluster, std::size_t index)
    : cluster_(cluster),
      index_(index),
      conduct_(cluster.universe(), cluster.observer(), kClockBound) {
    const Universe& universe = cluster.universe();
    Stored& state = disk_.state();
    state.base = {universe.genesis, chain::first_schedules({0, universe.choices[0]})};
    state.logs = test::fresh_logs(tags());
    early_logs_ = state.logs;
    Chance& chance = cluster.chance();
    const base::Duration skew =
        chance.between(std::chrono::milliseconds(-40), std::chrono::milliseconds(40));
    clock_ = SimClock(skew, chance.between(-50, 50));
}

std::vector<base::crypto::PublicKey> Host::keys() const {
    const Member& member = cluster_.universe().members[index_];
    return {member.signing_key, member.vote_keys[0], member.vote_keys[1]};
}

base::Timestamp Host::local_now() {
    return clock_.read(cluster_.now());
}
base::Timestamp Host::shown_now() {
    return local_now() + clock_.ahead();
}

std::vector<consensus::KeyTag> Host::tags() const {
    std::vector<consensus::KeyTag> tags;
    for (const base::crypto::PublicKey& key : keys())
        tags.push_back(consensus::key_tag(key));
    return tags;
}

bool Host::may_have_signed(const base::crypto::PublicKey& key) const {
    const Rows& rows = disk_.state();
    std::vector<chain::BlockPtr> above;
    above.reserve(rows.blocks.size());
    for (const auto& [id, block] : rows.blocks)
        above.push_back(block);
    return consensus::may_have_signed(key, rows.base, above);
}

// What node/core does when it opens.
consensus::Journals Host::read_journals(std::vector<consensus::KeyTag>& to_mend) const {
    using consensus::SafetyJournal;
    using Standing = SafetyJournal::Standing;
    const Stored& state = disk_.state();
    consensus::Journals journals = test::read_journals(state.logs);
    for (const base::crypto::PublicKey& own : keys()) {
        const consensus::KeyTag key = consensus::key_tag(own);
        const auto mark = state.marks.find(key);
        std::optional<SafetyJournal::Mark> rows;
        if (mark != state.marks.end()) {
            const consensus::JournalPage& page = mark->second;
            rows = SafetyJournal::Mark{page.sequence, page.bytes, page.replaces};
        }
        const auto found = journals.try_emplace(key, SafetyJournal::lost(key, rows));
        SafetyJournal& journal = found.first->second;
        Standing standing = Standing::lost;
        if (!found.second) standing = journal.settle(rows, may_have_signed(own));
        if (SafetyJournal::is_to_mend(standing)) to_mend.push_back(key);
    }
    return journals;
}

void Host::start() {
    ++epoch_;
    queue_.clear();
    waiting_ = false;
    finalizing_.reset();
    wakes_.clear();
    orphans_.clear();
    asked_.clear();
    early_ = {};
    spared_.clear();
    conduct_.restarts();
    clock_.restart();
    told_ahead_ = {};
    const Universe& universe = cluster_.universe();
    std::vector<consensus::KeyTag> to_mend;
    consensus::Journals journals = read_journals(to_mend);
    check_journals(journals);
    is_mended_ = to_mend.empty();
    answered_ = {index_};
    known_lost_.clear();
    const Stored& state = disk_.state();
    consensus_ = std::make_unique<consensus::Consensus>(
        consensus::Consensus::Options{.chain_id = {},
                                      .times = universe.times,
                                      .repetitions = universe.repetitions,
                                      .schedule_period = universe.period,
                                      .reversible_max = cluster_.tree_max(),
                                      .own_keys = keys(),
                                      .started = local_now(),
                                      .clock_bound = kClockBound,
                                      .journal_blocks_max = cluster_.journal_blocks_max(),
                                      .asks_around_for = kAsksFor},
        state.base,
        std::move(journals));
    for (const auto& [id, block] : state.blocks) {
        if (block->header.height <= state.base.block->header.height) continue;
        if (consensus_->holds(block->header.previous)) consensus_->restore(block);
    }
    if (state.commit) consensus_->restore(*state.commit);
    if (state.notarize) consensus_->restore(*state.notarize);
    for (const chain::VoteData& missing : consensus_->restore_locks())
        conduct_.misses(missing, local_now());
    if (!to_mend.empty()) {
        Write mended;
        for (const consensus::KeyTag key : to_mend) {
            if (const auto* last = consensus_->journals().at(key).last_page()) {
                mended.marks.push_back(*last);
            } else {
                mended.pages.push_back(consensus_->compact_journal(key));
            }
            const auto& lock = consensus_->journals().at(key).safety().lock_certificate;
            if (lock != nullptr && lock->data.kind == chain::VoteKind::notarize) {
                if (is_newer(mended.certificate, *lock)) mended.certificate = *lock;
            }
        }
        if (cluster_.loses_synced()) unsynced_pages_ = mended.pages;
        disk_.write(std::move(mended));
        barrier();
        cluster_.mending(index_);
    }
    step(consensus::input::Tick{});
    cluster_.broadcast(index_, Hello{});
    say_clock();
}

bool Host::hears_wrong_clock() {
    if (!up()) return false;
    const base::Timestamp now = cluster_.now();
    return std::ranges::any_of(consensus_->clocks(local_now()).shown, [&](const auto& clock) {
        const auto& [name, shown] = clock;
        const auto member = std::ranges::find(cluster_.universe().members, name, &Member::name);
        return !member->byzantine && (shown > now + kFarOff || shown < now - kFarOff);
    });
}

bool Host::lost() const {
    if (!up()) return true;
    const auto all = consensus_->keys();
    return std::ranges::any_of(all, &consensus::KeyStatus::lost);
}

std::string Host::describe() const {
    if (!up()) return fmt::format("node {} is down", index_);
    const auto* notarize = consensus_->highest_notarize();
    std::string text = fmt::format(
        "node {}: head {} final {} highest notarized {} epoch {}, nothing up to slot {}{}",
        index_,
        cluster_.observer().find(consensus_->head())->header().slot,
        consensus_->finalized().slot,
        notarize == nullptr ? 0 : notarize->data.slot,
        epoch_,
        consensus_->clocks({}).floor.value_or(0),
        waiting_ ? " waits for its disk" : "");
    for (const consensus::KeyStatus& key : consensus_->keys()) {
        text += fmt::format(
            "; key: last {} lock {}{}", key.last_notarize, key.lock, key.lost ? " lost" : "");
    }
    return text;
}

// --- Effects ---
// What a step asks for may be another step; each takes something off the queue.
// NOLINTBEGIN(misc-no-recursion)

// As the runtime does before each input.
void Host::look_at_clock() {
    if (clock_.ahead() == told_ahead_) return;
    told_ahead_ = clock_.ahead();
    say_clock_at_ = local_now();
    step(consensus::input::ClockSet{told_ahead_});
}

void Host::step(const consensus::Input& input) {
    look_at_clock();
    consensus::Effects effects;
    consensus_->step(local_now(), input, effects);
    conduct_.asks_for({local_now(), shown_now()}, *consensus_, effects);
    for (consensus::Effect& effect : effects) {
        if (const auto* wake = std::get_if<consensus::effect::WakeAt>(&effect)) {
            wake_at(wake->time);
        } else if (const auto* produce = std::get_if<consensus::effect::Produce>(&effect)) {
            make_block(*produce);
        } else {
            queue_.push_back(std::move(effect));
        }
    }
    run_queue();
}

void Host::run_queue() {
    while (up() && !queue_.empty() && !waiting_) {
        const consensus::Effect effect = std::move(queue_.front());
        queue_.pop_front();
        carry_out(effect);
    }
}

void Host::carry_out(const consensus::Effect& effect) {
    namespace effects = consensus::effect;
    if (const auto* asked = std::get_if<effects::Persist>(&effect)) {
        persist(*asked);
    } else if (const auto* announce = std::get_if<effects::Announce>(&effect)) {
        const Seen* block = cluster_.observer().find(announce->block);
        cluster_.observer().header_left(*block->block);
        cluster_.broadcast(index_, block->block);
        cluster_.header_left(index_);
    } else if (const auto* vote = std::get_if<effects::CastVote>(&effect)) {
        cast_vote(*vote);
    } else if (const auto* pass = std::get_if<effects::PassOn>(&effect)) {
        conduct_.certificate_left(pass->certificate);
        cluster_.broadcast(index_, std::make_shared<const chain::Certificate>(pass->certificate));
    } else if (const auto* final = std::get_if<effects::Finalize>(&effect)) {
        conduct_.certificate_left(*final->certificate);
        write_spared(final->certificate->data.height);
        Write stored;
        stored.certificate = final->certificate;
        stored.base = final->base;
        disk_.write(std::move(stored));
        finalizing_ = final->certificate;
        barrier();
    } else if (const auto* accuse = std::get_if<effects::Accuse>(&effect)) {
        cluster_.observer().accused(accuse->evidence);
    } else if (const auto* forget = std::get_if<effects::Forget>(&effect)) {
        Write removed;
        removed.forgotten = forget->block;
        disk_.write(std::move(removed));
    } else if (std::holds_alternative<effects::StoppedSigning>(effect)) {
        note_answers();
    } else if (const auto* alarm = std::get_if<effects::Alarm>(&effect)) {
        // A cut may take the page by which the key comes back.
        if (alarm->kind == effects::Alarm::Kind::journal_lost) {
            knew_.erase(consensus::key_tag(alarm->key));
        }
    }
}

void Host::persist(const consensus::effect::Persist& persist) {
    Write stored;
    stored.pages = persist.pages;
    if (cluster_.loses_synced()) unsynced_pages_ = persist.pages;
    for (const consensus::JournalPage& page : persist.pages) {
        const auto lock = Promises::lock_of(page.bytes);
        const bool is_here =
            !lock || *lock == disk_.state().base.block->id || disk_.state().blocks.contains(*lock);
        if (is_here) continue;
        cluster_.observer().fail("a COMMIT is promised before its block is durable");
    }
    const auto replaces = [](const auto& page) { return page.replaces; };
    if (std::ranges::any_of(stored.pages, replaces)) early_logs_ = disk_.state().logs;
    if (persist.block) stored.block = cluster_.observer().find(*persist.block)->block;
    if (persist.certificate) stored.certificate = persist.certificate;
    disk_.write(std::move(stored));
    if (persist.wait) barrier();
}

void Host::barrier() {
    waiting_ = true;
    cluster_.synced(index_, disk_.position());
}

void Host::on_synced(std::size_t position) {
    if (cluster_.loses_synced()) {
        rows_before_ = disk_.state();
        synced_pages_ = unsynced_pages_;
        unsynced_pages_.clear();
    }
    disk_.sync(position);
    waiting_ = false;
    is_mended_ = true;
    if (finalizing_) {
        const chain::Certificate final = *std::exchange(finalizing_, std::nullopt);
        shown_final_ = std::max(shown_final_, final.data.slot);
        cluster_.observer().became_final(index_, final.data.block_id);
        asked_.clear();
        step(consensus::input::FinalDurable{final.data.slot});
    }
    run_queue();
}

void Host::cast_vote(const consensus::effect::CastVote& vote) {
    if (consensus_->is_lost(vote.key)) return;
    const auto kind = vote.data.kind == chain::VoteKind::commit ? consensus::RecordKind::commit
                                                                : consensus::RecordKind::notarize;
    if (!disk_.state().promises.contain(kind, vote.key, vote.data.slot)) {
        cluster_.observer().fail("a vote left before its record was durable");
    }
    if (cluster_.takes_ranges(index_)) check_on_disk(vote.data.block_id);
    const chain::Vote cast{vote.data, vote.key, sign(vote.key, vote.data)};
    signs_as_old_copy(vote.key);
    cluster_.observer().vote_left(cast);
    // It does nothing more when it dies.
    waiting_ = !cluster_.tell_vote(index_, std::make_shared<const chain::Vote>(cast));
    step(consensus::input::VoteReceived{cast});
}

void Host::make_block(const consensus::effect::Produce& produce) {
    conduct_.makes_block(shown_now(), produce.slot);
    const Seen* parent = cluster_.observer().find(produce.parent);
    chain::BlockHeader header;
    header.slot = produce.slot;
    header.height = parent->header().height + 1;
    header.producer = produce.producer.producer;
    header.previous = produce.parent;
    header.schedule_version = produce.schedule_version;
    header.justify = produce.justify ? produce.justify->data.block() : parent->header().justify;
    header.finalized =
        produce.finalized ? produce.finalized->data.block() : parent->header().finalized;
    if (produce.may_propose) {
        const auto below = chain::schedules_below(parent->schedules, parent->header());
        header.schedule_change = cluster_.universe().proposal(produce.parent, *below.active);
    }
    // Another block each time, as transactions make it.
    const std::size_t contents = cluster_.chance().below(1U << 30U);
    auto& digest = produce.empty ? header.state_digest : header.transaction_root;
    for (std::size_t i = 0; i < 4; ++i) {
        digest.bytes[i] = static_cast<std::byte>(contents >> (8 * i) & 0xFFU);
    }
    if (produce.empty) cluster_.observer().recovery_block();
    const auto block = chain::make_block({header, {}}, {}, {produce.justify, produce.finalized});
    cluster_.observer().add(block);
    step(consensus::input::BlockAdopted{block, /*own=*/true});
}

// NOLINTEND(misc-no-recursion)

void Host::wake_at(base::Timestamp local) {
    if (!wakes_.insert(local).second) return;
    cluster_.wake(index_, clock_.when(local, cluster_.now()), local);
}

void Host::on_wake(base::Timestamp at) {
    wakes_.erase(at);
    step(consensus::input::Tick{});
    // Connections that were cut begin anew, with a hello.
    const auto keys = consensus_->keys();
    if (std::ranges::any_of(keys, &consensus::KeyStatus::waits))
        cluster_.broadcast(index_, Hello{});
    if (local_now() >= say_clock_at_) say_clock();
    for (const chain::BlockPtr& block : early_.take_ready(local_now())) {
        receive(index_, block);
    }
    // What is still missing, somebody else may have.
    std::vector<chain::BlockId> missing;
    missing.reserve(orphans_.size());
    for (const auto& [id, orphan] : orphans_) {
        missing.push_back(id);
    }
    std::ranges::copy(consensus_->missing_locks(), std::back_inserter(missing));
    for (const chain::BlockId& id : missing) {
        ask(cluster_.chance().below(cluster_.universe().members.size()), id);
    }
}

// --- Messages ---

void Host::on_message(std::size_t from, const Message& message) {
    // A clock that was set is a step of its own, which may make a block: it comes before what is
    // looked at for this message and the steps that it is for.
    look_at_clock();
    std::visit([&](const auto& content) { receive(from, content); }, message);
}

void Host::receive(std::size_t from, const std::shared_ptr<const chain::Vote>& vote) {
    if (!is_signed(vote->signature, vote->key, vote->data)) return;
    cluster_.observer().heard(*vote);
    const bool is_caught = conduct_.is_caught(shown_now(), *vote, *consensus_);
    step(consensus::input::VoteReceived{*vote});
    if (is_caught) conduct_.must_accuse(vote->key);
    if (vote->data.slot > consensus_->finalized().slot) ask(from, vote->data.block_id);
}

void Host::receive(std::size_t from, const Request& request) {
    const Seen* asked = cluster_.observer().find(request.id);
    const bool here = consensus_->holds(request.id) || disk_.state().blocks.contains(request.id);
    if (!here || asked == nullptr) return;
    if (cluster_.takes_ranges(from)) {
        if (auto range = range_from(*asked)) return cluster_.send(index_, from, std::move(range));
    }
    cluster_.send(index_, from, asked->block);
}

void Host::receive(std::size_t from, const Hello& /*hello*/) {
    for (const chain::Certificate* kept :
         {consensus_->highest_notarize(), consensus_->final_certificate()}) {
        if (kept == nullptr) continue;
        conduct_.certificate_left(*kept);
        cluster_.send(index_, from, std::make_shared<const chain::Certificate>(*kept));
    }
    const Member& asker = cluster_.universe().members[from];
    // They are slow to answer just where it matters.
    if (asker.copied && cluster_.chance().percent(kSlowAnswersPercent)) {
        return cluster_.send(index_, from, ClockSaid{index_, shown_now()});
    }
    VotesSeen seen;
    for (const auto& key : asker.vote_keys) {
        const auto newest = consensus_->newest_votes(key);
        seen.votes.insert(seen.votes.end(), newest.begin(), newest.end());
    }
    cluster_.send(index_, from, std::make_shared<const VotesSeen>(std::move(seen)));
    cluster_.send(index_, from, ClockSaid{index_, shown_now()});
}

void Host::say_clock() {
    say_clock_at_ = local_now() + kClockEvery;
    cluster_.broadcast(index_, ClockSaid{index_, shown_now()});
}

void Host::receive(std::size_t /*from*/, const ClockSaid& said) {
    for (const auto& key : cluster_.universe().members[said.member].vote_keys)
        step(consensus::input::ClockHeard{key, said.shown});
}

void Host::receive(std::size_t from, const std::shared_ptr<const VotesSeen>& seen) {
    is_told(from, *seen);
    for (const chain::Vote& own : seen->votes) {
        step(consensus::input::OwnVoteSeen{own});
    }
    const auto& keys = cluster_.universe().members[from].vote_keys;
    step(consensus::input::ValidatorHeard{{keys.begin(), keys.end()}});
    step(consensus::input::Tick{});  // It may come at any time.
}

void Host::receive(std::size_t from, const chain::BlockPtr& block) {
    using Fate = consensus::HeaderVerdict::Fate;
    const auto verdict = consensus_->check(local_now(), *block);
    if (verdict.fate == Fate::unlinkable) {
        if (orphans_.size() >= kOrphansMax) return;
        orphans_.emplace(block->header.previous, block);
        ask(from, block->header.previous);
    } else if (verdict.fate == Fate::early) {
        conduct_.holds_early(local_now(), verdict.ready_at);
        if (early_.hold(block, verdict.ready_at)) wake_at(verdict.ready_at);
    } else if (verdict.fate == Fate::good) {
        const bool proven = std::ranges::all_of(
            verdict.certificates,
            [&](const consensus::ToVerify& one) { return judge(one.certificate, one.schedules); });
        if (proven) adopt(block);
    } else if (!consensus_->holds(block->id)) {
        step(consensus::input::HeaderSeen{{block->header, block->signature}});
        const auto& members = cluster_.universe().members;
        const auto producer = std::ranges::find(members, block->header.producer, &Member::name);
        if (verdict.fate != Fate::invalid) return;
        cluster_.observer().refused(*block, verdict.reason);
        if (!producer->byzantine) {
            cluster_.observer().fail("an honest block is refused: " + verdict.reason);
        }
    }
}

void Host::adopt(const chain::BlockPtr& block, bool spared) {
    if (!cluster_.observer().adopts(index_, *block)) return;
    cluster_.observer().check_witness(index_, *block);
    step(consensus::input::BlockAdopted{block, /*own=*/false, spared});
    if (!consensus_->holds(block->id)) return;
    if (spared) {
        spared_.push_back(block);
    } else {
        conduct_.adopted(shown_now(), *block);
    }
    const auto* schedules = consensus_->schedules_of(
        {.slot = block->header.slot, .height = block->header.height, .block_id = block->id});
    cluster_.observer().schedules_on(index_, block->id, *schedules);
    const auto orphan = orphans_.find(block->id);
    if (orphan == orphans_.end()) return;
    const chain::BlockPtr child = orphan->second;
    orphans_.erase(orphan);
    // Through the queue of events: no recursion on what peers send.
    cluster_.deliver_at(cluster_.now(), index_, child);
}

void Host::receive(std::size_t from, const std::shared_ptr<const chain::Certificate>& certificate) {
    const chain::VoteData& data = certificate->data;
    const auto* schedules = consensus_->schedules_of(data);
    if (schedules == nullptr) cluster_.on_unknown_schedules(index_);
    if (schedules != nullptr && judge(*certificate, *schedules)) {
        step(consensus::input::CertificateReceived{*certificate});
        if (!consensus_->holds(data.block_id)) conduct_.misses(data, local_now());
    }
    if (data.slot > consensus_->finalized().slot) ask(from, data.block_id);
}

// As production's verify() does; the oracle has its own view of a block that is here.
bool Host::judge(const chain::Certificate& certificate, const chain::ScheduleState& schedules) {
    const bool is_good = verify(certificate, schedules);
    if (consensus_->holds(certificate.data.block_id)) {
        cluster_.observer().judged(certificate, is_good);
    }
    if (is_good) cluster_.observer().heard(certificate);
    return is_good;
}

void Host::ask(std::size_t peer, const chain::BlockId& id) {
    if (peer == index_ || consensus_->holds(id)) return;
    const auto asked = asked_.find(id);
    if (asked != asked_.end() && cluster_.now() < asked->second + kAskAgain) return;
    asked_[id] = cluster_.now();
    cluster_.send(index_, peer, Request{id});
}

}  // namespace sim
