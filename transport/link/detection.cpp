#include "transport/link/detection.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace transport::link {

namespace {

base::Result<void> violation(std::string what) {
    return base::fail(base::Errc::invalid, "prelude: " + std::move(what));
}

}  // namespace

void Detection::start(base::Timestamp /*now*/) {
    CHECK(attempt_ == 0);
    attempt_ = 1;
    send_offers();
}

void Detection::send_offers() {
    our_offers_ = owner_.offers();
    owner_.send_prelude(encode(prelude::Offers{attempt_, our_offers_}));
    state_ = State::offering;
}

base::Result<void> Detection::on_prelude(base::Timestamp now, base::ByteView payload) {
    const auto prelude = decode_prelude(payload);
    if (!prelude) return base::fail(prelude.error());
    const std::uint32_t attempt =
        std::visit([](const auto& each) { return each.attempt; }, *prelude);
    const bool is_next = attempt == attempt_ + 1 && !options_.leads && state_ == State::tcp &&
                         std::holds_alternative<prelude::Offers>(*prelude);
    if (attempt != attempt_ && !is_next) return violation("a frame of another attempt");
    return std::visit([&](const auto& each) { return on(now, each); }, *prelude);
}

base::Result<void> Detection::on(base::Timestamp now, const prelude::Offers& offers) {
    if (offers.attempt != attempt_) {
        attempt_ = offers.attempt;
        send_offers();
    }
    if (state_ != State::offering) return violation("an offer that nobody asked for");
    is_established_ = true;
    state_ = State::tcp;
    peer_offers_ = offers.offers;
    if (!has_common_kind()) {
        why_not_ = why_nothing_common();
    } else if (!options_.leads && why_not_.empty()) {
        why_not_ = "the peer, which opened the connection, has not tried";
    }
    if (options_.leads) lead(now, offers.offers);
    return {};
}

bool Detection::has_common_kind() const {
    return std::ranges::any_of(our_offers_, [this](const Offer& ours) {
        return find_offer(peer_offers_, ours.kind) != nullptr;
    });
}

// For people: both ends know what the other has.
std::string Detection::why_nothing_common() const {
    if (our_offers_.empty()) return "this node offers no other";
    std::string out = "the peer offers no";
    for (const Offer& offer : our_offers_)
        out += (&offer == our_offers_.data() ? " " : " or ") + std::string(to_string(offer.kind));
    return out;
}

const Offer* Detection::find_offer(const std::vector<Offer>& offers, Kind kind) const {
    const auto found = std::ranges::find(offers, kind, &Offer::kind);
    return found == offers.end() ? nullptr : &*found;
}

// Takes the first of our kinds that the peer has too and that has not failed lately.
void Detection::lead(base::Timestamp now, const std::vector<Offer>& theirs) {
    for (const Offer& ours : our_offers_) {
        const Offer* peer_offer = find_offer(theirs, ours.kind);
        if (peer_offer == nullptr || backoffs_[ours.kind].until > now) continue;
        kind_ = ours.kind;
        auto parameters = owner_.prepare(kind_, peer_offer->address);
        if (!parameters) {
            why_not_ = parameters.error().detail;
            back_off(now);
            continue;
        }
        owner_.send_prelude(encode(prelude::Accept{attempt_, kind_, std::move(*parameters)}));
        state_ = State::preparing;
        deadline_ = now + options_.answer_max;
        return;
    }
    plan_retry(now);
}

base::Result<void> Detection::on(base::Timestamp now, const prelude::Accept& accept) {
    if (state_ == State::resuming) return {};
    if (!options_.leads) return answer(now, accept);
    if (state_ != State::preparing || accept.kind != kind_) {
        return violation("an accept that answers nothing");
    }
    if (auto up = owner_.bring_up(accept.parameters); !up) {
        give_up(now, up.error().detail);
    } else {
        begin_probing(now);
    }
    return {};
}

base::Result<void> Detection::answer(base::Timestamp now, const prelude::Accept& accept) {
    const Offer* peer_offer = find_offer(peer_offers_, accept.kind);
    if (state_ != State::tcp || peer_offer == nullptr ||
        find_offer(our_offers_, accept.kind) == nullptr) {
        return violation("an accept of what was not offered");
    }
    kind_ = accept.kind;
    // Each attempt takes resources: a leader that never waits must not have them again and again.
    if (has_just_failed(now, kind_)) {
        resume();
        return {};
    }
    auto parameters = owner_.prepare(kind_, peer_offer->address);
    if (!parameters) {
        give_up(now, parameters.error().detail);
        return {};
    }
    if (auto up = owner_.bring_up(accept.parameters); !up) {
        give_up(now, up.error().detail);
        return {};
    }
    owner_.send_prelude(encode(prelude::Accept{attempt_, kind_, std::move(*parameters)}));
    begin_probing(now);
    return {};
}

void Detection::begin_probing(base::Timestamp now) {
    state_ = State::probing;
    deadline_ = now + options_.probe_max;
    nonce_ = rng_.below(std::uint64_t(-1));
    peer_nonce_.reset();
    is_probed_ = has_switched_ = peer_switched_ = false;
    write_probe(now);
}

void Detection::write_probe(base::Timestamp now) {
    next_probe_ = now + options_.probe_max / options_.probe_tries;
    owner_.write_probe(nonce_);
}

