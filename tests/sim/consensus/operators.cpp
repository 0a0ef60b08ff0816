#include "tests/sim/consensus/cluster.hpp"

#include <algorithm>

// What operators do to a chain that runs: they answer a recovery that never comes, and start a
// second machine with the keys of one.

namespace sim {

namespace {

// A seed has one of these worlds, or none.
constexpr std::uint64_t kWorlds = 16;
constexpr std::uint64_t kAnswers = 3;
constexpr std::uint64_t kTwins = 5;
constexpr std::uint64_t kRanges = 9;
constexpr std::uint64_t kSmallTrees = 11;

constexpr chain::Slot kAnswersFrom = 4;
constexpr int kAnswersPercent = 70;
constexpr int kLosesJournalPercent = 20;  // In a slot.
constexpr int kMeetsTwinPercent = 10;     // In a slot.
constexpr int kTwinKeyPercent = 60;
constexpr int kTakesRangesPercent = 60;
// Blocks that are not final, of those for which there is room.
constexpr std::int64_t kTreeMin = 4;
constexpr std::int64_t kTreeMax = 30;

}  // namespace

// --- The world ---

void Cluster::choose_operators() {
    const std::uint64_t world = plan_.seed % kWorlds;
    if (world == kAnswers) {
        answers_at_ = kAnswersFrom + operator_dice_.below(plan_.chaos_until / 2);
        all_answer_ = operator_dice_.percent(50);
    } else if (world == kTwins) {
        has_twin_ = operator_dice_.below(hosts_.size());
    } else if (world == kRanges) {
        for (char& takes : takes_ranges_)
            takes = static_cast<char>(operator_dice_.percent(kTakesRangesPercent));
    } else if (world == kSmallTrees) {
        tree_max_ = static_cast<std::size_t>(operator_dice_.between(kTreeMin, kTreeMax));
    }
}

bool Cluster::has_small_trees() const {
    return plan_.seed % kWorlds == kSmallTrees;
}

// Such a node can check no certificate, so that nothing tells it which blocks are certified, and it
// has no room for others. Production's p2p asks for final blocks together with their proof.
void Cluster::on_unknown_schedules(std::size_t node) {
    if (healed_ && has_small_trees()) takes_ranges_[node] = 1;
}

void Cluster::operate() {
    if (answers_at_ && slot() >= *answers_at_) answer_recovery();
    lose_answered_journal();
    if (!has_twin_ || hosts_[*has_twin_] == nullptr || !hosts_[*has_twin_]->up()) return;
    if (!operator_dice_.percent(kMeetsTwinPercent)) return;
    hosts_[*has_twin_]->meet_twin(operator_dice_);
    count("twins met");
}

// All are asked to, or one does so alone.
void Cluster::answer_recovery() {
    answers_at_.reset();
    const std::size_t alone = operator_dice_.below(hosts_.size());
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
        const bool answers = all_answer_ ? operator_dice_.percent(kAnswersPercent) : i == alone;
        if (!answers || hosts_[i] == nullptr || !hosts_[i]->up()) continue;
        hosts_[i]->answer_recovery();
        answered_.push_back(i);
        count("answers to a recovery");
    }
}

// Where the disk keeps what was durable: else both of its parts may be lost.
void Cluster::lose_answered_journal() {
    if (answered_.empty() || loses_synced_) return;
    if (!operator_dice_.percent(kLosesJournalPercent)) return;
    const std::size_t node = answered_.back();
    answered_.pop_back();
    if (!hosts_[node]->up()) return;
    hosts_[node]->kill();
    hosts_[node]->lose_journal(false);
    down_until_[node] = slot() + 1;
    count("journals lost after an answer");
}

// --- A host ---

void Host::answer_recovery() {
    step(consensus::input::StopSigning{});
}

// What was asked for is durable.
void Host::note_answers() {
    for (const consensus::KeyStatus& key : consensus_->keys()) {
        if (key.stopped) cluster_.observer().answered(key.key);
    }
}

void Host::meet_twin(Chance& chance) {
    for (const base::crypto::PublicKey& key : keys()) {
        if (!up() || !chance.percent(kTwinKeyPercent)) continue;
        step(consensus::input::TwinSeen{key});
        conduct_.meets_twin(key);
    }
}

bool Host::is_silent() const {
    if (lost()) return true;
    return std::ranges::any_of(consensus_->keys(), [](const consensus::KeyStatus& key) {
        return key.twin || key.stopped;
    });
}

}  // namespace sim
