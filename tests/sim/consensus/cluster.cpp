#include "tests/sim/consensus/cluster.hpp"

#include "tests/sim/consensus/adversary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sim {

namespace {

// Slots without a new final block after healing: six seconds until recovery begins, and some
// turns of producers of which f are not honest.
constexpr chain::Slot kGapMax = 42;
// Where they are many, each slot takes long.
constexpr std::size_t kManyMembers = 8;
constexpr chain::Slot kChaosOfMany = 30;
constexpr std::size_t kTurns = 3;  // Of the adversary in a slot.
// Of the machine whose disk may be put back as it was.
constexpr int kCopiedCrashPercent = 20;
constexpr int kCopiedDiesPercent = 3;
constexpr int kCopyPercent = 15;
constexpr std::uint64_t kCrashSalt = 0x2545F4914F6CDD1D;
constexpr std::uint64_t kOperatorSalt = 0x9FB21C651E98DF25;

}  // namespace

void Faults::add(const Faults& other) {
    deaths += other.deaths;
    old_copies += other.old_copies;
    excused += other.excused;
    old_rows += other.old_rows;
    tails += other.tails;
    damages += other.damages;
    loads += other.loads;
}

std::string Faults::describe() const {
    return fmt::format(
        "{} died telling a vote, {} old copies (in {} seeds nobody knew better), {} old rows, "
        "{} journals cut, {} damaged, {} snapshots loaded",
        deaths,
        old_copies,
        excused,
        old_rows,
        tails,
        damages,
        loads);
}

Cluster::Cluster(const Plan& plan)
    : plan_(plan),
      chance_(plan.seed * 0x9E3779B97F4A7C15ULL + 1),
      universe_(make_universe(plan, chance_)),
      observer_(universe_, plan.faults_beyond > 0),
      network_(universe_.members.size(), chance_),
      down_until_(universe_.members.size()),
      crash_dice_(plan.seed ^ kCrashSalt),
      operator_dice_(plan.seed ^ kOperatorSalt),
      takes_ranges_(universe_.members.size()) {
    if (universe_.members.size() > kManyMembers) {
        plan_.chaos_until = kChaosOfMany;
        plan_.end = kChaosOfMany + kGapMax + 4;
    }
    // Some rules wait for seconds: that is more slots where slots are short.
    const chain::Slot slots = 21'000 / universe_.times.interval_milliseconds;
    gap_max_ = std::max(kGapMax, slots);
    plan_.end += gap_max_ - kGapMax;
    now_ = universe_.at(0) + std::chrono::milliseconds(100);
    for (std::size_t i = 0; i < universe_.members.size(); ++i) {
        const bool byzantine = universe_.members[i].byzantine;
        hosts_.push_back(byzantine ? nullptr : std::make_unique<Host>(*this, i));
    }
    adversary_ = std::make_unique<Adversary>(*this);
    loses_journals_ = chance_.percent(30) || plan_.renews_disks;
    // Where a journal is lost, too, the machine counts as Byzantine (spec 04).
    loses_synced_ = !loses_journals_ && chance_.percent(30);
    // Where no fault is tolerated, one wrong clock is one too many.
    const bool tolerates_one = std::ranges::all_of(
        universe_.choices, [](const auto& entries) { return entries.size() > 3; });
    sets_clocks_ = chance_.percent(20) && tolerates_one;
    power_cuts_percent_ = static_cast<int>(chance_.below(3)) * 2;
    crashes_percent_ = crash_dice_.percent(40) || plan_.renews_disks ? 6 : 0;
    dies_percent_ = crash_dice_.percent(40) ? 1 : 0;
    choose_weather();
    choose_operators();
}

Cluster::~Cluster() = default;

chain::Slot Cluster::slot() const {
    return universe_.times.slot_at(chain::TimePoint::from_timestamp(now_));
}

// --- For hosts and the adversary ---

