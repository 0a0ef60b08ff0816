#include "node/transaction_status.hpp"

#include <utility>

namespace node {

std::optional<TransactionStatus::Entry> TransactionStatus::find(
    const chain::TransactionId& id) const {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find(id);
    if (found == entries_.end()) return std::nullopt;
    return found->second;
}

void TransactionStatus::on_pending(const effect::Pending& pending) {
    const std::scoped_lock lock(mutex_);
    set(pending.transaction->id, {pending.transaction->content.expiration, std::nullopt});
}

void TransactionStatus::on_accepted(const effect::Accepted& accepted) {
    const std::scoped_lock lock(mutex_);
    for (const chain::TransactionTrace& trace : accepted.block->traces)
        entries_.erase(trace.id);
}

void TransactionStatus::on_dropped(const effect::Dropped& dropped) {
    const std::scoped_lock lock(mutex_);
    set(dropped.id, {dropped.expiration, dropped.reason.detail});
}

void TransactionStatus::set(const chain::TransactionId& id, Entry entry) {
    if (entries_.insert_or_assign(id, std::move(entry)).second) order_.push_back(id);
    while (order_.size() > entries_max_) {
        entries_.erase(order_.front());
        order_.pop_front();
    }
}

}  // namespace node
