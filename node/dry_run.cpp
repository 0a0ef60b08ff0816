#include "node/dry_run.hpp"

#include "chain/execution/rows.hpp"

#include <utility>

namespace node {

base::Result<void> DryRun::run(Job job, Done done) {
    const std::string client = job.client;
    const bool is_taken = workers_.post(
        client, [this, job = std::move(job), done = std::move(done)](std::size_t thread) {
            done(execute(lanes_[thread], job));
        });
    if (is_taken) return {};
    return base::fail(base::Errc::would_block, "too many dry runs are waiting; send again later");
}

void DryRun::run_on(const std::string& client, std::function<void(chain::Executor&)> work) {
    static_cast<void>(workers_.post(client, [this, work = std::move(work)](std::size_t thread) {
        work(lanes_[thread].executor);
    }));
}

// As the first transaction of the block after the head.
base::Result<chain::TransactionTrace> DryRun::execute(const Lane& lane, const Job& job) {
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
    auto retimes = chain::load_retimes(*job.view->pending_state);
    if (!retimes) return base::fail(std::move(retimes).error());
    block.refers_from = retimes->refers_from;
    chain::StateDelta delta(job.view->pending_state);
    if (auto begun = lane.executor.begin_block(delta, block); !begun) {
        return base::fail(begun.error());
    }
    chain::ExecutionOptions how;
    how.read_only = job.read_only;
    how.dry_run = !job.read_only;
    how.skip_authorization = job.read_only;
    how.is_stopped = [&timer = lane.timer] { return timer.has_fired(); };
    lane.timer.arm(job.time_max);
    chain::TransactionTrace trace =
        lane.executor.execute({*job.transaction, {}}, delta, block, how).trace;
    lane.timer.disarm();
    return trace;
}

}  // namespace node
