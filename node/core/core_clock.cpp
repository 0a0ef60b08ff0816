#include "node/core/core_impl.hpp"

#include <algorithm>
#include <utility>

// What the clock of this machine shows, and those of other validators (spec 04, "Finality").

namespace node {

using p2p::Verdict;

namespace {

constexpr base::Duration kSayEvery = std::chrono::seconds(1);

}  // namespace

chain::TimePoint Core::Impl::clock() const {
    return chain::TimePoint::from_timestamp(now_ + clock_ahead_);
}

base::Timestamp Core::Impl::begin_of(chain::Slot slot) const {
    return chain_->identity().times.begin_of(slot).to_timestamp() - clock_ahead_;
}

void Core::Impl::on_clock_set(const input::ClockSet& set, Effects& out) {
    const base::Duration change = set.ahead - std::exchange(clock_ahead_, set.ahead);
    environment_.log.warn(
        "the clock of this machine was set {} by {} ms",
        change > base::Duration{} ? "forward" : "back",
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::abs(change)).count());
    // What waits for its slot waits for another moment.
    for (auto& [key, arrival] : arrivals_.entries()) {
        if (arrival.not_before != base::Timestamp{}) arrival.not_before -= change;
    }
    say_clock_at_ = now_;
    feed(consensus::input::ClockSet{set.ahead}, out);
    publish(out);
    on_tick(out);
}

// With each key that votes: a member may have another in the schedule that comes.
void Core::Impl::say_clock(Effects& out) {
    if (!options_.has_peers || now_ < say_clock_at_) return;
    say_clock_at_ = now_ + kSayEvery;
    ++clock_number_;
    // Nothing else tells readers of clocks while the chain stands still.
    publish(out);
    for (const base::crypto::PublicKey& key : own_keys_) {
        if (!consensus_.is_validator(key)) continue;
        p2p::ClockStatement statement{.key = key,
                                      .life = clock_life_,
                                      .number = clock_number_,
                                      .shown = (now_ + clock_ahead_).time_since_epoch().count()};
        auto signature =
            environment_.signer.sign_clock(key, statement, chain_->identity().chain_id);
        if (!signature) {
            environment_.log.warn("what the clock shows is not signed with key {}: {}",
                                  key.to_string(),
                                  signature.error().detail);
            continue;
        }
        statement.signature = *std::move(signature);
        tell(p2p::input::PushClock{statement}, out);
    }
}

// At once, but not for each of those who come and go: what is said goes round all the network. Who
// hears nothing now is told by p2p what was said last.
void Core::Impl::say_clock_to_who_came(Effects& out) {
    if (now_ < said_to_who_came_at_ + kSayEvery) return;
    said_to_who_came_at_ = now_;
    say_clock_at_ = now_;
    say_clock(out);
}

void Core::Impl::on_clock(const p2p::effect::ClockArrived& arrived, Effects& out) {
    const p2p::ClockStatement& statement = arrived.statement;
    p2p::input::Judged judged{p2p::Item::clock, arrived.id, arrived.channel, Verdict::unsure, ""};
    // What an earlier life of ours has said counts also while its key is in no schedule: once it
    // is, who heard that takes nothing older.
    const bool is_own = std::ranges::find(own_keys_, statement.key) != own_keys_.end();
    if (!is_own && !consensus_.is_validator(statement.key)) {
        judged.text = "the clock of a key that is in no schedule";
        return judge(std::move(judged), out);
    }
    const base::Hash256 digest = p2p::clock_digest(statement, chain_->identity().chain_id);
    if (!base::crypto::verify(statement.key, statement.signature, digest)) {
        judged.verdict = Verdict::bad;
        judged.text = "the signature of a clock is wrong";
        return judge(std::move(judged), out);
    }
    if (is_own) {
        // Said before this start: from now on what is said is newer than that.
        clock_life_ = std::max(clock_life_, statement.life + 1);
        say_clock_at_ = now_;
        return judge(std::move(judged), out);
    }
    judged.verdict = Verdict::good;
    judge(std::move(judged), out);
    const base::Timestamp shown(std::chrono::nanoseconds(statement.shown));
    feed(consensus::input::ClockHeard{statement.key, shown}, out);
}

}  // namespace node
