#pragma once

#include "base/time.hpp"

#include <cstdint>

namespace base {

// Lets so many units a second pass on average, and `burst` at once. In integers.
class TokenBucket {
  public:
    struct Rate {
        std::uint64_t per_second = 1;
        std::uint64_t burst = 1;
    };

    explicit TokenBucket(Rate rate) : rate_(rate), level_(rate.burst * kScale) {}

    // Whether `amount` may pass now; takes it if so.
    [[nodiscard]] bool take(Timestamp now, std::uint64_t amount);
    // Whether it could be taken.
    [[nodiscard]] bool has(Timestamp now, std::uint64_t amount);
    // Takes what is there of `amount`, which has passed.
    void spend(Timestamp now, std::uint64_t amount);

  private:
    static constexpr std::uint64_t kScale = 1'000'000'000;  // A unit, in nanoseconds of rate 1.

    void fill(Timestamp now);

    Rate rate_;
    std::uint64_t level_;
    Timestamp filled_at_{};
};

}  // namespace base
