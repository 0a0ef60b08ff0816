#include "base/check.hpp"
#include "node/core/core_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// New transactions run here by the wall clock: it limits what they may take of this node. What the
// failing ones took counts by processor time: a busy machine is nobody's fault. Nothing of it is
// consensus (spec 03).

namespace node {

namespace {

// How late after the start of its slot a block may still be made: as consensus/production.cpp.
constexpr int kLatestShare = 4;

// A transaction that failed only because this block is full may go into the next one.
bool is_block_full(const chain::TraceException& except) {
    return except.code == chain::Exception::block_cpu_usage_exceeded ||
           except.code == chain::Exception::block_net_usage_exceeded;
}

// Waiting for the disk takes no processor time, but the price of a read counts it.
base::Duration billed(const chain::TransactionTrace& trace) {
    return std::chrono::microseconds(trace.elapsed);
}

base::Error over_budget(const std::string& who,
                        std::chrono::milliseconds allowance,
                        base::Duration wait) {
    return chain::make_error(
        chain::Exception::tx_cpu_usage_exceeded,
        fmt::format("{} has used up the {} ms a minute of processor time that this node gives to "
                    "failing transactions (subjective-failure-ms-per-minute): send again in {} s; "
                    "a dry run (compute_transaction, 'bor-cli push action --dry-run') says why one "
                    "fails, and takes nothing of it",
                    who,
                    allowance.count(),
                    std::chrono::ceil<std::chrono::seconds>(wait).count()));
}

}  // namespace

base::Result<void> Core::Impl::admit(const chain::DecodedTransaction& transaction,
                                     const Sender& sender) const {
    if (const base::Error* reason = stopped_.find(transaction.id)) return base::fail(*reason);
    const chain::Name payer = transaction.content.first_authorizer();
    const auto allowance = options_.failures_per_minute;
    if (const auto wait = failures_.wait_of(payer, now_); wait > base::Duration{}) {
        return base::fail(over_budget("account " + payer.to_string(), allowance, wait));
    }
    if (const auto wait = unauthorized_.wait_of(sender, now_); wait > base::Duration{}) {
        return base::fail(over_budget("sender", allowance, wait));
    }
    return {};
}

// What the pool holds runs again, in its order. What our last slot was too short for is the first
// by then, but where the block in which it was cut off was not made: it may build on what runs
// before it, and may be cut off again.
void Core::Impl::run_pool(Effects& out) {
    std::vector<chain::PooledTransaction> entries;
    for (const chain::PooledTransaction* entry : pool_.in_order()) {
        entries.push_back(*entry);
    }
    const bool is_first = !entries.empty() && first_ == entries.front().transaction->id;
    if (is_pending_ours_ && !is_first) first_.reset();
    for (const chain::PooledTransaction& entry : entries) {
        const auto waiting = waiting_.find(entry.transaction->id);
        const Origin from = waiting == waiting_.end() ? Origin{.was_taken = true} : waiting->second;
        if (run(entry, from, out).waits) {
            // Nor does anything new overtake what waits.
            is_pending_full_ = true;
            break;
        }
        waiting_.erase(entry.transaction->id);
    }
}

Core::Impl::Ran Core::Impl::run(const chain::PooledTransaction& entry,
                                const Origin& from,
                                Effects& out) {
    if (is_pending_full_) return {.waits = true, .failure = {}};
    const chain::TransactionId id = entry.transaction->id;
    const RunLimit limit = limit_of(id);
    const base::Duration began = timer_.worked();
    timer_.arm(limit.time);
    auto trace =
        std::make_shared<chain::TransactionTrace>(pending_->push(entry, environment_.limits));
    const bool was_stopped = timer_.has_fired();
    timer_.disarm();
    if (!trace->except) {
        succeed(entry, from, std::move(trace), out);
        return {};
    }
    const base::Duration took = timer_.worked() - began;
    if (is_block_full(*trace->except) && !pending_->receipts().empty()) {
        // To try each of many with what little is left would take time that nobody is billed.
        is_pending_full_ = trace->except->code == chain::Exception::block_cpu_usage_exceeded;
        return {.waits = true, .failure = {}};
    }
    charge(entry, from.sender, std::max<base::Duration>(took, billed(*trace)));
    if (limit.is_of_slot && was_stopped && pending_->facts().is_over_limit) {
        first_ = id;
        is_pending_full_ = true;
        return {.waits = true, .failure = {}};
    }
    base::Error reason = trace->except->to_error();
    drop_failed(entry, from, std::move(trace), out);
    return {.waits = false, .failure = std::move(reason)};
}

// The time of what failed or was stopped counts against whoever is answerable for it. That of its
// signatures but the first counts apart: a peer also passes on what another sent it, and must not
// run out of its budget for all others by that.
void Core::Impl::charge(const chain::PooledTransaction& entry,
                        const Sender& sender,
                        base::Duration took) {
    if (pending_->facts().is_authorized) {
        failures_.charge(entry.transaction->content.first_authorizer(), took, now_);
    } else if (!std::holds_alternative<std::monostate>(sender)) {
        const std::size_t more = std::max<std::size_t>(1, entry.keys.size()) - 1;
        unauthorized_.charge(sender, took, now_);
        if (more > 0) in_vain_.charge(sender, kRecoveryTime * more, now_);
    }
}

// Our own block waits for nobody: what is left of the time until it is made is a limit too. Once
// that has passed, nobody waits.
Core::Impl::RunLimit Core::Impl::limit_of(const chain::TransactionId& id) const {
    const base::Duration whole = options_.max_transaction_time > base::Duration{}
                                     ? options_.max_transaction_time
                                     : base::Duration::max();
    if (!is_pending_ours_ || first_ == id) return {whole, false};
    const chain::SlotTimes& times = chain_->identity().times;
    const base::Timestamp start = begin_of(pending_->context().slot);
    const base::Duration interval = std::chrono::milliseconds(times.interval_milliseconds);
    const base::Timestamp latest = start + interval / kLatestShare;
    const base::Timestamp now = now_ + (timer_.reading() - step_began_);
    if (now >= latest) return {whole, false};
    const base::Duration left = (now < start ? start : latest) - now;
    return left < whole ? RunLimit{left, true} : RunLimit{whole, false};
}

bool Core::Impl::is_own(const chain::BlockId& parent, chain::Name producer) const {
    if (!options_.produce || consensus_.paused()) return false;
    const auto schedules = chain_->schedules_below(parent);
    if (!schedules) return false;
    const auto entry = schedules->active->find_producer(producer);
    return entry && std::ranges::find(own_keys_, schedules->active->entries[*entry].signing_key) !=
                        own_keys_.end();
}

void Core::Impl::succeed(const chain::PooledTransaction& entry,
                         const Origin& from,
                         std::shared_ptr<const chain::TransactionTrace> trace,
                         Effects& out) {
    pending_body_.push_back(entry);
    // First told of, then answered: who is answered can ask for it.
    ++executed_;
    out.push_back(effect::Pending{entry.transaction, trace});
    if (from.ticket == 0) return;
    base::Batch batch;
    put_pool_row(from.place, *entry.transaction, batch);
    write_unsynced(std::move(batch), out);
    out.push_back(effect::Answer{from.ticket, std::move(trace), nullptr});
}

void Core::Impl::drop_failed(const chain::PooledTransaction& entry,
                             const Origin& from,
                             std::shared_ptr<const chain::TransactionTrace> trace,
                             Effects& out) {
    const base::Error reason = trace->except->to_error();
    pool_.remove(entry.transaction->id);
    const chain::RunFacts& facts = pending_->facts();
    // Before that anybody could have sent it, in the name of any account.
    const bool is_stopped = facts.is_authorized && facts.is_over_limit;
    if (is_stopped) remember_stopped(entry, reason, out);
    if (from.ticket != 0) {
        out.push_back(effect::Answer{from.ticket, base::fail(reason), std::move(trace)});
    }
    // If it was answered before, what was promised then no longer holds: say so.
    const bool is_news = is_stopped || from.was_taken;
    if (!is_news) return;
    base::Batch batch;
    batch.erase(base::Family::pool, base::to_bytes(entry.transaction->id.view()));
    write_unsynced(std::move(batch), out);
    out.push_back(
        effect::Dropped{entry.transaction->id, entry.transaction->content.expiration, reason});
}

void Core::Impl::remember_stopped(const chain::PooledTransaction& entry,
                                  const base::Error& reason,
                                  Effects& out) {
    environment_.log.info("transaction {} of {} is not executed again: {}",
                          base::to_hex(entry.transaction->id.bytes),
                          entry.transaction->content.first_authorizer().to_string(),
                          reason.detail);
    base::Batch batch;
    stopped_.add({entry.transaction->id, entry.transaction->content.expiration, reason}, batch);
    write_unsynced(std::move(batch), out);
}

void Core::Impl::forget_stopped(Effects& out) {
    base::Batch batch;
    stopped_.expire(clock(), batch);
    if (!batch.changes.empty()) write_unsynced(std::move(batch), out);
}

// Who asks for one of them after a restart is told that it failed, and why.
base::Result<void> Core::Impl::load_stopped(Effects& out) {
    auto loaded = stopped_.load(environment_.storage);
    if (!loaded) return base::fail(std::move(loaded).error());
    for (const StoppedTransactions::Entry& entry : *loaded) {
        out.push_back(effect::Dropped{entry.id, entry.expiration, entry.reason});
    }
    return {};
}

}  // namespace node
