#include "node/core/core_impl.hpp"

#include <algorithm>
#include <utility>

namespace node {

// NOLINTNEXTLINE(misc-no-recursion): as core.cpp says.
void Core::Impl::make_block(const consensus::effect::Produce& produce, Effects& out) {
    if (!options_.produce || !trouble_.empty() || !has_room()) return;
    const chain::Name producer = produce.producer.producer;
    const bool is_begun = pending_ != nullptr && pending_->parent() == produce.parent &&
                          pending_->context().slot == produce.slot &&
                          pending_->context().producer == producer && !produce.empty;
    if (!is_begun && !begin_pending(produce.parent, produce.slot, producer, produce.empty, out)) {
        return;
    }
    auto header = pending_->close({produce.justify, produce.finalized});
    if (!header) {
        environment_.log.error("no block in slot {}: {}", produce.slot, header.error().detail);
        pending_.reset();
        return;
    }
    const chain::BlockId id = header->id();
    auto signature = environment_.signer.sign_header(
        produce.producer.signing_key, *header, chain_->identity().chain_id);
    if (!signature) {
        environment_.log.error("no block in slot {}: {}", produce.slot, signature.error().detail);
        pending_.reset();
        return;
    }
    const chain::BlockPtr block = chain::make_block({*header, *std::move(signature)},
                                                    pending_->receipts(),
                                                    {produce.justify, produce.finalized});
    const chain::ExecutedBlockPtr executed = chain_->adopt(block, pending_->take(id));
    pending_.reset();
    bodies_[id] = std::move(pending_body_);
    closed_[id] = executed_;
    // It is shown when it is announced: not before its record is durable, for its signature must
    // not be seen if the slot could be signed again after a crash.
    unannounced_.insert(id);
    accept(executed, /*own=*/true, out);
}

// A validator alone makes everything final as fast as its disk: it waits for that.
bool Core::Impl::has_room() const {
    if (chain_->schedules_below(consensus_.head())->active->entries.size() > 1) return true;
    if (chain_->branch(consensus_.head()).size() < kReversibleAlone) return true;
    environment_.log.warn("a slot is left empty: {} blocks wait for the disk", kReversibleAlone);
    return false;
}

// NOLINTNEXTLINE(misc-no-recursion): as core.cpp says.
void Core::Impl::accept(const chain::ExecutedBlockPtr& block, bool own, Effects& out) {
    check_lock(*block);
    feed(consensus::input::BlockAdopted{block->block, own}, out);
    if (pending_ == nullptr && trouble_.empty()) begin_next(out);
}

// Where the agreement builds now: the pool and the block being made follow.
void Core::Impl::follow_head(Effects& out) {
    const chain::BlockId head = consensus_.head();
    if (head == pool_head_ || is_spared(head)) return;
    const auto lost = beyond(pool_head_, head);
    const auto won = beyond(head, pool_head_);
    if (!lost.empty()) {
        environment_.log.info(
            "head moves to another branch: {} blocks lost, {} won", lost.size(), won.size());
    }
    for (const chain::ExecutedBlockPtr& block : won) {
        leave_pool(*block, out);
    }
    if (!lost.empty()) return_to_pool(lost, won, out);
    pool_head_ = head;
    pending_.reset();
    show_head(out);
    if (trouble_.empty()) begin_next(out);
}

std::vector<chain::ExecutedBlockPtr> Core::Impl::beyond(const chain::BlockId& tip,
                                                        const chain::BlockId& other) const {
    std::vector<chain::ExecutedBlockPtr> mine = chain_->branch(tip);
    const std::vector<chain::ExecutedBlockPtr> theirs = chain_->branch(other);
    const auto parted = std::ranges::mismatch(mine, theirs);
    mine.erase(mine.begin(), parted.in1);
    return mine;
}

void Core::Impl::leave_pool(const chain::ExecutedBlock& won, Effects& out) {
    base::Batch batch;
    for (const chain::TransactionTrace& trace : won.traces) {
        pool_.remove(trace.id);
        stopped_.remove(trace.id, batch);
        const auto waiting = waiting_.find(trace.id);
        if (waiting == waiting_.end()) continue;
        // It was executed by somebody else first: that is what happened to it.
        out.push_back(effect::Answer{waiting->second.ticket,
                                     std::make_shared<const chain::TransactionTrace>(trace),
                                     nullptr});
        waiting_.erase(waiting);
    }
    if (!batch.changes.empty()) write_unsynced(std::move(batch), out);
}

// What lost blocks held comes before all that waits, which may build on it, in the order in which
// it was executed. Where not all of it fits, its first part stays.
void Core::Impl::return_to_pool(const std::vector<chain::ExecutedBlockPtr>& lost,
                                const std::vector<chain::ExecutedBlockPtr>& won,
                                Effects& out) {
    base::Batch batch;
    std::set<chain::TransactionId> executed;
    for (const chain::ExecutedBlockPtr& block : won) {
        for (const chain::TransactionTrace& trace : block->traces)
            executed.insert(trace.id);
    }
    std::vector<chain::PooledTransaction> entries;
    for (const chain::ExecutedBlockPtr& block : lost) {
        for (chain::PooledTransaction& entry : body_of(*block))
            entries.push_back(std::move(entry));
    }
    std::vector<chain::Pool::Evicted> evicted;
    chain::Pool::Place next = pool_.before_all(entries.size());
    for (const chain::PooledTransaction& entry : entries) {
        const chain::Pool::Place place = next++;
        if (executed.contains(entry.transaction->id)) {
            // What is put back may build on it: should its block lose, too, it runs before that.
            pool_.reserve(place);
            put_pool_row(place, *entry.transaction, batch);
        } else {
            put_back(entry, place, batch, evicted);
        }
    }
    // Before the rows of those that had to leave for others are erased.
    if (!batch.changes.empty()) write_unsynced(std::move(batch), out);
    drop(evicted, out);
}

void Core::Impl::put_back(const chain::PooledTransaction& entry,
                          chain::Pool::Place place,
                          base::Batch& batch,
                          std::vector<chain::Pool::Evicted>& evicted) {
    const chain::TransactionId& id = entry.transaction->id;
    // It may have come again, and wait for a block with room to find that it is a duplicate.
    pool_.remove(id);
    if (const auto again = waiting_.find(id); again != waiting_.end()) again->second.place = place;
    if (auto added = pool_.add_at(place, entry, evicted); !added) {
        evicted.push_back({entry.transaction, added.error()});
        return;
    }
    put_pool_row(place, *entry.transaction, batch);
}

void Core::Impl::put_pool_row(chain::Pool::Place place,
                              const chain::DecodedTransaction& transaction,
                              base::Batch& batch) {
    batch.put(base::Family::pool,
              base::to_bytes(transaction.id.view()),
              chain::encode_pool_row(place, transaction.packed));
}

// Blocks that were read from the disk have no keys: they are recovered when they are needed.
std::vector<chain::PooledTransaction> Core::Impl::body_of(const chain::ExecutedBlock& block) const {
    if (const auto kept = bodies_.find(block.block->id); kept != bodies_.end()) return kept->second;
    std::vector<chain::PooledTransaction> body;
    for (const chain::TransactionReceipt& receipt : block.block->transactions) {
        const auto* packed = std::get_if<chain::PackedTransaction>(&receipt.transaction);
        if (packed == nullptr) continue;
        auto entry = recover_keys(*packed, chain_->identity().chain_id);
        if (entry) body.push_back(*std::move(entry));
    }
    return body;
}

void Core::Impl::show_head(Effects& out) {
    const chain::BlockId head = consensus_.head();
    if (head == shown_head_ || unannounced_.contains(head)) return;
    const auto blocks = beyond(head, shown_head_);
    shown_head_ = head;
    for (const chain::ExecutedBlockPtr& block : blocks) {
        out.push_back(effect::Accepted{block});
    }
    if (const auto closed = closed_.find(head); closed != closed_.end()) {
        executed_closed_ = closed->second;
    }
    std::erase_if(closed_, [&](const auto& entry) { return !unannounced_.contains(entry.first); });
    publish(out);
    tell_ledger(out);
}

// The slot that a block begun now will most likely have: after the clock's and after the head's.
chain::Slot Core::Impl::next_slot() const {
    const chain::BlockHeader* head = chain_->find_header(consensus_.head());
    const chain::Slot head_slot = head == nullptr ? chain_->finalized()->header.slot : head->slot;
    const chain::Slot clock_slot = chain_->identity().times.slot_at(clock());
    return std::max(head_slot, clock_slot) + 1;
}

// Nobody makes blocks, or the clock was set: what is executed meanwhile must not be of a time long
// past, or far ahead.
bool Core::Impl::is_pending_stale() const {
    constexpr chain::Slot kStaleSlots = 8;
    if (pending_ == nullptr) return true;
    const chain::Slot slot = pending_->context().slot;
    return slot + kStaleSlots < next_slot() || next_slot() + kStaleSlots < slot;
}

void Core::Impl::begin_next(Effects& out) {
    const chain::Slot slot = next_slot();
    begin_pending(
        consensus_.head(), slot, consensus_.producer_at(slot).producer, /*empty=*/false, out);
}

// False: no block can be begun on this parent; the log says why.
bool Core::Impl::begin_pending(const chain::BlockId& parent,
                               chain::Slot slot,
                               chain::Name producer,
                               bool empty,
                               Effects& out) {
    pending_.reset();
    pending_body_.clear();
    auto begun = chain_->begin(parent, slot, producer);
    if (!begun) {
        trouble_ = begun.error().detail;
        environment_.log.error(
            "cannot build on block {}: {}", base::to_hex(parent.bytes), trouble_);
        return false;
    }
    pending_ = *std::move(begun);
    is_pending_ours_ = is_own(parent, producer);
    is_pending_full_ = false;
    if (empty) return true;
    run_pool(out);
    return true;
}

void Core::Impl::drop(const std::vector<chain::Pool::Evicted>& evicted, Effects& out) {
    if (evicted.empty()) return;
    base::Batch batch;
    for (const chain::Pool::Evicted& entry : evicted) {
        const chain::TransactionId& id = entry.transaction->id;
        batch.erase(base::Family::pool, base::to_bytes(id.view()));
        if (const auto waiting = waiting_.find(id); waiting != waiting_.end()) {
            answer(waiting->second.ticket, entry.reason, out);
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
    view->unchecked_to =
        stretches_.empty() ? unchecked_.checked_from() - 1 : stretches_.back().stretch.to;
    view->unchecked_blocks = unchecked_.blocks();
    view->wrong_blocks = static_cast<chain::Height>(unchecked_.wrong().size());
    view->head = view->reversible.empty() ? shown_final_ : view->reversible.back()->block;
    view->head_state = chain_->shared_state_of(shown_head_);
    view->pool_transactions = pool_.size();
    view->pool_bytes = pool_.bytes();
    view->paused = consensus_.paused();
    view->trouble = trouble_;
    view->keys = consensus_.keys();
    view->answer = answer_;
    view->clocks = consensus_.clocks(now_);
    const chain::ScheduleState schedules = consensus_.next_schedules();
    for (const chain::ScheduleEntry& entry : schedules.active->entries) {
        for (chain::Vote& vote : consensus_.newest_votes(entry.vote_key)) {
            view->votes.push_back(std::move(vote));
        }
    }
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
        if (pending_ != nullptr) layers = pending_->copy_changes();
        view->pending_state =
            std::make_shared<const chain::LayeredView>(std::move(layers), std::move(below));
        view->pending_count = executed_;
    }
    out.push_back(effect::Publish{std::move(view)});
}

}  // namespace node
