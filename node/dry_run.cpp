#include "node/dry_run.hpp"

#include <utility>

namespace node {

base::Result<void> DryRun::run(Job job, Done done) {
    if (waiting_ >= options_.queue_max) {
        return base::fail(base::Errc::would_block,
                          "too many dry runs are waiting; send again later");
    }
    ++waiting_;
    worker_.post([this, job = std::move(job), done = std::move(done)] {
        --waiting_;
        done(execute(job));
    });
    return {};
}

// As the first transaction of the block after the head.
base::Result<chain::TransactionTrace> DryRun::execute(const Job& job) {
    const chain::BlockHeader& head = job.view->head->header;
    chain::BlockContext block;
    block.height = head.height + 1;
    block.slot = head.slot + 1;
    block.time = options_.times.time_of(block.slot);
    block.producer = head.producer;
    block.previous = job.view->head->id;
    block.parent_slot = head.slot;
    block.parent_final = head.finalized.id;
    block.chain_id = options_.chain_id;
    block.interval_milliseconds = options_.times.interval_milliseconds;
    chain::StateDelta delta(job.view->pending_state);
    if (auto begun = executor_.begin_block(delta, block); !begun) return base::fail(begun.error());
    const auto end = std::chrono::steady_clock::now() + job.time_max;
    chain::ExecutionOptions how;
    how.read_only = job.read_only;
    how.dry_run = !job.read_only;
    how.skip_authorization = job.read_only;
    how.deadline_reached = [end] { return std::chrono::steady_clock::now() >= end; };
    return executor_.execute({*job.transaction, {}}, delta, block, how).trace;
}

}  // namespace node
