#pragma once

#include "base/pinned.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

namespace node::http {

// One token bucket for each address: `per_second` requests, bursts of twice that.
//
// Thread: any. Memory is bounded: when too many addresses are known, all start anew.
class RateLimiter : base::Pinned {
  public:
    using Clock = std::chrono::steady_clock;

    // 0: no limit.
    explicit RateLimiter(unsigned per_second) : per_second_(per_second) {}

    [[nodiscard]] bool allow(const std::string& address, Clock::time_point now);

  private:
    struct Bucket {
        double tokens = 0;
        Clock::time_point filled;
    };
    static constexpr std::size_t kAddressesMax = 65'536;

    unsigned per_second_;
    std::mutex mutex_;
    std::unordered_map<std::string, Bucket> buckets_;
};

// An amount held for as long as this lives, and then given back.
class Charge : base::Pinned {
  public:
    explicit Charge(std::atomic<std::size_t>& total, std::size_t amount = 0) : total_(total) {
        add(amount);
    }
    ~Charge() { total_ -= amount_; }

    // Holds more; returns the total of all holders.
    std::size_t add(std::size_t amount) {
        amount_ += amount;
        return total_ += amount;
    }

  private:
    std::atomic<std::size_t>& total_;
    std::size_t amount_ = 0;
};

}  // namespace node::http
