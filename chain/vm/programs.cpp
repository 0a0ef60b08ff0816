#include "chain/vm/programs.hpp"

#include <algorithm>

namespace chain::vm {

std::uint32_t ProgramCache::rules(const Limits& limits, const Prices& prices) {
    const std::pair wanted{limits, prices};
    const auto at = std::ranges::find(rules_, wanted);
    const auto number = static_cast<std::uint32_t>(at - rules_.begin());
    if (at == rules_.end()) rules_.push_back(wanted);
    return number;
}

std::shared_ptr<const Prepared> ProgramCache::find(const Key& key) {
    const auto at = by_key_.find(key);
    if (at == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, at->second);
    return at->second->prepared;
}

// The one that is kept now stays, however large it is.
void ProgramCache::keep(const Key& key, std::shared_ptr<const Prepared> prepared) {
    if (by_key_.contains(key)) return;  // Two threads compiled it.
    bytes_ += prepared->bytes();
    entries_.push_front({key, std::move(prepared)});
    by_key_.emplace(key, entries_.begin());
    while (bytes_ > bytes_max_ && entries_.size() > 1) {
        bytes_ -= entries_.back().prepared->bytes();
        by_key_.erase(entries_.back().key);
        entries_.pop_back();
        is_full_ = true;
    }
}

}  // namespace chain::vm