void Cluster::send(std::size_t from, std::size_t to, const Message& message) {
    if (from == to || hosts_[to] == nullptr) return;
    const SimNetwork::Arrivals arrivals = network_.send(from, to);
    for (std::size_t i = 0; i < arrivals.count; ++i) {
        queue_.add(now_ + arrivals.after[i], Deliver{from, to, message});
    }
}

void Cluster::broadcast(std::size_t from, const Message& message) {
    if (const auto* vote = std::get_if<std::shared_ptr<const chain::Vote>>(&message)) {
        adversary_->on_vote(**vote);
    }
    for (std::size_t to = 0; to < hosts_.size(); ++to) {
        send(from, to, message);
    }
}

void Cluster::deliver_at(base::Timestamp at, std::size_t to, const Message& message) {
    queue_.add(at, Deliver{to, to, message});
}

void Cluster::wake(std::size_t node, base::Timestamp at, base::Timestamp key) {
    queue_.add(at, Wake{node, hosts_[node]->epoch(), key});
}

void Cluster::header_left(std::size_t node) {
    const int share = universe_.members[node].copied ? kCopiedCrashPercent : crashes_percent_;
    if (healed_ || !crash_dice_.percent(share)) return;
    const auto after = crash_dice_.between(base::Duration(0), std::chrono::milliseconds(30));
    queue_.add(now_ + after, Crash{node, hosts_[node]->epoch()});
}

void Cluster::mending(std::size_t node) {
    if (healed_ || !loses_synced_ || !crash_dice_.percent(30)) return;
    const auto after = crash_dice_.between(base::Duration(0), std::chrono::milliseconds(10));
    queue_.add(now_ + after, Crash{node, hosts_[node]->epoch()});
}

bool Cluster::tell_vote(std::size_t node, const Message& vote) {
    const int share = universe_.members[node].copied ? kCopiedDiesPercent : dies_percent_;
    if (healed_ || !crash_dice_.percent(share)) {
        broadcast(node, vote);
        return true;
    }
    ++outcome_.faults.deaths;
    for (std::size_t to = 0; to < hosts_.size(); ++to) {
        if (crash_dice_.percent(30)) send(node, to, vote);
    }
    queue_.add(now_, Crash{node, hosts_[node]->epoch()});
    return false;
}

void Cluster::synced(std::size_t node, std::size_t position) {
    const auto latency =
        chance_.between(std::chrono::microseconds(200), std::chrono::milliseconds(6));
    queue_.add(now_ + latency, Synced{node, hosts_[node]->epoch(), position});
}

// --- The run ---

Outcome Cluster::run() {
    for (const auto& host : hosts_) {
        if (host != nullptr) host->start();
    }
    queue_.add(universe_.at(1), Turn{true});
    while (!queue_.empty() && slot() < plan_.end && observer_.failure().empty()) {
        now_ = queue_.next_at();
        Event event = queue_.take();
        ++outcome_.events;
        perform(event);
    }
    std::set<std::uint32_t> versions;
    for (const Seen* block : observer_.blocks()) {
        if (block->notarizable()) versions.insert(block->header().schedule_version);
    }
    outcome_.changes = versions.empty() ? 0 : versions.size() - 1;
    outcome_.failure = observer_.failure();
    outcome_.trace = trace_.hash();
    outcome_.finals = observer_.finals();
    outcome_.faults.excused = observer_.excused() > 0 ? 1 : 0;
    outcome_.conflicts = observer_.conflicts();
    outcome_.eos_finals = observer_.eos_finals();
    return outcome_;
}

