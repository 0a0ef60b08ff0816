#include "node/core/core_impl.hpp"

#include <algorithm>
#include <utility>

namespace node {

namespace {

// How long what a node says by itself may wait for a block.
constexpr std::int64_t kSaidForSeconds = 60;
// Behind the clock by no more than this, the head is followed: two slots or two seconds, as in R1.
constexpr chain::Slot kBehindMax = 2;
constexpr std::uint32_t kBehindMilliseconds = 2'000;

}  // namespace

bool Core::Impl::is_synced() const {
    const chain::SlotTimes& times = chain_->identity().times;
    const chain::BlockHeader* head = chain_->find_header(consensus_.head());
    const chain::Slot head_slot = head == nullptr ? chain_->finalized()->header.slot : head->slot;
    const chain::Slot now = times.slot_at(chain::TimePoint::from_timestamp(now_));
    const chain::Slot behind =
        std::max<chain::Slot>(kBehindMax, kBehindMilliseconds / times.interval_milliseconds);
    if (head_slot + behind < now) return false;
    return std::ranges::none_of(
        consensus_.keys(), [](const consensus::KeyStatus& key) { return key.lost || key.twin; });
}

void Core::Impl::attend_duties(Effects& out) {
    if (!trouble_.empty()) return;
    const chain::Slot slot =
        chain_->identity().times.slot_at(chain::TimePoint::from_timestamp(now_));
    auto due = duties_.due(
        {*shown_final_state_, slot, is_synced(), options_.genesis.parameters.schedule_period});
    if (!due) {
        environment_.log.error("what this node has to say: {}", due.error().detail);
        return;
    }
    for (const Duties::Due& each : *due)
        say(each, out);
}

// As a transaction that nobody waits for.
void Core::Impl::say(const Duties::Due& due, Effects& out) {
    const chain::ChainId& chain_id = chain_->identity().chain_id;
    const std::string what = due.action.name.to_string();
    const std::string who = due.action.authorization.front().actor.to_string();
    chain::SignedTransaction content;
    const auto seconds = chain::TimePoint::from_timestamp(now_).microseconds / 1'000'000;
    content.expiration = {static_cast<std::uint32_t>(seconds + kSaidForSeconds)};
    content.ref_block_num = static_cast<std::uint16_t>(shown_final_->header.height);
    content.ref_block_prefix = chain::ref_block_prefix_of(shown_final_->id);
    content.actions = {due.action};
    auto signature = environment_.signer.sign_transaction(due.key, content, chain_id);
    if (!signature) {
        environment_.log.warn(
            "{} of {} is not signed, tried again later: {}", what, who, signature.error().detail);
        return;
    }
    content.signatures = {*std::move(signature)};
    const chain::PooledTransaction entry{chain::make_transaction(content), {due.key}};
    std::vector<chain::Pool::Evicted> evicted;
    auto added = pool_.add(entry, evicted);
    drop(evicted, out);
    if (!added) {
        environment_.log.warn("{} of {}: {}", what, who, added.error().detail);
        return;
    }
    Effects ran;
    if (pending_ != nullptr) (void)run(entry, 0, ran);
    for (Effect& each : ran) {
        if (const auto* dropped = std::get_if<effect::Dropped>(&each)) {
            environment_.log.warn("{} of {} is refused: {}", what, who, dropped->reason.detail);
        }
        out.push_back(std::move(each));
    }
    if (!pool_.contains(entry.transaction->id)) return;
    environment_.log.info("says {} for {}", what, who);
    tell(p2p::input::PushTransaction{entry.transaction}, out);
}

}  // namespace node
