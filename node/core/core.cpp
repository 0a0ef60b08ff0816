#include "base/check.hpp"
#include "node/core/core_impl.hpp"

#include <algorithm>
#include <utility>

namespace node {

namespace {

// A transaction that failed only because this block is full may go into the next one.
bool is_block_full(const chain::TraceException& except) {
    return except.code == chain::Exception::block_cpu_usage_exceeded ||
           except.code == chain::Exception::block_net_usage_exceeded;
}

}  // namespace

Core::Core(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Core::~Core() = default;

void Core::step(base::Timestamp now, const Input& input, Effects& out) {
    impl_->step(now, input, out);
}

void Core::Impl::step(base::Timestamp now, const Input& input, Effects& out) {
    CHECK(now >= now_);
    now_ = now;
    if (std::holds_alternative<input::Tick>(input)) {
        on_tick(out);
    } else if (const auto* submit = std::get_if<input::Submit>(&input)) {
        on_submit(*submit, out);
    } else if (const auto* written = std::get_if<input::Written>(&input)) {
        on_written(*written, out);
    } else if (const auto* paused = std::get_if<input::SetPaused>(&input)) {
        consensus_.set_paused(paused->paused);
        publish(out);
    } else {
        show_pending(out);
    }
}

void Core::Impl::on_tick(Effects& out) {
    std::vector<chain::Pool::Evicted> expired;
    pool_.expire(chain::TimePoint::from_timestamp(now_), expired);
    drop(expired, out);
    if (failed_write_ && now_ >= retry_at_) {
        // The barrier stands: the same write again, until the disk takes it.
        out.push_back(*failed_write_);
        failed_write_.reset();
    }
    consensus::Effects asked;
    consensus_.step(now_, consensus::input::Tick{}, asked);
    route(std::move(asked), out);
    if (pending_ == nullptr && trouble_.empty()) {
        const chain::Slot slot = next_slot();
        begin_pending(consensus_.head(), slot, producer_of(slot), out);
    }
    if (failed_write_) out.push_back(effect::WakeAt{retry_at_});
}

void Core::Impl::on_submit(const input::Submit& submit, Effects& out) {
    if (!trouble_.empty()) {
        answer(submit.ticket,
               base::Error{base::Errc::unavailable, "no transactions are taken: " + trouble_},
               out);
        return;
    }
    std::vector<chain::Pool::Evicted> evicted;
    auto added = pool_.add({submit.transaction, submit.keys}, evicted);
    drop(evicted, out);
    if (!added) {
        answer(submit.ticket, added.error(), out);
        return;
    }
    if (pending_ == nullptr) {
        waiting_.emplace(submit.transaction->id, submit.ticket);
        return;
    }
    if (run({submit.transaction, submit.keys}, submit.ticket, out)) return;
    waiting_.emplace(submit.transaction->id, submit.ticket);
}

// False: the block is full; the transaction stays in the pool for the next one.
bool Core::Impl::run(const chain::PooledTransaction& entry, Ticket ticket, Effects& out) {
    auto trace =
        std::make_shared<chain::TransactionTrace>(pending_->push(entry, environment_.limits));
    const chain::TransactionId id = entry.transaction->id;
    if (trace->except && is_block_full(*trace->except) && !pending_->receipts().empty()) {
        return false;
    }
    if (trace->except) {
        const base::Error reason = trace->except->to_error();
        pool_.remove(id);
        if (ticket == 0) {
            // It was answered before: what was promised then no longer holds, so say so.
            drop({{entry.transaction, reason}}, out);
            return true;
        }
        out.push_back(effect::Answer{ticket, base::fail(reason), std::move(trace)});
        return true;
    }
    // First told of, then answered: who is answered can ask for it.
    ++executed_;
    out.push_back(effect::Pending{entry.transaction, trace});
    if (ticket == 0) return true;
    base::Batch batch;
    batch.put(
        base::Family::pool, base::to_bytes(id.view()), chain::pack(entry.transaction->packed));
    write_unsynced(std::move(batch), out);
    out.push_back(effect::Answer{ticket, std::move(trace), nullptr});
    return true;
}

void Core::Impl::on_written(const input::Written& written, Effects& out) {
    CHECK(barrier_ && barrier_->ticket == written.ticket);
    if (!written.outcome) {
        const std::string reason = written.outcome.error().detail;
        if (trouble_.empty()) environment_.log.error("stopped: {}", reason);
        trouble_ = reason;
        failed_write_ = *barrier_;
        // A page is never written twice to one place; the log takes care of where it goes.
        retry_at_ = now_ + kRetryAfter;
        out.push_back(effect::WakeAt{retry_at_});
        publish(out);
        return;
    }
    if (!trouble_.empty()) {
        environment_.log.info("goes on: the disk takes writes again");
        trouble_.clear();
    }
    barrier_.reset();
    if (finalizing_) finish_finalize(out);
    run_queue(out);
}

void Core::Impl::route(consensus::Effects asked, Effects& out) {
    for (consensus::Effect& effect : asked) {
        if (const auto* wake = std::get_if<consensus::effect::WakeAt>(&effect)) {
            out.push_back(effect::WakeAt{wake->time});
        } else if (const auto* produce = std::get_if<consensus::effect::Produce>(&effect)) {
            make_block(*produce, out);
        } else {
            queue_.push_back(std::move(effect));
        }
    }
    run_queue(out);
}

// Carries out what consensus asked for, in its order, up to the next barrier.
void Core::Impl::run_queue(Effects& out) {
    while (!queue_.empty() && !barrier_) {
        const consensus::Effect effect = std::move(queue_.front());
        queue_.pop_front();
        if (const auto* persist = std::get_if<consensus::effect::Persist>(&effect)) {
            begin_persist(*persist, out);
        } else if (const auto* vote = std::get_if<consensus::effect::CastVote>(&effect)) {
            cast_vote(*vote, out);
        } else if (const auto* final = std::get_if<consensus::effect::Finalize>(&effect)) {
            begin_finalize(final->certificate, out);
        } else if (const auto* announce = std::get_if<consensus::effect::Announce>(&effect)) {
            show(announce->block, out);
        } else if (const auto* alarm = std::get_if<consensus::effect::Alarm>(&effect)) {
            tell_alarm(*alarm);
        }
        // PassOn and Accuse are for peers, of which a node alone has none.
    }
}

void Core::Impl::begin_persist(const consensus::effect::Persist& persist, Effects& out) {
    effect::Write write;
    write.journal_page = persist.journal_page;
    if (persist.block) {
        // A block that became final meanwhile is stored with its finality.
        if (const auto block = chain_->find(*persist.block)) chain_->store(*block, write.batch);
    }
    if (persist.certificate) chain_->store(*persist.certificate, write.batch);
    if (!persist.journal_page.empty()) {
        chain_->store_journal_sequence(persist.journal_sequence, write.batch);
        write.compact_journal = persist.replace_journal;
    }
    if (write.batch.changes.empty() && write.journal_page.empty()) return;
    if (persist.wait) {
        begin_write(std::move(write), out);
    } else {
        out.push_back(std::move(write));  // In order, before what a later barrier waits for.
    }
}

void Core::Impl::tell_alarm(const consensus::effect::Alarm& alarm) const {
    using Kind = consensus::effect::Alarm::Kind;
    const std::string key = alarm.key.to_string();
    switch (alarm.kind) {
        case Kind::twin_key:
            environment_.log.error("key {} is used by another machine: it signs nothing here", key);
            break;
        case Kind::journal_lost:
            environment_.log.error(
                "the safety journal of key {} is lost: it votes again once a new block is final",
                key);
            break;
        case Kind::votes_again:
            environment_.log.info("key {} votes again", key);
            break;
    }
}

void Core::Impl::begin_write(effect::Write write, Effects& out) {
    write.ticket = next_ticket_++;
    barrier_ = write;
    out.push_back(std::move(write));
}

void Core::Impl::cast_vote(const consensus::effect::CastVote& vote, Effects& out) {
    const base::Hash256 digest = vote.data.digest(chain_->identity().chain_id);
    auto signature = environment_.signer.sign(vote.key, digest);
    if (!signature) {
        environment_.log.error("no vote for block {} height {}: {}",
                               base::to_hex(vote.data.block_id.bytes),
                               vote.data.height,
                               signature.error().detail);
        return;
    }
    consensus::Effects asked;
    consensus_.step(
        now_, consensus::input::VoteReceived{{vote.data, vote.key, *std::move(signature)}}, asked);
    route(std::move(asked), out);
}

void Core::Impl::begin_finalize(const chain::Certificate& certificate, Effects& out) {
    effect::Write write;
    auto became = chain_->finalize(certificate, write.batch);
    write.final_state = std::move(became.state);
    finalizing_ = Finalizing{std::move(became.blocks), certificate};
    begin_write(std::move(write), out);
}

// Only now, with everything durable, may anybody be told that the blocks are final.
void Core::Impl::finish_finalize(Effects& out) {
    const Finalizing done = *std::exchange(finalizing_, std::nullopt);
    shown_final_ = done.blocks.back()->block;
    shown_certificate_ = done.certificate;
    if (auto moved = chain_->committed(); !moved) {
        trouble_ = moved.error().detail;
        environment_.log.error("stopped: {}", trouble_);
    }
    shown_final_state_ = chain_->shared_state_of(shown_final_->id);
    publish(out);
    for (const chain::ExecutedBlockPtr& block : done.blocks) {
        const bool own = block->block->id == done.certificate.data.block_id;
        out.push_back(
            effect::Finalized{block, own ? std::optional(done.certificate) : std::nullopt});
    }
    consensus::Effects asked;
    consensus_.step(now_, consensus::input::FinalDurable{done.certificate.data.slot}, asked);
    route(std::move(asked), out);
}

void Core::Impl::make_block(const consensus::effect::Produce& produce, Effects& out) {
    if (!options_.produce || !trouble_.empty()) return;
    if (chain_->branch(consensus_.head()).size() >= kReversibleMax) {
        environment_.log.warn(
            "slot {} is left empty: {} blocks wait for the disk", produce.slot, kReversibleMax);
        return;
    }
    if (pending_ == nullptr || pending_->parent() != produce.parent ||
        pending_->context().slot != produce.slot ||
        pending_->context().producer != produce.producer.producer) {
        if (!begin_pending(produce.parent, produce.slot, produce.producer.producer, out)) return;
    }
    auto header = pending_->close({produce.justify, produce.finalized});
    if (!header) {
        environment_.log.error("no block in slot {}: {}", produce.slot, header.error().detail);
        pending_.reset();
        return;
    }
    const chain::BlockId id = header->id();
    auto signature = environment_.signer.sign(produce.producer.signing_key, id);
    if (!signature) {
        environment_.log.error("no block in slot {}: {}", produce.slot, signature.error().detail);
        pending_.reset();
        return;
    }
    const chain::BlockPtr block = chain::make_block({*header, *std::move(signature)},
                                                    pending_->receipts(),
                                                    {produce.justify, produce.finalized});
    const chain::ExecutedBlockPtr executed = chain_->adopt(block, pending_->take(id));
    closed_[id] = executed_;
    pending_.reset();
    accept(executed, /*own=*/true, out);
}

void Core::Impl::accept(const chain::ExecutedBlockPtr& block, bool own, Effects& out) {
    for (const chain::TransactionTrace& trace : block->traces) {
        pool_.remove(trace.id);
    }
    consensus::Effects asked;
    consensus_.step(now_, consensus::input::BlockAdopted{block->block, own}, asked);
    // A block of ours is shown when it is announced: not before its record is durable, for its
    // signature must not be seen if the slot could be signed again after a crash.
    if (!own && consensus_.head() == block->block->id) show(block->block->id, out);
    route(std::move(asked), out);
    const chain::Slot next = next_slot();
    begin_pending(consensus_.head(), next, producer_of(next), out);
}

void Core::Impl::show(const chain::BlockId& id, Effects& out) {
    const chain::ExecutedBlockPtr block = chain_->find(id);
    if (block == nullptr) return;  // Lost to another branch meanwhile.
    shown_head_ = id;
    if (const auto closed = closed_.find(id); closed != closed_.end()) {
        executed_closed_ = closed->second;
        closed_.erase(closed);
    }
    out.push_back(effect::Accepted{block});
    publish(out);
}

// The slot that a block begun now will most likely have: after the clock's and after the head's.
chain::Slot Core::Impl::next_slot() const {
    const chain::ExecutedBlockPtr head = chain_->find(consensus_.head());
    const chain::Slot head_slot =
        head == nullptr ? chain_->finalized()->header.slot : head->block->header.slot;
    const chain::Slot clock_slot =
        chain_->identity().times.slot_at(chain::TimePoint::from_timestamp(now_));
    return std::max(head_slot, clock_slot) + 1;
}

// False: no block can be begun on this parent; the log says why.
bool Core::Impl::begin_pending(const chain::BlockId& parent,
                               chain::Slot slot,
                               chain::Name producer,
                               Effects& out) {
    pending_.reset();
    auto begun = chain_->begin(parent, slot, producer);
    if (!begun) {
        trouble_ = begun.error().detail;
        environment_.log.error(
            "cannot build on block {}: {}", base::to_hex(parent.bytes), trouble_);
        return false;
    }
    pending_ = *std::move(begun);
    // What the pool holds runs again, in the order in which it came.
    std::vector<chain::PooledTransaction> entries;
    for (const chain::PooledTransaction* entry : pool_.in_order()) {
        entries.push_back(*entry);
    }
    for (const chain::PooledTransaction& entry : entries) {
        const auto waiting = waiting_.find(entry.transaction->id);
        const Ticket ticket = waiting == waiting_.end() ? 0 : waiting->second;
        if (!run(entry, ticket, out)) break;
        if (waiting != waiting_.end()) waiting_.erase(waiting);
    }
    return true;
}

chain::Name Core::Impl::producer_of(chain::Slot slot) const {
    return consensus_.producer_at(slot).producer;
}

void Core::Impl::drop(const std::vector<chain::Pool::Evicted>& evicted, Effects& out) {
    if (evicted.empty()) return;
    base::Batch batch;
    for (const chain::Pool::Evicted& entry : evicted) {
        const chain::TransactionId& id = entry.transaction->id;
        batch.erase(base::Family::pool, base::to_bytes(id.view()));
        if (const auto waiting = waiting_.find(id); waiting != waiting_.end()) {
            answer(waiting->second, entry.reason, out);
            waiting_.erase(waiting);
            continue;
        }
        out.push_back(effect::Dropped{id, entry.transaction->content.expiration, entry.reason});
    }
    write_unsynced(std::move(batch), out);
}

// Nobody waits for it and nothing depends on it: after a crash it is as if it had not happened.
void Core::Impl::write_unsynced(base::Batch batch, Effects& out) {
    effect::Write write;
    write.batch = std::move(batch);
    out.push_back(std::move(write));
}

void Core::Impl::answer(Ticket ticket, const base::Error& error, Effects& out) {
    out.push_back(effect::Answer{ticket, base::fail(error), nullptr});
}

std::shared_ptr<Published> Core::Impl::make_view() const {
    auto view = std::make_shared<Published>();
    view->finalized = shown_final_;
    view->certificate = shown_certificate_;
    view->final_state = shown_final_state_;
    // Blocks that are final but not durably so are still shown as reversible.
    if (finalizing_) view->reversible = finalizing_->blocks;
    for (chain::ExecutedBlockPtr& block : chain_->branch(shown_head_)) {
        view->reversible.push_back(std::move(block));
    }
    view->head = view->reversible.empty() ? shown_final_ : view->reversible.back()->block;
    view->head_state = chain_->shared_state_of(shown_head_);
    view->pool_transactions = pool_.size();
    view->pool_bytes = pool_.bytes();
    view->paused = consensus_.paused();
    view->trouble = trouble_;
    view->pending_state = view->head_state;
    view->pending_count = executed_closed_;
    return view;
}

void Core::Impl::publish(Effects& out) const {
    out.push_back(effect::Publish{make_view()});
}

void Core::Impl::show_pending(Effects& out) const {
    auto view = make_view();
    // Nothing to copy: a block of ours that is not shown yet has it.
    const chain::BlockId& base = pending_ == nullptr ? shown_head_ : pending_->parent();
    auto below = chain_->shared_state_of(base);
    if (below != nullptr) {
        chain::LayeredView::Layers layers;
        if (pending_ != nullptr) layers.push_back(pending_->copy_changes());
        view->pending_state =
            std::make_shared<const chain::LayeredView>(std::move(layers), std::move(below));
        view->pending_count = executed_;
    }
    out.push_back(effect::Publish{std::move(view)});
}

}  // namespace node