void Cluster::perform(Event& event) {
    trace_.note(static_cast<std::uint64_t>(now_.time_since_epoch().count()) + event.index());
    if (auto* deliver = std::get_if<Deliver>(&event)) {
        trace_.note(deliver->from << 16U | deliver->to << 8U | deliver->message.index());
        Host& host = *hosts_[deliver->to];
        if (host.up()) host.on_message(deliver->from, deliver->message);
    } else if (const auto* wake = std::get_if<Wake>(&event)) {
        Host& host = *hosts_[wake->node];
        if (host.up() && host.epoch() == wake->epoch) host.on_wake(wake->key);
    } else if (const auto* synced = std::get_if<Synced>(&event)) {
        Host& host = *hosts_[synced->node];
        if (host.up() && host.epoch() == synced->epoch) host.on_synced(synced->position);
    } else if (const auto* crashed = std::get_if<Crash>(&event)) {
        Host& host = *hosts_[crashed->node];
        if (host.up() && host.epoch() == crashed->epoch) crash(crashed->node);
    } else if (const auto* started = std::get_if<Start>(&event)) {
        start(started->node);
    } else {
        const bool starts_slot = std::get<Turn>(event).starts_slot;
        if (starts_slot) start_slot();
        adversary_->act(starts_slot);
    }
}

void Cluster::start_slot() {
    const chain::Slot current = slot();
    if (current >= plan_.chaos_until && !healed_) heal();
    if (!healed_) make_faults();
    if (!healed_) operate();
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
        Host* host = hosts_[i].get();
        if (host != nullptr && !host->up() && (healed_ || down_until_[i] <= current)) host->start();
    }
    if (healed_) check_liveness();
    const base::Timestamp next = universe_.at(current + 1);
    queue_.add(next, Turn{true});
    for (std::size_t i = 1; i < kTurns; ++i) {
        queue_.add(now_ + chance_.between(base::Duration(0), next - now_ - base::Duration(1)),
                   Turn{false});
    }
}

void Cluster::choose_weather() {
    SimNetwork::Weather weather;
    weather.loss_percent = static_cast<int>(chance_.below(4)) * 7;
    weather.duplicate_percent = static_cast<int>(chance_.below(3)) * 5;
    weather.slow_percent = static_cast<int>(chance_.below(4)) * 6;
    weather.delay_max = std::chrono::milliseconds(chance_.between(5, 120));
    network_.set(weather);
}

void Cluster::make_faults() {
    std::vector<std::size_t> honest;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
        if (hosts_[i] != nullptr && hosts_[i]->up()) honest.push_back(i);
    }
    if (honest.empty()) return;
    if (chance_.percent(4)) choose_weather();
    if (chance_.percent(12)) cut_links(honest);
    const std::size_t one = chance_.pick(honest);
    const bool copies = loses_journals_ || universe_.members[one].copied;
    if (copies && crash_dice_.percent(kCopyPercent)) hosts_[one]->copy_disk();
    if (chance_.percent(3)) stop(one);
    if (chance_.percent(1)) hosts_[one]->clock().step(std::chrono::milliseconds(30));
    if (sets_clocks_) set_clock(one);
    if (!chance_.percent(power_cuts_percent_)) return;
    for (const std::size_t node : honest) {
        cut_power(node, loses_synced_ && crash_dice_.percent(60));
        down_until_[node] = slot() + 1;
    }
}

// One is hours wrong for some slots, whether it stops and starts meanwhile or not. The next one is
// when all have heard that it is right: a clock is what was said of it last (spec 04).
void Cluster::set_clock(std::size_t node) {
    if (wrong_clock_) {
        if (chance_.percent(20)) set_clock_right();
    } else if (chance_.percent(6) && !is_wrong_clock_heard()) {
        constexpr base::Duration kFar = std::chrono::hours(3);
        wrong_clock_ = {node, chance_.between(-kFar, kFar)};
        hosts_[node]->clock().step(wrong_clock_->second);
    }
}

bool Cluster::is_wrong_clock_heard() const {
    return std::ranges::any_of(
        hosts_, [](const auto& host) { return host != nullptr && host->hears_wrong_clock(); });
}

void Cluster::set_clock_right() {
    if (wrong_clock_) hosts_[wrong_clock_->first]->clock().step(-wrong_clock_->second);
    wrong_clock_.reset();
}

void Cluster::cut_links(std::vector<std::size_t>& honest) {
    network_.heal();
    if (chance_.percent(60)) {
        std::vector<char> side(hosts_.size());
        for (char& one : side) {
            one = static_cast<char>(chance_.percent(50));
        }
        network_.partition(side);
    } else if (chance_.percent(50)) {
        for (int i = 0; i < 4; ++i) {
            const std::size_t from = chance_.pick(honest);
            network_.cut(from, chance_.pick(honest));
        }
    }
}

