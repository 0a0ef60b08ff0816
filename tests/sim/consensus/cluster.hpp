#pragma once

#include "consensus/consensus.hpp"
#include "tests/sim/clock.hpp"
#include "tests/sim/consensus/conduct.hpp"
#include "tests/sim/consensus/early_blocks.hpp"
#include "tests/sim/consensus/observer.hpp"
#include "tests/sim/disk.hpp"
#include "tests/sim/events.hpp"
#include "tests/sim/network.hpp"
#include "tests/sim/promises.hpp"
#include "tests/support/journals.hpp"

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace sim {

// --- Messages ---
struct Request {  // For a block.
    chain::BlockId id;
};
struct Hello {};
struct VotesSeen {  // The answer to hello: the newest votes of the keys of who asked.
    std::vector<chain::Vote> votes;
};
struct ClockSaid {  // What the clock of a member shows.
    std::size_t member;
    base::Timestamp shown;
};
struct Range {  // The answer to a request, up to the final block of who answers; parents first.
    std::vector<chain::BlockPtr> blocks;
    std::shared_ptr<const chain::Certificate> final;
};
using Message = std::variant<chain::BlockPtr,
                             std::shared_ptr<const chain::Vote>,
                             std::shared_ptr<const chain::Certificate>,
                             Request,
                             Hello,
                             std::shared_ptr<const VotesSeen>,
                             ClockSaid,
                             std::shared_ptr<const Range>>;

// --- What a node has on disk ---
struct Rows {
    std::map<chain::BlockId, chain::BlockPtr> blocks;  // In order of height.
    std::optional<chain::Certificate> notarize;
    std::optional<chain::Certificate> commit;
    consensus::TreeBase base;
    // Of each journal the last page that was written beside rows.
    std::map<consensus::KeyTag, consensus::JournalPage> marks;
};
struct Stored : Rows {
    test::Logs logs;
    Promises promises;
};
struct Write {
    std::vector<consensus::JournalPage> pages;
    std::vector<consensus::JournalPage> marks;  // Of a log, for the rows alone.
    chain::BlockPtr block;
    std::optional<chain::Certificate> certificate;
    std::optional<consensus::TreeBase> base;
    std::optional<chain::BlockId> forgotten;
};
void apply(Stored& state, Write&& write);
void apply_page(Stored& state, const consensus::JournalPage& page);
void apply_rows(Stored& state, const Write& write);

class Cluster;
class Adversary;

// One validator: the production Consensus, and around it what node/core does with its effects.
class Host {
  public:
    Host(Cluster& cluster, std::size_t index);

    void start();  // From what the disk holds.
    void kill();
    // `loses_synced`: the rows, or the journals, lose the last write that was durable, too.
    void cut_power(bool loses_synced = false);

    // --- What happens to its disk while it is down (host_disk.cpp) ---
    // The journal is gone; with `old`, an early copy is there.
    void lose_journal(bool old);
    // False: not now, as both parts would be lost, or there is nothing to lose.
    [[nodiscard]] bool lose_tail();
    [[nodiscard]] bool damage_journal();
    // The rows as they were when the disk was copied.
    [[nodiscard]] bool put_back_rows();
    // Another one, with nothing on it but an early copy of the journals.
    void replace_disk(bool keeps_journal);
    // Another one, with what is final at a node and the journals as they are or were once, which
    // may be the day of their creation. False: nothing is final there.
    [[nodiscard]] bool load_snapshot(const Host& from);
    // At any time. All of it comes back later; false: there is no copy.
    void copy_disk();
    [[nodiscard]] bool put_back_copy();

    // --- What its operator does (operators.cpp) ---
    void answer_recovery();
    // An earlier machine proves that it uses some of the keys.
    void meet_twin(Chance& chance);
    // A key signs nothing more: it has answered, or there is a twin, or its journal is lost.
    [[nodiscard]] bool is_silent() const;

    void on_message(std::size_t from, const Message& message);
    void on_wake(base::Timestamp at);
    void on_synced(std::size_t position);

    [[nodiscard]] bool up() const { return consensus_ != nullptr; }
    [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
    [[nodiscard]] bool lost() const;
    [[nodiscard]] chain::Slot final_slot() const { return shown_final_; }
    [[nodiscard]] SimClock& clock() { return clock_; }
    // What it heard last of an honest validator's clock is far from the time.
    [[nodiscard]] bool hears_wrong_clock();
    [[nodiscard]] const consensus::Consensus& consensus() const { return *consensus_; }
    // For people: what stands where.
    [[nodiscard]] std::string describe() const;

  private:
    void look_at_clock();
    void step(const consensus::Input& input);
    void run_queue();
    void carry_out(const consensus::Effect& effect);
    void persist(const consensus::effect::Persist& persist);
    void barrier();
    void make_block(const consensus::effect::Produce& produce);
    void cast_vote(const consensus::effect::CastVote& vote);
    void receive(std::size_t from, const chain::BlockPtr& block);
    void receive(std::size_t from, const std::shared_ptr<const chain::Vote>& vote);
    void receive(std::size_t from, const std::shared_ptr<const chain::Certificate>& certificate);
    void receive(std::size_t from, const Request& request);
    void receive(std::size_t from, const Hello& hello);
    void receive(std::size_t from, const std::shared_ptr<const VotesSeen>& seen);
    void receive(std::size_t from, const ClockSaid& said);
    void receive(std::size_t from, const std::shared_ptr<const Range>& range);
    void say_clock();
    [[nodiscard]] bool judge(const chain::Certificate& certificate,
                             const chain::ScheduleState& schedules);
    void adopt(const chain::BlockPtr& block, bool spared = false);
    // From this block on, that is below the final one; null: it is not, or that is not certified.
    [[nodiscard]] std::shared_ptr<const Range> range_from(const Seen& first) const;
    void write_spared(chain::Height final);
    void check_on_disk(const chain::BlockId& voted_for);
    void note_answers();
    void ask(std::size_t peer, const chain::BlockId& id);
    void wake_at(base::Timestamp local);
    // What it tells production, and what its clock shows.
    [[nodiscard]] base::Timestamp local_now();
    [[nodiscard]] base::Timestamp shown_now();
    [[nodiscard]] std::vector<base::crypto::PublicKey> keys() const;
    [[nodiscard]] consensus::Journals read_journals(std::vector<consensus::KeyTag>& to_mend) const;
    [[nodiscard]] std::vector<consensus::KeyTag> tags() const;
    [[nodiscard]] bool may_have_signed(const base::crypto::PublicKey& key) const;
    void end();
    [[nodiscard]] bool may_lose_part() const;
    [[nodiscard]] bool loses_only_copy(const Rows& left) const;
    [[nodiscard]] bool has_lock_on(const chain::BlockId& block) const;
    void remember_journals();
    void forget_last_sync();
    void forget_all();
    void check_journals(const consensus::Journals& opened);
    void signs_as_old_copy(const base::crypto::PublicKey& key);
    void is_told(std::size_t from, const VotesSeen& seen);

    Cluster& cluster_;
    std::size_t index_;
    SimClock clock_;
    base::Duration told_ahead_{};  // Of the clock, to the agreement.
    base::Timestamp say_clock_at_{};
    SimDisk<Stored, Write> disk_;
    test::Logs early_logs_;  // A copy of the journals of long ago.
    std::optional<Stored> copy_;
    std::optional<consensus::Journals> known_before_;  // Something was lost.
    // By key, of the page up to which writes were done when the power went. Of what came after it
    // nothing has left: it may be lost with one of the two parts.
    std::map<consensus::KeyTag, std::uint64_t> done_;
    bool is_mended_ = true;  // Rows and journals say the same, since the start.
    bool knew_all_ = true;   // No key was lost when the process ended.
    // The disk was put back as it was long ago. Since the start: who has said what it has seen of
    // our votes, and keys of which that was more than we know.
    bool is_old_copy_ = false;
    std::set<std::size_t> answered_;
    std::set<base::crypto::PublicKey> known_lost_;
    // Before the last sync, and what that made durable of the journals.
    std::optional<Rows> rows_before_;
    // Since the process ended, one of the two parts has lost that, and nothing else was lost.
    bool lost_one_write_ = false;
    bool lost_nothing_ = false;         // That was durable, since the last start.
    std::set<consensus::KeyTag> knew_;  // Keys not lost then, nor since.
    std::vector<consensus::JournalPage> synced_pages_;
    std::vector<consensus::JournalPage> unsynced_pages_;
    std::unique_ptr<consensus::Consensus> consensus_;
    Conduct conduct_;
    std::deque<consensus::Effect> queue_;
    bool waiting_ = false;  // For the disk.
    std::optional<chain::Certificate> finalizing_;
    std::uint64_t epoch_ = 0;
    chain::Slot shown_final_ = 0;
    std::map<chain::BlockId, chain::BlockPtr> orphans_;  // By the parent that is missing.
    std::map<chain::BlockId, base::Timestamp> asked_;
    consensus::EarlyBlocks early_;
    std::set<base::Timestamp> wakes_;
    std::vector<chain::BlockPtr> spared_;  // Adopted and on no disk; parents first.
};

// How often something happened, of what is rare.
struct Faults {
    std::uint64_t deaths = 0;      // While a vote was told.
    std::uint64_t old_copies = 0;  // Of whole machines, put back.
    std::uint64_t excused = 0;     // Seeds in which nobody knew better than such a machine.
    std::uint64_t old_rows = 0;
    std::uint64_t tails = 0;    // Of journals, lost.
    std::uint64_t damages = 0;  // Of journals.
    std::uint64_t loads = 0;    // Of snapshots.

    void add(const Faults& other);
    [[nodiscard]] std::string describe() const;
};

// What a seed came to.
struct Outcome {
    std::string failure;  // Empty: none.
    std::uint64_t trace = 0;
    std::size_t finals = 0;
    std::size_t changes = 0;    // Schedules that came into force.
    std::size_t conflicts = 0;  // Only beyond the bound.
    std::size_t eos_finals = 0;
    chain::Slot worst_gap = 0;  // After healing, between final blocks.
    bool checked_liveness = false;
    std::size_t events = 0;
    Faults faults;
    std::map<std::string, std::uint64_t> counts;  // What else happened, by its name.
    // Of whole nodes only.
    std::uint64_t new_disks = 0;  // Given to machines that lost what they had.
    std::uint64_t upgrades = 0;   // Seeds whose chain went on under other rules.
};

// The whole world of one seed.
class Cluster {
  public:
    explicit Cluster(const Plan& plan);
    ~Cluster();
    [[nodiscard]] Outcome run();

    // --- For hosts and the adversary ---
    void send(std::size_t from, std::size_t to, const Message& message);
    void broadcast(std::size_t from, const Message& message);
    void deliver_at(base::Timestamp at, std::size_t to, const Message& message);
    void wake(std::size_t node, base::Timestamp at, base::Timestamp key);
    // The node has just signed a header: now it may go, and come back while the slot lasts.
    void header_left(std::size_t node);
    // Its journals and rows differed at the start; the write that makes them equal is under way.
    void mending(std::size_t node);
    // To all; false: to some, and the node dies of it.
    [[nodiscard]] bool tell_vote(std::size_t node, const Message& vote);
    [[nodiscard]] bool loses_synced() const { return loses_synced_; }
    // Whether the node adopts what is below a final block unchecked (`trust = certified`).
    [[nodiscard]] bool takes_ranges(std::size_t node) const { return takes_ranges_[node] != 0; }
    // A node has heard a certificate under schedules that the node does not know.
    void on_unknown_schedules(std::size_t node);
    // Whether nodes have room for few blocks that are not final.
    [[nodiscard]] bool has_small_trees() const;
    void count(const std::string& what) { ++outcome_.counts[what]; }
    void synced(std::size_t node, std::size_t position);
    [[nodiscard]] base::Timestamp now() const { return now_; }
    [[nodiscard]] chain::Slot slot() const;
    // Blocks that are not final, of those for which a node has room.
    [[nodiscard]] std::size_t tree_max() const { return tree_max_; }
    [[nodiscard]] std::size_t journal_blocks_max() const { return plan_.renews_disks ? 4 : 48; }
    [[nodiscard]] const Plan& plan() const { return plan_; }
    [[nodiscard]] const Universe& universe() const { return universe_; }
    [[nodiscard]] Observer& observer() { return observer_; }
    [[nodiscard]] Chance& chance() { return chance_; }
    [[nodiscard]] std::vector<std::unique_ptr<Host>>& hosts() {
        return hosts_;
    }  // Null: Byzantine.
    [[nodiscard]] bool healed() const { return healed_; }

  private:
    struct Deliver {
        std::size_t from = 0;
        std::size_t to = 0;
        Message message;
    };
    struct Wake {
        std::size_t node = 0;
        std::uint64_t epoch = 0;
        base::Timestamp key;
    };
    struct Synced {
        std::size_t node = 0;
        std::uint64_t epoch = 0;
        std::size_t position = 0;
    };
    struct Turn {  // The adversary's, and at the start of a slot that of the faults.
        bool starts_slot;
    };
    struct Crash {
        std::size_t node = 0;
        std::uint64_t epoch = 0;
    };
    struct Start {
        std::size_t node = 0;
    };
    using Event = std::variant<Deliver, Wake, Synced, Turn, Crash, Start>;

    void perform(Event& event);
    void start_slot();
    void choose_weather();
    void set_clock(std::size_t node);
    void set_clock_right();
    [[nodiscard]] bool is_wrong_clock_heard() const;
    void make_faults();
    void cut_links(std::vector<std::size_t>& honest);
    void stop(std::size_t node);
    void cut_power(std::size_t node, bool loses_synced);
    void crash(std::size_t node);
    void lose_data(std::size_t node);
    void start(std::size_t node);
    // (operators.cpp)
    void choose_operators();
    void operate();
    void answer_recovery();
    void lose_answered_journal();
    void heal();
    void check_liveness();

    Plan plan_;
    chain::Slot gap_max_ = 0;  // Without another final block, once all is healed.
    Chance chance_;
    Universe universe_;
    Observer observer_;
    SimNetwork network_;
    Trace trace_;
    EventQueue<Event> queue_;
    base::Timestamp now_{};
    std::vector<std::unique_ptr<Host>> hosts_;
    std::vector<chain::Slot> down_until_;
    std::unique_ptr<Adversary> adversary_;
    bool healed_ = false;
    bool loses_journals_ = false;
    bool loses_synced_ = false;  // Disks do not keep all that was durable.
    int power_cuts_percent_ = 0;
    bool sets_clocks_ = false;  // Somebody sets clocks far wrong, and right again.
    std::optional<std::pair<std::size_t, base::Duration>> wrong_clock_;  // Host, and by how much.
    Chance crash_dice_;  // Its own, so that other draws stay as they are.
    int crashes_percent_ = 0;
    int dies_percent_ = 0;  // While it tells a vote.
    Chance operator_dice_;  // As these.
    std::optional<chain::Slot> answers_at_;
    bool all_answer_ = false;
    std::vector<std::size_t> answered_;  // And their journals are whole.
    std::optional<std::size_t> has_twin_;
    std::size_t tree_max_ = 400;
    std::vector<char> takes_ranges_;
    chain::Slot best_final_ = 0;
    chain::Slot advanced_at_ = 0;
    Outcome outcome_;
};

}  // namespace sim
