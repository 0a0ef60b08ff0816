#include "node/bps/core/producer_ids.hpp"

#include "node/bps/core/actions.hpp"
#include "node/bps/core/batch.hpp"

namespace bps {

namespace {

constexpr std::int64_t kLeasedIds = 1'000;  // As the contract gives them.
constexpr std::int64_t kLeaseAhead = 100;   // So many before the last, the next lease is asked for.
constexpr std::int64_t kCallEveryMs = 1'000;

}  // namespace

std::optional<std::int64_t> ProducerIds::next(std::int64_t now, chain::Name tenant, Effects& out) {
    if (left_ <= kLeaseAhead) lease(now, out);
    const auto space = rights_.id_space(tenant);
    if (!space) {
        if (wanting_.size() < actions::kListMax) wanting_.insert(tenant);
        add_spaces(now, out);
    }
    if (!space || left_ == 0) return std::nullopt;
    --left_;
    return (std::int64_t{*space} << kLeasedIdBits) | next_++;
}

bool ProducerIds::on_called(std::uint64_t ticket, const Verdict<void>& outcome) {
    if (lease_.ticket == ticket) {
        lease_.ticket.reset();
        if (outcome) on_leased();
        return true;
    }
    if (spaces_.ticket != ticket) return false;
    spaces_.ticket.reset();
    return true;
}

void ProducerIds::lease(std::int64_t now, Effects& out) {
    const std::int32_t id = rights_.settings().broker;
    const rows::Broker* const row = directory_.find_broker(id);
    if (!lease_.may(now) || row == nullptr || row->boot == 0) return;
    lease_.ticket = chain_.call(actions::LeaseIds::kName,
                                chain::pack(actions::LeaseIds{.broker = id, .boot = row->boot}),
                                out);
    lease_.not_before = now + kCallEveryMs;
}

// What is left of the lease before is given up.
void ProducerIds::on_leased() {
    const rows::Broker* const row = directory_.find_broker(rights_.settings().broker);
    // Ids only go up: else nothing was leased.
    if (row == nullptr || row->first_id < next_) return;
    next_ = row->first_id;
    left_ = kLeasedIds;
}

// A tenant whose call is refused asks again, and is among the next ones.
void ProducerIds::add_spaces(std::int64_t now, Effects& out) {
    if (!spaces_.may(now)) return;
    std::erase_if(wanting_,
                  [this](chain::Name tenant) { return rights_.id_space(tenant).has_value(); });
    const actions::AddIdSpaces added{.broker = rights_.settings().broker,
                                     .accounts = {wanting_.begin(), wanting_.end()}};
    wanting_.clear();
    spaces_.ticket = chain_.call(actions::AddIdSpaces::kName, chain::pack(added), out);
    spaces_.not_before = now + kCallEveryMs;
}

}  // namespace bps