// What it wrote last may have said that a block is final.
void Cluster::cut_power(std::size_t node, bool loses_synced) {
    hosts_[node]->cut_power(loses_synced);
    if (loses_synced) observer_.starts_over(node);
}

void Cluster::stop(std::size_t node) {
    if (chance_.percent(50)) {
        hosts_[node]->kill();
    } else {
        cut_power(node, loses_synced_ && chance_.percent(50));
    }
    down_until_[node] = slot() + chance_.below(12);
    if (loses_journals_ && chance_.percent(50)) hosts_[node]->lose_journal(chance_.percent(50));
}

// It is back at once: in the same slot, and with or without what it had promised.
void Cluster::crash(std::size_t node) {
    if (crash_dice_.percent(40)) {
        hosts_[node]->kill();
    } else {
        cut_power(node, loses_synced_ && crash_dice_.percent(70));
    }
    const bool is_copied = universe_.members[node].copied && crash_dice_.percent(70);
    if (is_copied && hosts_[node]->put_back_copy()) {
        ++outcome_.faults.old_copies;
    } else if (loses_journals_) {
        lose_data(node);
    }
    down_until_[node] = slot() + 1;
    const auto after =
        crash_dice_.between(std::chrono::milliseconds(1), std::chrono::milliseconds(60));
    queue_.add(now_ + after, Start{node});
}

void Cluster::lose_data(std::size_t node) {
    Host& host = *hosts_[node];
    Faults& faults = outcome_.faults;
    if (plan_.renews_disks) {
        if (crash_dice_.percent(50)) return host.replace_disk(false);
        faults.old_rows += host.put_back_rows() ? 1U : 0U;
        return;
    }
    switch (crash_dice_.below(9)) {
        case 0:
        case 1:
            return host.replace_disk(crash_dice_.percent(50));
        case 2:
        case 3:
            return host.lose_journal(crash_dice_.percent(50));
        case 4:
            faults.tails += host.lose_tail() ? 1U : 0U;
            return;
        case 5:
            faults.old_rows += host.put_back_rows() ? 1U : 0U;
            return;
        case 6:
            faults.damages += host.damage_journal() ? 1U : 0U;
            return;
        case 7: {
            const auto& from = hosts_[crash_dice_.below(hosts_.size())];
            faults.loads += from != nullptr && host.load_snapshot(*from) ? 1U : 0U;
            return;
        }
        default:
            return;
    }
}

void Cluster::start(std::size_t node) {
    if (!hosts_[node]->up()) hosts_[node]->start();
}

void Cluster::heal() {
    healed_ = true;
    set_clock_right();
    network_.heal();
    network_.set({});
    advanced_at_ = slot();
    observer_.heals(slot());
}

// The slowest honest node counts: what it shows as final.
void Cluster::check_liveness() {
    chain::Slot lowest = plan_.end;
    std::vector<char> silent(hosts_.size());
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
        if (hosts_[i] == nullptr) continue;
        silent[i] = static_cast<char>(hosts_[i]->is_silent());
        lowest = std::min(lowest, hosts_[i]->final_slot());
    }
    if (lowest > best_final_) {
        best_final_ = lowest;
        advanced_at_ = slot();
    }
    if (plan_.faults_beyond > 0 || universe_.overwhelmed(silent)) {
        advanced_at_ = slot();
        return;
    }
    outcome_.checked_liveness = true;
    const chain::Slot gap = slot() - advanced_at_;
    outcome_.worst_gap = std::max(outcome_.worst_gap, gap);
    if (gap <= gap_max_) return;
    std::string what = fmt::format("nothing became final for {} slots", gap);
    for (const auto& host : hosts_) {
        if (host != nullptr) what += "\n    " + host->describe();
    }
    observer_.fail(what);
}

}  // namespace sim
