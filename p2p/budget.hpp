#pragma once

#include "base/time.hpp"
#include "base/token_bucket.hpp"
#include "p2p/messages.hpp"

#include <array>
#include <cstdint>

namespace p2p {

using base::TokenBucket;

// The slots of a second, rounded up: by these is bounded what comes with slots.
[[nodiscard]] constexpr std::uint64_t slots_of_second(std::uint32_t interval_milliseconds) {
    return (999 + interval_milliseconds) / interval_milliseconds;
}

// What a node passes on of what others have signed: of headers and blocks in all, of votes and
// clocks for each key. What is over it waits; of a block the header goes alone.
//
// Who passes something on is charged for it, not who signed it, and a liar gives other good things
// to each honest node, all of which they pass to each other. So a node bounds what it sends itself,
// below what an honest peer lets pass (Budget), whatever anybody gives to it: see budget.cpp.
[[nodiscard]] constexpr TokenBucket::Rate relayed_headers(std::uint64_t slots) {
    return {6 * slots, 32 + 6 * slots};
}
[[nodiscard]] constexpr TokenBucket::Rate relayed_votes_of_key(std::uint64_t slots) {
    return {6 * slots, 6 * slots};
}
[[nodiscard]] constexpr TokenBucket::Rate relayed_blocks(std::uint64_t slots) {
    return {5 * slots, 32 + slots};
}
inline constexpr TokenBucket::Rate kRelayedBlockBytes{16U << 20U, 16U << 20U};
inline constexpr TokenBucket::Rate kRelayedClocksOfKey{2, 8};
// What a node asks one peer for by id, be it named ever so much, and what that may answer: no
// budget counts answers that were asked for.
[[nodiscard]] constexpr TokenBucket::Rate asked_blocks(std::uint64_t slots) {
    return {20 + 2 * slots, 80 + 2 * slots};
}
// And for transactions that others offered, too, and did not send.
inline constexpr TokenBucket::Rate kAskedAgain{4, 1};
// Transactions that blocks name; at once more than a block may have.
inline constexpr TokenBucket::Rate kAcceptedNames{40'000, 80'000};
static_assert(kAcceptedNames.burst > chain::kBlockTransactionsMax);
inline constexpr TokenBucket::Rate kAnsweredBytes{32U << 20U, 32U << 20U};

// Requests for blocks by id to one peer, and the bytes that answer.
class Asking {
  public:
    explicit Asking(std::uint32_t interval_milliseconds)
        : requests_(asked_blocks(slots_of_second(interval_milliseconds))) {}

    [[nodiscard]] bool may_ask(base::Timestamp now) {
        return requests_.has(now, 1) && bytes_.has(now, kRangeBytesMax);
    }
    void note_request(base::Timestamp now) { requests_.spend(now, 1); }
    void note_answer(base::Timestamp now, std::size_t bytes) { bytes_.spend(now, bytes); }

  private:
    TokenBucket requests_;
    TokenBucket bytes_{kAnsweredBytes};
};

// What one peer may send unasked: messages of each type, and bytes.
class Budget {
  public:
    explicit Budget(std::uint32_t interval_milliseconds);

    [[nodiscard]] bool take_message(base::Timestamp now, MessageType type) {
        return messages_[static_cast<std::size_t>(type)].take(now, 1);
    }
    [[nodiscard]] bool take_bytes(base::Timestamp now, std::size_t bytes) {
        return bytes_.take(now, bytes);
    }
    // Transactions that its blocks name in the place of holding them.
    [[nodiscard]] bool take_names(base::Timestamp now, std::size_t names) {
        return names_.take(now, names);
    }

  private:
    std::array<TokenBucket, kMessageTypes> messages_;
    TokenBucket bytes_;
    TokenBucket names_{kAcceptedNames};
};

}  // namespace p2p
