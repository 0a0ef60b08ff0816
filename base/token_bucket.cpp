#include "base/token_bucket.hpp"

#include <algorithm>

namespace base {

namespace {

// What was not used before that is lost; keeps the products small.
constexpr Duration kFullAfter = std::chrono::seconds(10);

}  // namespace

void TokenBucket::fill(Timestamp now) {
    const Duration elapsed = std::clamp(now - filled_at_, Duration(0), kFullAfter);
    filled_at_ = now;
    level_ = std::min(level_ + static_cast<std::uint64_t>(elapsed.count()) * rate_.per_second,
                      rate_.burst * kScale);
}

bool TokenBucket::has(Timestamp now, std::uint64_t amount) {
    fill(now);
    return level_ >= amount * kScale;
}

bool TokenBucket::take(Timestamp now, std::uint64_t amount) {
    if (!has(now, amount)) return false;
    level_ -= amount * kScale;
    return true;
}

void TokenBucket::spend(Timestamp now, std::uint64_t amount) {
    fill(now);
    level_ -= std::min(level_, amount * kScale);
}

}  // namespace base
