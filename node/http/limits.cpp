#include "node/http/limits.hpp"

#include <algorithm>

namespace node::http {

bool RateLimiter::allow(const std::string& address, Clock::time_point now) {
    if (per_second_ == 0) return true;
    const double burst = 2.0 * per_second_;
    const std::scoped_lock lock(mutex_);
    if (buckets_.size() >= kAddressesMax && !buckets_.contains(address)) buckets_.clear();
    const auto [found, is_new] = buckets_.try_emplace(address, Bucket{burst, now});
    Bucket& bucket = found->second;
    const double seconds = std::chrono::duration<double>(now - bucket.filled).count();
    bucket.tokens = std::min(burst, bucket.tokens + seconds * per_second_);
    bucket.filled = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
}

}  // namespace node::http
