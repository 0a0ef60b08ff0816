#pragma once

#include "node/core/core.hpp"

namespace node {

// How long after a failed write it is tried again.
inline constexpr base::Duration kRetryAfter = std::chrono::seconds(1);
// Blocks that may wait for the disk before production pauses.
inline constexpr std::size_t kReversibleMax = 64;

// The working part of Core; see there.
//
// Invariant: while `barrier_` stands, nothing of `queue_` is carried out.
class Core::Impl {
  public:
    Impl(const Options& options,
         const Environment& environment,
         std::unique_ptr<chain::ChainManager> chain,
         consensus::Consensus consensus);

    // Tells consensus of what was stored, loads the pool and publishes the first view.
    [[nodiscard]] base::Result<void> start(Effects& out);
    void step(base::Timestamp now, const Input& input, Effects& out);

  private:
    struct Finalizing {
        std::vector<chain::ExecutedBlockPtr> blocks;
        chain::Certificate certificate;
    };

    void on_tick(Effects& out);
    void on_submit(const input::Submit& submit, Effects& out);
    void on_written(const input::Written& written, Effects& out);

    void route(consensus::Effects asked, Effects& out);
    void run_queue(Effects& out);
    void begin_persist(const consensus::effect::Persist& persist, Effects& out);
    void begin_write(effect::Write write, Effects& out);
    [[nodiscard]] base::Result<void> mend_journal(Effects& out);
    void tell_alarm(const consensus::effect::Alarm& alarm) const;
    void cast_vote(const consensus::effect::CastVote& vote, Effects& out);
    void begin_finalize(const chain::Certificate& certificate, Effects& out);
    void finish_finalize(Effects& out);

    void make_block(const consensus::effect::Produce& produce, Effects& out);
    void accept(const chain::ExecutedBlockPtr& block, bool own, Effects& out);
    void show(const chain::BlockId& id, Effects& out);
    bool begin_pending(const chain::BlockId& parent,
                       chain::Slot slot,
                       chain::Name producer,
                       Effects& out);
    bool run(const chain::PooledTransaction& entry, Ticket ticket, Effects& out);
    [[nodiscard]] chain::Slot next_slot() const;
    [[nodiscard]] chain::Name producer_of(chain::Slot slot) const;

    void drop(const std::vector<chain::Pool::Evicted>& evicted, Effects& out);
    static void write_unsynced(base::Batch batch, Effects& out);
    static void answer(Ticket ticket, const base::Error& error, Effects& out);
    void publish(Effects& out) const;
    [[nodiscard]] std::shared_ptr<Published> make_view() const;
    void show_pending(Effects& out) const;
    [[nodiscard]] base::Result<void> load_pool(Effects& out);

    Options options_;
    Environment environment_;
    std::unique_ptr<chain::ChainManager> chain_;
    consensus::Consensus consensus_;
    chain::Pool pool_;
    std::unique_ptr<chain::PendingBlock> pending_;
    std::map<chain::TransactionId, Ticket> waiting_;  // In the pool, not answered yet.

    std::deque<consensus::Effect> queue_;
    std::optional<effect::Write> barrier_;  // What must be durable before `queue_` goes on.
    std::optional<effect::Write> failed_write_;
    std::optional<Finalizing> finalizing_;
    Ticket next_ticket_ = 1;
    base::Timestamp retry_at_{};
    base::Timestamp now_{};
    std::string trouble_;
    std::uint64_t executed_ = 0;                      // effect::Pending so far,
    std::map<chain::BlockId, std::uint64_t> closed_;  // when a block not shown yet was closed,
    std::uint64_t executed_closed_ = 0;               // and when the head's block was closed.

    chain::BlockId shown_head_;  // What is published as head.
    // What was published as final: not before it is durable.
    chain::BlockPtr shown_final_;
    std::optional<chain::Certificate> shown_certificate_;
    std::shared_ptr<const chain::StateView> shown_final_state_;
};

}  // namespace node
