#include "base/check.hpp"
#include "chain/types/rule.hpp"
#include "node/core/core_impl.hpp"

#include <algorithm>
#include <utility>

namespace node {

Core::Core(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Core::~Core() = default;

std::shared_ptr<const chain::StateView> Core::state_of(const chain::BlockId& id) const {
    return impl_->state_of(id);
}

void Core::step(base::Timestamp now, const Input& input, Effects& out) {
    impl_->step(now, input, out);
}

void Core::Impl::step(base::Timestamp now, const Input& input, Effects& out) {
    CHECK(now >= now_);
    now_ = now;
    step_began_ = timer_.reading();
    if (std::holds_alternative<input::Tick>(input)) {
        on_tick(out);
    } else if (const auto* submit = std::get_if<input::Submit>(&input)) {
        on_submit(*submit, out);
    } else if (const auto* written = std::get_if<input::Written>(&input)) {
        on_written(*written, out);
    } else if (const auto* paused = std::get_if<input::SetPaused>(&input)) {
        consensus_.set_paused(paused->paused);
        publish(out);
    } else if (std::holds_alternative<input::AnswerRecovery>(input)) {
        on_answer_recovery(out);
    } else if (const auto* peers = std::get_if<input::FromPeers>(&input)) {
        on_peers(peers->asked, out);
    } else if (const auto* set = std::get_if<input::ClockSet>(&input)) {
        on_clock_set(*set, out);
    } else if (const auto* delay = std::get_if<input::SetDelay>(&input)) {
        consensus_.set_delay(delay->delay);
    } else if (const auto* pruned = std::get_if<input::HistoryPruned>(&input)) {
        earliest_height_ = pruned->earliest;
        tell_ledger(out);
    } else if (const auto* recovered = std::get_if<input::Recovered>(&input)) {
        on_recovered(*recovered, out);
    } else if (const auto* checked = std::get_if<input::StoredChecked>(&input)) {
        on_stored_checked(*checked, out);
    } else {
        show_pending(out);
    }
}

void Core::Impl::on_tick(Effects& out) {
    std::vector<chain::Pool::Evicted> expired;
    pool_.expire(clock(), expired);
    drop(expired, out);
    forget_stopped(out);
    if (failed_write_ && now_ >= retry_at_) {
        // The barrier stands: the same write again, until the disk takes it.
        out.push_back(*failed_write_);
        failed_write_.reset();
    }
    feed(consensus::input::Tick{}, out);
    work_off(out);
    work_off_ranges(out);
    attend_unchecked(out);
    if (is_pending_stale() && trouble_.empty()) begin_next(out);
    attend_duties(out);
    say_clock(out);
    if (failed_write_) out.push_back(effect::WakeAt{retry_at_});
}

void Core::Impl::on_submit(const input::Submit& submit, Effects& out) {
    if (!trouble_.empty()) {
        answer(submit.ticket,
               base::Error{base::Errc::unavailable, "no transactions are taken: " + trouble_},
               out);
        return;
    }
    Origin from{.ticket = submit.ticket};
    if (!submit.sender.empty()) from.sender = submit.sender;
    if (auto admitted = admit(*submit.transaction, from.sender); !admitted) {
        answer(submit.ticket, admitted.error(), out);
        return;
    }
    if (waits_in_other_form(*submit.transaction)) {
        const std::string id = base::to_hex(submit.transaction->id.bytes);
        return answer(submit.ticket,
                      base::Error{base::Errc::would_block,
                                  "transaction " + id +
                                      " waits with other signatures or another compression, "
                                      "which may not be good; send again after the next block"},
                      out);
    }
    std::vector<chain::Pool::Evicted> evicted;
    auto added = pool_.add({submit.transaction, submit.keys}, evicted);
    drop(evicted, out);
    if (!added) {
        answer(submit.ticket, added.error(), out);
        return;
    }
    from.place = *added;
    if (pending_ == nullptr || run({submit.transaction, submit.keys}, from, out).waits) {
        waiting_.emplace(submit.transaction->id, std::move(from));
    }
    if (pool_.contains(submit.transaction->id)) {
        tell(p2p::input::PushTransaction{submit.transaction}, out);
    }
}

void Core::Impl::on_written(const input::Written& written, Effects& out) {
    CHECK(barrier_ && barrier_->ticket == written.ticket);
    if (!written.outcome) {
        const std::string reason = written.outcome.error().detail;
        if (trouble_.empty()) {
            environment_.log.error("stopped: {}", reason);
            is_write_trouble_ = true;
        }
        if (is_write_trouble_) trouble_ = reason;
        failed_write_ = *barrier_;
        // A page is never written twice to one place; the log takes care of where it goes.
        retry_at_ = now_ + kRetryAfter;
        out.push_back(effect::WakeAt{retry_at_});
        publish(out);
        return;
    }
    if (std::exchange(is_write_trouble_, false)) {
        environment_.log.info("goes on: the disk takes writes again");
        trouble_.clear();
    }
    barrier_.reset();
    if (finalizing_) finish_finalize(out);
    run_queue(out);
    work_off(out);
    work_off_ranges(out);
    attend_unchecked(out);
}

// An own block or vote is an input again, one deep: the next vote waits for its Persist.
// NOLINTBEGIN(misc-no-recursion)

// One input of the agreement, with everything that follows from it.
void Core::Impl::feed(const consensus::Input& input, Effects& out) {
    consensus::Effects asked;
    consensus_.step(now_, input, asked);
    // Before anything is forgotten: what lost goes back to the pool.
    follow_head(out);
    route(std::move(asked), out);
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
        carry_out(effect, out);
    }
}

void Core::Impl::carry_out(const consensus::Effect& effect, Effects& out) {
    namespace asked = consensus::effect;
    if (const auto* persist = std::get_if<asked::Persist>(&effect)) {
        begin_persist(*persist, out);
    } else if (const auto* vote = std::get_if<asked::CastVote>(&effect)) {
        cast_vote(*vote, out);
    } else if (const auto* final = std::get_if<asked::Finalize>(&effect)) {
        begin_finalize(*final, out);
    } else if (std::holds_alternative<asked::StoppedSigning>(effect)) {
        answer_recovery(out);
    } else if (const auto* announce = std::get_if<asked::Announce>(&effect)) {
        unannounced_.erase(announce->block);
        if (const auto block = chain_->find(announce->block)) {
            tell(p2p::input::PushBlock{block->block}, out);
        }
        show_head(out);
    } else if (const auto* pass = std::get_if<asked::PassOn>(&effect)) {
        note_proved(pass->certificate);
        tell(p2p::input::PassCertificate{pass->certificate, std::nullopt, pass->again}, out);
    } else if (const auto* accuse = std::get_if<asked::Accuse>(&effect)) {
        this->accuse(accuse->evidence, out);
    } else if (const auto* forget = std::get_if<asked::Forget>(&effect)) {
        base::Batch batch;
        chain_->forget(forget->block, batch);
        bodies_.erase(forget->block);
        if (!chain::is_left_out(chain::Rule::forgotten_is_told))
            tell(p2p::input::Forgotten{forget->block}, out);
        if (!batch.changes.empty()) write_unsynced(std::move(batch), out);
    } else if (const auto* alarmed = std::get_if<asked::Alarm>(&effect)) {
        alarm(*alarmed, out);
    }
}

void Core::Impl::begin_persist(const consensus::effect::Persist& persist, Effects& out) {
    effect::Write write;
    write.pages = persist.pages;
    if (persist.block) {
        // A block that became final meanwhile is stored with its finality.
        if (const auto block = chain_->find(*persist.block)) chain_->store(*block, write.batch);
    }
    if (persist.certificate) store_newest(*persist.certificate, write.batch);
    if (write.batch.changes.empty() && write.pages.empty()) return;
    const bool is_waited_for = !write.pages.empty() || persist.wait;
    if (!chain::is_left_out(chain::Rule::promise_written) && is_waited_for) {
        begin_write(std::move(write), out);
    } else {
        // Writes are carried out in order: a later one that is waited for takes it along.
        write_unsynced(std::move(write.batch), out);
    }
}

// The newest of a kind is kept: one that comes late must not take the place of the lock's.
void Core::Impl::store_newest(const chain::Certificate& certificate, base::Batch& batch) {
    if (certificate.data.kind == chain::VoteKind::notarize) {
        if (certificate.data.slot < stored_notarize_slot_) return;
        stored_notarize_slot_ = certificate.data.slot;
    }
    chain_->store(certificate, batch);
}

// Pages and rows are written side by side; what a power cut keeps from a log is among the rows.
void Core::Impl::begin_write(effect::Write write, Effects& out) {
    for (const consensus::JournalPage& page : write.pages)
        chain_->store({page.key, page.sequence, page.replaces, page.bytes}, write.batch);
    write.ticket = next_ticket_++;
    barrier_ = write;
    out.push_back(std::move(write));
}

void Core::Impl::cast_vote(const consensus::effect::CastVote& vote, Effects& out) {
    if (consensus_.is_lost(vote.key)) return;
    auto signature =
        environment_.signer.sign_vote(vote.key, vote.data, chain_->identity().chain_id);
    if (!signature) {
        environment_.log.error("no vote for block {} height {}: {}",
                               base::to_hex(vote.data.block_id.bytes),
                               vote.data.height,
                               signature.error().detail);
        return;
    }
    const chain::Vote cast{vote.data, vote.key, *std::move(signature)};
    tell(p2p::input::PushVote{cast}, out);
    feed(consensus::input::VoteReceived{cast}, out);
}

// NOLINTEND(misc-no-recursion)

void Core::Impl::begin_finalize(const consensus::effect::Finalize& finalize, Effects& out) {
    // While the disk was busy more became final: one write for all of it.
    const bool is_outdated = std::ranges::any_of(queue_, [](const consensus::Effect& effect) {
        return std::holds_alternative<consensus::effect::Finalize>(effect);
    });
    if (is_outdated) return;
    effect::Write write;
    const chain::AgreementBase base{finalize.base.block, finalize.base.schedules};
    auto became = finalize.certificate ? chain_->finalize(*finalize.certificate, base, write.batch)
                                       : chain_->finalize(finalize.block, base, write.batch);
    write.final_state = std::move(became.state);
    note_stretches(became.blocks.back()->block->header.height, write.batch);
    finalizing_ = Finalizing{std::move(became.blocks), finalize.certificate};
    std::erase_if(bodies_, [&](const auto& entry) { return !chain_->find(entry.first); });
    begin_write(std::move(write), out);
    if (chain::is_left_out(chain::Rule::final_durable)) {
        shown_final_ = finalizing_->blocks.back()->block;
        publish(out);
    }
}

// Only now, with everything durable, may anybody be told that the blocks are final.
void Core::Impl::finish_finalize(Effects& out) {
    const Finalizing done = *std::exchange(finalizing_, std::nullopt);
    shown_final_ = done.blocks.back()->block;
    shown_certificate_ = done.certificate;
    const auto before = chain_->stored_state();
    if (auto moved = chain_->committed(); !moved) {
        trouble_ = moved.error().detail;
        environment_.log.error("stopped: {}", trouble_);
    }
    if (pending_ != nullptr) chain_->refresh(*pending_);
    shown_final_state_ = chain_->shared_state_of(shown_final_->id);
    publish(out);
    // First who may connect: who has caught up is held to what that final block says.
    tell_registry(out);
    tell_ledger(out);
    for (const chain::ExecutedBlockPtr& block : done.blocks) {
        const bool is_last = block == done.blocks.back();
        out.push_back(effect::Finalized{block, is_last ? done.certificate : std::nullopt, before});
    }
    feed(consensus::input::FinalDurable{shown_final_->header.slot}, out);
}

void Core::Impl::alarm(const consensus::effect::Alarm& alarm, Effects& out) {
    using Kind = consensus::effect::Alarm::Kind;
    const std::string key = alarm.key.to_string();
    if (alarm.kind == Kind::twin_key) {
        environment_.log.error(
            "key {} is used by another machine, which started before this one: "
            "it signs nothing here; stop one of the two",
            key);
    } else if (alarm.kind == Kind::journal_lost) {
        environment_.log.error(
            "the safety journal does not know all that key {} has signed: it votes again when a "
            "block of after the start is final; where none can be (a validator alone, or too many "
            "lost at once) its operator starts it once with --accept-amnesia, after which the key "
            "may be convicted and needs a successor",
            key);
    } else if (alarm.kind == Kind::lock_given_up) {
        environment_.log.error(
            "key {} gives up its lock, as --accept-amnesia says: no peer has sent the block of it; "
            "final blocks may have been lost with it",
            key);
        note_amnesia(alarm.key, out);
    } else if (alarm.kind == Kind::goes_on) {
        environment_.log.error(
            "key {0} goes on without all that it has promised, as --accept-amnesia says: a COMMIT "
            "that it signed before and a vote that it signs now may together be evidence against "
            "it, by which anybody can take its weight for ever ('reportbad'). When blocks are "
            "final again, give its validator a new key: 'bor-cli key create --vote --journal "
            "DATA_DIR --file FILE', its signature-provider, a start, 'bor-cli system regproducer "
            "NAME NEWKEY'. Where bor-wallet keeps the key it refuses votes that the old lock "
            "forbids: 'bor-cli wallet give_up_lock {0}'",
            key);
        note_amnesia(alarm.key, out);
    } else {
        environment_.log.info("key {} votes again", key);
    }
}

}  // namespace node
