#include "p2p/budget.hpp"

#include <algorithm>

namespace p2p {

namespace {

// A bucket is full after this, whatever its rate; keeps the products small.
constexpr base::Duration kFullAfter = std::chrono::seconds(10);
constexpr std::uint64_t kBytesPerSecond = 64U << 20U;

std::array<TokenBucket, kMessageTypes> make_buckets(std::uint64_t slots) {
    using Rate = TokenBucket::Rate;
    // Of a slot: a block and its forks; two kinds of votes of two schedules, said twice.
    const std::uint64_t votes = 4 * chain::kProducersMax * slots;
    const std::array<Rate, kMessageTypes> rates = {{
        {1, 1},
        {1, 1},                                                // hello
        {20 + 2 * slots, 100 + 2 * slots},                     // notice
        {1, 1},                                                // go_away
        {10, 20},                                              // time
        {50 + 4 * slots, 200 + 4 * slots},                     // request
        {100, 200},                                            // sync_request
        {8 * slots, 64 + 8 * slots},                           // header
        {8 * slots, 64 + 8 * slots},                           // blocks
        {20'000, 40'000},                                      // transaction
        {votes, 2 * votes},                                    // vote
        {16 * slots + 16, 64 + 16 * slots},                    // certificate
        {1'000, 1'000},                                        // snapshot_request
        {10, 100},                                             // snapshot_chunk
        {1'000, 1'000},                                        // ack
        {2 * chain::kProducersMax, 4 * chain::kProducersMax},  // clock
        {1, 1},                                                // range_proof: as asked
    }};
    return [&rates]<std::size_t... I>(std::index_sequence<I...>) {
        return std::array<TokenBucket, kMessageTypes>{TokenBucket(rates[I])...};
    }(std::make_index_sequence<kMessageTypes>());
}

}  // namespace

bool TokenBucket::take(base::Timestamp now, std::uint64_t amount) {
    const base::Duration elapsed = std::clamp(now - filled_at_, base::Duration(0), kFullAfter);
    filled_at_ = now;
    level_ = std::min(level_ + static_cast<std::uint64_t>(elapsed.count()) * rate_.per_second,
                      rate_.burst * kScale);
    if (level_ < amount * kScale) return false;
    level_ -= amount * kScale;
    return true;
}

Budget::Budget(std::uint32_t interval_milliseconds)
    : messages_(make_buckets(std::max<std::uint64_t>(1, 1000 / interval_milliseconds))),
      bytes_({kBytesPerSecond, kBytesPerSecond}) {}

}  // namespace p2p
