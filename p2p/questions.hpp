#pragma once

#include "p2p/messages.hpp"
#include "p2p/seen.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace p2p {

// The bit of a correlation that tells our requests by id from those of the sync manager.
inline constexpr std::uint64_t kById = std::uint64_t{1} << 63U;

// The questions for blocks by id that are not answered yet. No budget counts an answer, so it holds
// nothing but the blocks that this question names, each of them once and whole.
class Questions {
  public:
    // Returns its correlation.
    std::uint64_t add(PeerSlot slot, const std::vector<chain::BlockId>& ids, base::Timestamp now);
    // Of this peer.
    [[nodiscard]] std::size_t count_of(PeerSlot slot) const;
    // Whether this message is of an answer, and within what an answer may take; counts it.
    [[nodiscard]] bool take(PeerSlot slot, const Envelope& envelope);
    // What such a message holds. The last ends the question, and so does a wrong one. Returns what
    // is wrong; empty: nothing.
    [[nodiscard]] std::string_view check(const Envelope& envelope, const Blocks& blocks);
    // Those that are too old to be answered.
    void drop(base::Timestamp now);
    void forget(PeerSlot slot);

  private:
    struct Question {
        PeerSlot slot = 0;
        base::Timestamp at{};
        std::set<chain::BlockId> ids{};  // Not answered yet.
        std::size_t messages = 0;        // That may still answer,
        std::size_t bytes = 0;           // and what has answered.
    };
    std::map<std::uint64_t, Question> questions_;  // By correlation.
    std::uint64_t next_correlation_ = 1;
};

}  // namespace p2p
