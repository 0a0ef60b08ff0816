#pragma once

#include "chain/execution/membership.hpp"
#include "node/core/arrivals.hpp"
#include "node/core/core.hpp"
#include "node/core/duties.hpp"
#include "node/core/failure_budget.hpp"
#include "node/core/proved_certificates.hpp"
#include "node/core/stopped_transactions.hpp"
#include "node/core/unchecked.hpp"

#include <set>
#include <string>
#include <variant>

namespace node {

// How long after a failed write it is tried again.
inline constexpr base::Duration kRetryAfter = std::chrono::seconds(1);
// Blocks that may wait for the disk before a validator alone pauses: each would be final.
inline constexpr std::size_t kReversibleAlone = 64;
// Effects of the agreement that may wait for the disk before blocks of others wait too.
inline constexpr std::size_t kQueueMax = 1'024;
// Blocks of others executed in one step, so that slots and votes come between: so many, or until
// they have taken so long by their own words. One that is refused has taken what a block may.
inline constexpr int kBlocksAStep = 16;
inline constexpr base::Duration kCostAStep = std::chrono::milliseconds(50);
inline constexpr base::Duration kRefusedCost = std::chrono::milliseconds(200);
// Old blocks that nobody has certified get a quarter of the time, after a little in one go.
inline constexpr int kOldShare = 4;
inline constexpr base::Duration kOldBurst = std::chrono::milliseconds(20);
// Transactions of peers whose keys are being recovered, and the signatures of those of one peer:
// what it can make us do before it is charged for its first transaction. Of a transaction each
// signature but the first counts more often: they are rare, and come for nothing to a liar.
inline constexpr std::size_t kRecoveringMax = 16'384;
inline constexpr std::size_t kRecoveringOfPeer = kRecoveringMax / 4;
inline constexpr std::size_t kFurtherSignature = 8;
// What it takes to recover a key.
inline constexpr base::Duration kRecoveryTime = std::chrono::microseconds(70);
// What signatures in vain may take a minute is shared out in windows, so that the nodes of one
// organisation cannot take it all at once.
inline constexpr std::chrono::milliseconds kInVainWindow{2'000};
// How long a final block that our clock calls too early waits for another look.
inline constexpr base::Duration kLookAgainAfter = std::chrono::milliseconds(500);
// How long a third block of a slot waits for what names it.
inline constexpr base::Duration kNamedWithin = std::chrono::seconds(5);
// How often peers are asked again for blocks that are wrong here.
inline constexpr base::Duration kMendAgain = std::chrono::seconds(5);
// Votes so many slots, or so long, below the final block decide nothing any more.
inline constexpr chain::Slot kPastSlots = 16;
inline constexpr std::chrono::milliseconds kPastFor{4'000};
// Certificates known to be good, so that none is checked twice.
inline constexpr std::size_t kVerifiedMax = 1'024;

// The working part of Core; see there.
//
// Invariants: while `barrier_` stands, nothing of `queue_` is carried out; the pool has no
// transaction of the branch that ends in `pool_head_`.
class Core::Impl {
  public:
    Impl(const Options& options,
         const Environment& environment,
         std::unique_ptr<chain::ChainManager> chain,
         std::unique_ptr<consensus::Consensus> consensus);

    // Tells consensus of what was stored, loads the pool and publishes the first view.
    // `to_mend`: keys whose journal and rows differ.
    [[nodiscard]] base::Result<void> start(const std::vector<consensus::KeyTag>& to_mend,
                                           Effects& out);
    void step(base::Timestamp now, const Input& input, Effects& out);
    [[nodiscard]] std::shared_ptr<const chain::StateView> state_of(const chain::BlockId& id) const {
        return chain_->shared_state_of(id);
    }

  private:
    using Fate = consensus::HeaderVerdict::Fate;

    struct Finalizing {
        std::vector<chain::ExecutedBlockPtr> blocks;
        std::optional<chain::Certificate> certificate;  // Of the last.
    };
    // A transaction of a peer whose keys are being recovered.
    struct Recovering {
        transport::ChannelId channel;
        base::Hash256 id;
        base::crypto::PublicKey peer;
        std::size_t share = 0;  // Of kRecoveringOfPeer.
    };
    // Who answers for a transaction before its authorization was found good: nobody, an address
    // or a peer.
    using Sender = std::variant<std::monostate, std::string, base::crypto::PublicKey>;
    // Where a transaction that is to run comes from.
    struct Origin {
        Ticket ticket = 0;  // Who waits for the answer; 0: nobody.
        Sender sender{};
        bool was_taken = false;        // Somebody was told that it is good: its failure is news.
        chain::Pool::Place place = 0;  // In the pool, for the row of one that is answered.
    };
    struct Ran {
        bool waits = false;                  // This block does not take it; a later one may.
        std::optional<base::Error> failure;  // It has left the pool for this.
    };
    // Blocks that came with a proof of the last one.
    struct Range {
        transport::ChannelId channel;
        std::vector<chain::BlockPtr> blocks;
        p2p::RangeProof proof;
        bool is_begun = false;
        std::size_t spared = 0;  // The first so many are executed without their signatures.
        std::size_t next = 0;    // Of these.
    };
    // An effect::CheckStored under way.
    struct UncheckedCheck {
        Ticket ticket = 0;
        Stretch stretch;
        chain::BlockPtr copy;
        transport::ChannelId channel;  // Who sent the copy.
    };
    // What blocks of others have taken of one step, and old ones of the time.
    struct StepShare {
        int blocks = 0;
        base::Duration cost{};
        base::Timestamp old_until{};  // They have had the time up to here.
    };
    struct RunLimit {
        base::Duration time{};
        bool is_of_slot = false;  // Not what a transaction may take: what is left of the slot.
    };

    // --- After a start (core_open.cpp) ---
    [[nodiscard]] base::Result<void> restore_agreement();
    [[nodiscard]] base::Result<void> restore(const chain::BlockPtr& block);
    [[nodiscard]] base::Result<void> restore_locks();
    [[nodiscard]] base::Result<void> check_stored(const chain::Certificate& certificate,
                                                  chain::VoteKind kind) const;
    void check_lock(const chain::ExecutedBlock& block);
    [[nodiscard]] base::Result<void> load_pool(Effects& out);

    // --- Routing (core.cpp) ---
    void on_tick(Effects& out);
    void on_submit(const input::Submit& submit, Effects& out);
    void on_written(const input::Written& written, Effects& out);
    void feed(const consensus::Input& input, Effects& out);
    void route(consensus::Effects asked, Effects& out);
    void run_queue(Effects& out);
    void carry_out(const consensus::Effect& effect, Effects& out);
    void begin_persist(const consensus::effect::Persist& persist, Effects& out);
    void store_newest(const chain::Certificate& certificate, base::Batch& batch);
    void begin_write(effect::Write write, Effects& out);
    void mend_journals(const std::vector<consensus::KeyTag>& keys, Effects& out);
    void cast_vote(const consensus::effect::CastVote& vote, Effects& out);
    void begin_finalize(const consensus::effect::Finalize& finalize, Effects& out);
    void finish_finalize(Effects& out);
    void alarm(const consensus::effect::Alarm& alarm, Effects& out);

    // --- The clock (core_clock.cpp) ---
    // What it shows.
    [[nodiscard]] chain::TimePoint clock() const;
    // When a slot begins by it, in the time of step().
    [[nodiscard]] base::Timestamp begin_of(chain::Slot slot) const;
    void on_clock_set(const input::ClockSet& set, Effects& out);
    void say_clock(Effects& out);
    void say_clock_to_who_came(Effects& out);

    // --- The answer to a recovery (core_recovery.cpp) ---
    void on_answer_recovery(Effects& out);
    void answer_recovery(Effects& out);
    [[nodiscard]] base::Result<void> check_worth() const;
    [[nodiscard]] base::Result<genesis::Recovery> recovery_start() const;
    [[nodiscard]] base::Result<genesis::Recovery> make_answer() const;

    // --- What peers say (core_peers.cpp) ---
    void on_peers(const p2p::Effect& asked, Effects& out);
    void on_header(const p2p::effect::HeaderArrived& arrived, Effects& out);
    void on_block(const p2p::effect::BlockArrived& arrived, Effects& out);
    void on_transaction(const p2p::effect::TransactionArrived& arrived, Effects& out);
    void on_vote(const p2p::effect::VoteArrived& arrived, Effects& out);
    [[nodiscard]] bool is_past(chain::Slot slot) const;
    void on_certificate(const p2p::effect::CertificateArrived& arrived, Effects& out);
    // Of a certificate of what is proved.
    [[nodiscard]] base::Result<void> hear_others(ProvedCertificates::Entry& known,
                                                 const chain::Certificate& certificate,
                                                 Effects& out) const;
    // That consensus has made, or has checked.
    void note_proved(const chain::Certificate& certificate);
    void on_peer_ready(const p2p::effect::PeerReady& ready, Effects& out);
    void on_clock(const p2p::effect::ClockArrived& arrived, Effects& out);
    void on_read(const p2p::effect::ReadBlocks& wanted, Effects& out) const;
    // Why none of it is recovered now; empty: it may be.
    [[nodiscard]] std::string_view refusal_to_recover(const base::crypto::PublicKey& peer,
                                                      std::size_t signatures) const;
    [[nodiscard]] static std::size_t share_of(std::size_t signatures) {
        return 1 + (signatures - 1) * kFurtherSignature;
    }
    void on_recovered(const input::Recovered& recovered, Effects& out);
    [[nodiscard]] Recovering end_recovery(Ticket ticket);
    void take_transaction(const Recovering& from,
                          const chain::PooledTransaction& entry,
                          Effects& out);
    // With other signatures or another compression, which no signature covers. It may be false,
    // and not have been run yet: the other one is not known then.
    [[nodiscard]] bool waits_in_other_form(const chain::DecodedTransaction& transaction) const;
    void tell(p2p::Input said, Effects& out) const;
    void judge(p2p::input::Judged judged, Effects& out) const;
    void tell_ledger(Effects& out) const;
    void tell_registry(Effects& out);
    [[nodiscard]] base::Result<void> verify(const chain::Certificate& certificate,
                                            const chain::ScheduleState& schedules,
                                            Effects& out);
    [[nodiscard]] base::Result<void> verify_all(
        const std::vector<consensus::ToVerify>& certificates, Effects& out);
    void tell_votes(const chain::Certificate& certificate,
                    const chain::ScheduleState& schedules,
                    Effects& out) const;

    // --- Blocks of a sync that a proof binds (core_ranges.cpp) ---
    void on_range(const p2p::effect::RangeArrived& arrived, Effects& out);
    void work_off_ranges(Effects& out);
    bool begin_range(Effects& out);
    [[nodiscard]] std::size_t count_awaiting_disk() const;
    void end_range(Effects& out);
    [[nodiscard]] base::Result<void> vet(const Range& range, Effects& out);
    [[nodiscard]] base::Result<void> check_recovery(const Range& range) const;
    [[nodiscard]] bool goes_over_recovery(const chain::BlockId& tip) const;
    [[nodiscard]] BranchWalk::Rules walk_rules() const;
    [[nodiscard]] BranchWalk walk_to(const chain::BlockId& tip) const;
    bool adopt_spared(const chain::BlockPtr& block, Effects& out);
    [[nodiscard]] bool goes_on(const Range& range) const;
    // Held, or of no use any more.
    [[nodiscard]] bool is_here(const chain::Block& block) const;
    void stop_at(const chain::BlockHeader& header, const std::string& why, Effects& out);
    void conclude(const Range& range, p2p::Verdict verdict, const std::string& text, Effects& out);
    void note_stretches(chain::Height final_height, base::Batch& batch);
    void attend_unchecked(Effects& out);
    void on_stored_checked(const input::StoredChecked& checked, Effects& out);
    void settle_stretch(const UncheckedCheck& check,
                        const std::vector<WrongCopy>& wrong,
                        base::Batch& batch,
                        Effects& out);
    void settle_copy(const UncheckedCheck& check,
                     const std::vector<WrongCopy>& wrong,
                     base::Batch& batch,
                     Effects& out);
    void on_mended(const p2p::effect::MendArrived& arrived, Effects& out);
    // Executed, not final, and not checked.
    [[nodiscard]] bool is_spared(const chain::BlockId& id) const;

    // --- Blocks of others (core_blocks.cpp) ---
    // Executes what has come and can be executed, some blocks at a time.
    void work_off(Effects& out);
    bool work_off_some(Effects& out);
    // The first slot whose blocks may be voted for (R1).
    [[nodiscard]] chain::Slot recent_from() const;
    // False: it is not executed.
    bool try_adopt(const Arrivals::Key& key, Effects& out);
    void take_in(Arrival arrival, bool is_certified, Effects& out);
    [[nodiscard]] bool make_room(const chain::Block& block, Effects& out);
    void make_room_for_third(const chain::Block& block, transport::ChannelId from, Effects& out);
    bool certify(const Arrivals::Key& named, Effects& out);
    bool release(const Arrivals::Key& named, Effects& out);
    bool release_below(const chain::Block& block, Effects& out);
    bool certify_below(const chain::Witness& witness, Effects& out);
    // What a child of this header's parent is under.
    struct Below {
        chain::ScheduleState schedules;
        bool is_known = false;  // As Arrival::is_schedule_known.
    };
    [[nodiscard]] std::optional<Below> schedules_below(const chain::BlockHeader& child) const;
    // Whether an executed block made the proposal in these schedules of one that waits.
    [[nodiscard]] bool is_proposal_executed(const chain::ScheduleState& schedules,
                                            Arrivals::Key waiting) const;
    [[nodiscard]] const chain::ScheduleState* voters_of(const Arrival& arrival) const;
    // Of a block whose parent leads to these schedules: whose its slot is, whether the header
    // says so, and whether the owner has signed it.
    [[nodiscard]] const chain::ScheduleEntry& owner_of(chain::Slot slot,
                                                       const chain::ScheduleState& below) const;
    [[nodiscard]] std::string hint_at_recovery(const chain::BlockHeader& header,
                                               const chain::ScheduleState& below) const;
    [[nodiscard]] base::Result<void> check_owner(const chain::BlockHeader& header,
                                                 const chain::ScheduleState& below) const;
    [[nodiscard]] bool is_signed(const chain::Block& block,
                                 const chain::ScheduleState& below) const;
    [[nodiscard]] bool may_wait(const chain::BlockId& id, bool is_sync) const;
    void wait_for_clock(const Arrivals::Key& key, Effects& out);
    void adopt(const Arrival& arrival, Effects& out);
    void conclude(const Arrivals::Key& key,
                  p2p::Verdict verdict,
                  const std::string& text,
                  Effects& out);
    void refuse(const Arrivals::Key& key, const std::string& reason, Effects& out);

    // --- What this node says by itself (core_duties.cpp) ---
    [[nodiscard]] bool is_synced() const;
    // Evidence is kept on disk until it is on chain.
    void accuse(const chain::Evidence& evidence, Effects& out);
    void forget_settled(Effects& out);
    [[nodiscard]] base::Result<void> load_evidence();
    [[nodiscard]] base::Result<void> load_amnesia();
    void note_amnesia(const base::crypto::PublicKey& key, Effects& out);
    void attend_duties(Effects& out);
    void say(const Duties::Due& due, Effects& out);

    // --- Blocks of ours, the head and the pool (core_head.cpp) ---
    void make_block(const consensus::effect::Produce& produce, Effects& out);
    void accept(const chain::ExecutedBlockPtr& block, bool own, Effects& out);
    void follow_head(Effects& out);
    void leave_pool(const chain::ExecutedBlock& won, Effects& out);
    void return_to_pool(const std::vector<chain::ExecutedBlockPtr>& lost,
                        const std::vector<chain::ExecutedBlockPtr>& won,
                        Effects& out);
    void put_back(const chain::PooledTransaction& entry,
                  chain::Pool::Place place,
                  base::Batch& batch,
                  std::vector<chain::Pool::Evicted>& evicted);
    static void put_pool_row(chain::Pool::Place place,
                             const chain::DecodedTransaction& transaction,
                             base::Batch& batch);
    [[nodiscard]] std::vector<chain::PooledTransaction> body_of(
        const chain::ExecutedBlock& block) const;
    void show_head(Effects& out);
    [[nodiscard]] bool has_room() const;
    // What one branch has that the other has not, ascending.
    [[nodiscard]] std::vector<chain::ExecutedBlockPtr> beyond(const chain::BlockId& tip,
                                                              const chain::BlockId& other) const;
    bool begin_pending(const chain::BlockId& parent,
                       chain::Slot slot,
                       chain::Name producer,
                       bool empty,
                       Effects& out);
    [[nodiscard]] bool is_pending_stale() const;
    void begin_next(Effects& out);
    [[nodiscard]] chain::Slot next_slot() const;

    // --- Running new transactions by the clock (core_runs.cpp) ---
    Ran run(const chain::PooledTransaction& entry, const Origin& from, Effects& out);
    // Why it is not run at all: it was stopped before, or its payer has nothing left.
    [[nodiscard]] base::Result<void> admit(const chain::DecodedTransaction& transaction,
                                           const Sender& sender) const;
    void run_pool(Effects& out);
    void charge(const chain::PooledTransaction& entry, const Sender& sender, base::Duration took);
    [[nodiscard]] RunLimit limit_of(const chain::TransactionId& id) const;
    [[nodiscard]] bool is_own(const chain::BlockId& parent, chain::Name producer) const;
    void succeed(const chain::PooledTransaction& entry,
                 const Origin& from,
                 std::shared_ptr<const chain::TransactionTrace> trace,
                 Effects& out);
    void drop_failed(const chain::PooledTransaction& entry,
                     const Origin& from,
                     std::shared_ptr<const chain::TransactionTrace> trace,
                     Effects& out);
    void remember_stopped(const chain::PooledTransaction& entry,
                          const base::Error& reason,
                          Effects& out);
    void forget_stopped(Effects& out);
    [[nodiscard]] base::Result<void> load_stopped(Effects& out);

    void drop(const std::vector<chain::Pool::Evicted>& evicted, Effects& out);
    static void write_unsynced(base::Batch batch, Effects& out);
    static void answer(Ticket ticket, const base::Error& error, Effects& out);
    void publish(Effects& out) const;
    [[nodiscard]] std::shared_ptr<Published> make_view() const;
    void show_pending(Effects& out) const;

    Options options_;
    Environment environment_;
    std::unique_ptr<chain::ChainManager> chain_;
    const std::unique_ptr<consensus::Consensus> agreement_;
    consensus::Consensus& consensus_ = *agreement_;
    const std::vector<base::crypto::PublicKey> own_keys_;  // As consensus was told.
    chain::Pool pool_;
    std::unique_ptr<chain::PendingBlock> pending_;
    std::vector<chain::PooledTransaction> pending_body_;  // What is in it, in order.
    // In the pool, not answered yet.
    std::map<chain::TransactionId, Origin> waiting_;
    bool is_pending_ours_ = false;  // This node will make the block that is pending,
    bool is_pending_full_ = false;  // which takes nothing any more.
    // Stopped by the end of our slot: has the whole limit in our next block, where it is the first.
    std::optional<chain::TransactionId> first_;

    NoRunTimer no_timer_;
    RunTimer& timer_;
    base::Duration step_began_{};  // By the timer.
    StoppedTransactions stopped_;
    FailureBudget<chain::Name> failures_;
    FailureBudget<Sender> unauthorized_;  // Of who sent them.
    FailureBudget<Sender> in_vain_;       // For signatures of these but the first.

    std::deque<consensus::Effect> queue_;
    std::optional<effect::Write> barrier_;  // What must be durable before `queue_` goes on.
    std::optional<effect::Write> failed_write_;
    std::optional<Finalizing> finalizing_;
    chain::Slot stored_notarize_slot_ = 0;  // Of the newest NOTARIZE certificate on disk.
    Ticket next_ticket_ = 1;
    base::Timestamp retry_at_{};
    base::Timestamp now_{};
    base::Duration clock_ahead_{};  // The clock, before `now_`.
    // Of what is said of it.
    base::Timestamp say_clock_at_{};
    base::Timestamp said_to_who_came_at_{};
    std::uint64_t clock_life_ = 1;
    std::uint64_t clock_number_ = 0;
    std::string trouble_;
    bool is_write_trouble_ = false;  // That goes with the next write that succeeds.
    std::uint64_t executed_ = 0;     // effect::Pending so far,
    std::map<chain::BlockId, std::uint64_t> closed_;  // when a block not shown yet was closed,
    std::uint64_t executed_closed_ = 0;               // and when the head's block was closed.

    std::shared_ptr<const base::Result<genesis::Recovery>> answer_;  // As published.
    Duties duties_;
    Arrivals arrivals_;
    StepShare share_;
    std::deque<Range> ranges_;
    std::deque<Unchecked::Entry> stretches_;  // Of ranges that are not on their way to the disk.
    std::set<chain::BlockId> proved_;  // Of the last range, what is checked as any other block.
    Unchecked unchecked_;
    std::optional<UncheckedCheck> unchecked_check_;
    base::Timestamp ask_mended_at_{};
    std::map<Ticket, Recovering> recovering_;
    std::map<base::crypto::PublicKey, std::size_t> recovering_of_;  // The shares.
    std::set<base::Hash256> verified_;  // Certificates, each with the schedules that it is under.
    std::deque<base::Hash256> verified_order_;
    ProvedCertificates proved_certificates_;

    chain::BlockId pool_head_;   // Whose branch the pool has nothing of.
    chain::BlockId shown_head_;  // What is published as head.
    // Blocks of ours that are not announced: their records are not durable yet.
    std::set<chain::BlockId> unannounced_;
    // The transactions of held blocks, for when they lose.
    std::map<chain::BlockId, std::vector<chain::PooledTransaction>> bodies_;
    chain::Height earliest_height_ = 1;
    std::optional<chain::Registry> registry_;  // As peers were told last.
    // What was published as final: not before it is durable.
    chain::BlockPtr shown_final_;
    std::optional<chain::Certificate> shown_certificate_;
    std::shared_ptr<const chain::StateView> shown_final_state_;
};

}  // namespace node