void Detection::on_probe(base::Timestamp now, std::uint64_t nonce) {
    // A number may come three times, and also after the path was given up.
    if (state_ != State::probing || peer_nonce_) return;
    peer_nonce_ = nonce;
    owner_.send_prelude(encode(prelude::Probed{attempt_, nonce}));
    // What we wrote before the peer was ready is lost; now it is.
    if (!is_probed_) write_probe(now);
    switch_if_proved();
}

base::Result<void> Detection::on(base::Timestamp now, const prelude::Probed& probed) {
    if (state_ == State::resuming) return {};
    if (state_ != State::probing || is_probed_) return violation("a probe that was not made");
    if (probed.nonce != nonce_) {
        give_up(now, "the path carries other bytes than were written");
        return {};
    }
    is_probed_ = true;
    switch_if_proved();
    return {};
}

void Detection::switch_if_proved() {
    if (!is_probed_ || !peer_nonce_) return;
    state_ = State::switching;
    owner_.finish_tcp();
}

void Detection::tcp_finished(base::Timestamp now) {
    // Given up in the meantime.
    if (state_ != State::switching) return;
    owner_.send_prelude(encode(prelude::Switch{attempt_}));
    has_switched_ = true;
    fast_since_ = now;
    finish_switch();
}

base::Result<void> Detection::on(base::Timestamp now, const prelude::Switch& /*change*/) {
    if (state_ == State::resuming) return {};
    if (state_ != State::switching || peer_switched_) return violation("a switch without proof");
    peer_switched_ = true;
    fast_since_ = now;
    owner_.receive_fast();
    finish_switch();
    return {};
}

void Detection::finish_switch() {
    if (!has_switched_ || !peer_switched_) return;
    state_ = State::fast;
    why_not_.clear();
}

base::Result<void> Detection::on(base::Timestamp now, const prelude::Resume& resume) {
    if (state_ == State::offering || state_ == State::tcp) return violation("a resume of nothing");
    on_fast_failed(now, "the peer gave the path up");
    // Now both have said it.
    state_ = State::tcp;
    owner_.replay(resume.next);
    if (options_.leads) plan_retry(now);
    return {};
}

void Detection::on_fast_failed(base::Timestamp now, std::string why) {
    const bool has_path =
        state_ != State::offering && state_ != State::tcp && state_ != State::resuming;
    if (has_path) give_up(now, std::move(why));
}

void Detection::give_up(base::Timestamp now, std::string why) {
    const bool was_stable = state_ == State::fast && now - fast_since_ >= options_.backoff_max;
    if (was_stable) backoffs_.erase(kind_);
    why_not_ = std::move(why);
    back_off(now);
    resume();
}

void Detection::resume() {
    state_ = State::resuming;
    owner_.send_prelude(encode(prelude::Resume{attempt_, owner_.stop_fast()}));
}

base::Duration Detection::delay_after(int failures) const {
    base::Duration delay = options_.backoff_first;
    for (int i = 0; i < failures && delay < options_.backoff_max; ++i)
        delay *= 2;
    return std::min(delay, options_.backoff_max);
}

void Detection::back_off(base::Timestamp now) {
    Backoff& backoff = backoffs_[kind_];
    backoff.delay = delay_after(backoff.failures++);
    backoff.until = now + backoff.delay;
}

// Both ends wait equally long, from nearly the same moment: half is more than they differ by.
bool Detection::has_just_failed(base::Timestamp now, Kind kind) const {
    const auto found = backoffs_.find(kind);
    return found != backoffs_.end() && found->second.until - now > found->second.delay / 2;
}

// The leader offers again when the first of our kinds may be tried again, and, for those that one
// of us does not have, in case that it comes to have them.
void Detection::plan_retry(base::Timestamp now) {
    retry_at_.reset();
    bool is_in_vain = our_offers_.empty();
    for (const Offer& offer : our_offers_) {
        const auto found = backoffs_.find(offer.kind);
        if (found == backoffs_.end() || found->second.until <= now) {
            is_in_vain = true;
        } else {
            retry_at_ = std::min(retry_at_.value_or(found->second.until), found->second.until);
        }
    }
    if (!is_in_vain) return;
    const base::Timestamp at = now + delay_after(vain_offers_++);
    retry_at_ = std::min(retry_at_.value_or(at), at);
}

std::optional<base::Timestamp> Detection::wake_at() const {
    if (state_ == State::preparing) return deadline_;
    if (state_ == State::probing) return std::min(deadline_, next_probe_);
    return state_ == State::tcp ? retry_at_ : std::nullopt;
}

void Detection::tick(base::Timestamp now) {
    if (state_ == State::preparing && now >= deadline_) {
        give_up(now, "the peer did not answer our parameters in time");
    } else if (state_ == State::probing && now >= deadline_) {
        give_up(now,
                peer_nonce_ ? "the peer saw nothing of what we wrote through the path"
                            : "nothing that the peer wrote came through the path");
    } else if (state_ == State::probing && now >= next_probe_) {
        write_probe(now);
    } else if (state_ == State::tcp && retry_at_ && now >= *retry_at_) {
        retry_at_.reset();
        ++attempt_;
        send_offers();
    }
}

}  // namespace transport::link
