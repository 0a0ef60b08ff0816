#pragma once

#include "base/pinned.hpp"
#include "base/time.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace node {

// How much time of this node the failing transactions of each payer may take (spec 10, "an account
// whose transactions fail or time out"): an allowance a window of time, a minute if nothing is
// said, which refills evenly. What goes beyond it is a debt, so that over an hour nobody takes more
// than an hour's allowances, one more and one run.
//
// Bounded: `payers_max` payers are known; of more, the one is forgotten that is free first.
// Pure: time is an argument. Thread: one.
template <class Payer>
class FailureBudget : base::Pinned {
  public:
    using Milliseconds = std::chrono::milliseconds;
    static constexpr Milliseconds kMinute = std::chrono::minutes(1);
    static constexpr std::size_t kPayersMax = 4'096;

    // An allowance of zero: there is no limit; nor is there by one of the whole window.
    explicit FailureBudget(Milliseconds allowance,
                           std::size_t payers_max = kPayersMax,
                           Milliseconds window = kMinute)
        : allowance_(std::min(allowance, window)), payers_max_(payers_max), window_(window) {}

    // Nothing is left to it at `now`: it has to wait.
    [[nodiscard]] bool is_over(const Payer& payer, base::Timestamp now) const {
        return wait_of(payer, now) > base::Duration{};
    }

    // How long it has to wait; zero: not at all.
    [[nodiscard]] base::Duration wait_of(const Payer& payer, base::Timestamp now) const {
        const auto found = full_at_.find(payer);
        if (found == full_at_.end() || found->second < now + window_) return {};
        return found->second - (now + window_) + base::Duration(1);
    }

    // A transaction of the payer failed after it had run for `time`.
    void charge(const Payer& payer, base::Duration time, base::Timestamp now) {
        if (allowance_.count() <= 0 || time.count() <= 0) return;
        while (!order_.empty() && order_.begin()->first <= now)
            forget_first();
        base::Timestamp full_at = now;
        if (const auto found = full_at_.find(payer); found != full_at_.end()) {
            full_at = found->second;
            order_.erase({found->second, payer});
        }
        full_at += refill_of(time);
        full_at_.insert_or_assign(payer, full_at);
        order_.emplace(full_at, payer);
        if (full_at_.size() > payers_max_) forget_first();
    }

    // Payers whose allowance is not whole, as of the last charge.
    [[nodiscard]] std::size_t size() const { return full_at_.size(); }

  private:
    // How long the allowance needs to grow by `time`.
    [[nodiscard]] base::Duration refill_of(base::Duration time) const {
        // A day is as good as for ever, and stays far from the end of the type.
        const std::int64_t windows_max = std::chrono::hours(24) / window_;
        const auto used = std::chrono::ceil<std::chrono::microseconds>(time);
        const std::chrono::microseconds whole = allowance_;
        if (used / whole >= windows_max) return windows_max * window_;
        return used / whole * window_ + (used % whole).count() * window_ / whole.count();
    }
    void forget_first() {
        full_at_.erase(order_.begin()->second);
        order_.erase(order_.begin());
    }

    Milliseconds allowance_;
    std::size_t payers_max_;
    base::Duration window_;
    std::map<Payer, base::Timestamp> full_at_;           // When the whole allowance is there again.
    std::set<std::pair<base::Timestamp, Payer>> order_;  // The same, first who is free first.
};

}  // namespace node
