#pragma once

#include "base/time.hpp"
#include "base/token_bucket.hpp"
#include "transport/types.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace transport::tcp {

// When the handshakes of those that have connected begin (spec 10, "anybody at the p2p port"). Each
// takes half a millisecond of the thread that carries votes, whatever comes of it.
//
// An origin may connect so often, and is closed at once where it does so more often. Those that do
// not have a rate together: their connections wait for it, of each origin in turn. From where a
// node was up, or is dialled, nobody waits, and may come more often.
//
// Bounded: in origins here, in connections by who calls arrive().
class Callers {
  public:
    using Rate = base::TokenBucket::Rate;
    struct Rates {
        Rate of_origin{10, 20};
        Rate of_known_origin{50, 100};
        Rate of_strangers{200, 50};  // Together.
    };
    static constexpr std::size_t kOriginsMax = 1'024;  // Of either kind.
    static constexpr base::Duration kKnownFor = std::chrono::hours(24);

    explicit Callers(const Rates& rates) : rates_(rates), strangers_(rates.of_strangers) {}

    // Of an origin (origin_of()).
    enum class Standing : std::uint8_t { known, stranger, too_often };
    // One has connected from there. too_often: it is to be closed, and does not wait here.
    [[nodiscard]] Standing arrive(ChannelId channel,
                                  const std::string& origin,
                                  base::Timestamp now);
    // Whose handshake begins now; called until there is nobody more.
    [[nodiscard]] std::optional<ChannelId> next(base::Timestamp now);
    // It waits no more; one that does not wait does nothing.
    void remove(ChannelId channel);
    // A node is up from there, or is dialled. Over the bound the one seen longest ago is forgotten.
    void note_known(const std::string& origin, base::Timestamp now);

  private:
    struct Known {
        base::TokenBucket bucket;
        base::Timestamp seen_at;
    };

    [[nodiscard]] base::TokenBucket& bucket_of(const std::string& origin);

    Rates rates_;
    base::TokenBucket strangers_;
    std::map<std::string, Known> known_;
    std::map<std::string, base::TokenBucket> others_;
    std::deque<std::string> oldest_;  // Of others_: in this order they give way to new ones.
    std::deque<ChannelId> first_;     // From known ones.
    std::map<std::string, std::deque<ChannelId>> waiting_;
    std::deque<std::string> turns_;  // Who is in waiting_, each once: who came first, first.
};

}  // namespace transport::tcp
