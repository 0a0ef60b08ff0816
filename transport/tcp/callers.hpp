#pragma once

#include "base/time.hpp"
#include "base/token_bucket.hpp"
#include "transport/tcp/handshakes.hpp"
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
// An origin (origin_of()) may connect so often, and is closed at once where it does so more often.
// The others wait in line for a rate that strangers have together, of each origin in turn. From
// where a node was up, or is dialled, they wait in a line of their own, which is quicker, and may
// come more often.
class Callers {
  public:
    using Rate = base::TokenBucket::Rate;
    struct Rates {
        Rate of_origin{10, 20};
        Rate of_known_origin{50, 100};
        Rate of_strangers{200, 20};  // Together. So one that has begun has 200 ms (64 of them).
        Rate of_known{400, 200};     // Together.
    };
    static constexpr std::size_t kOriginsMax = 1'024;  // Of either kind.
    static constexpr base::Duration kKnownFor = std::chrono::hours(24);

    // At most `most` wait in either line, of strangers at most `most_of_origin` of one origin.
    Callers(const Rates& rates, std::size_t most, std::size_t most_of_origin)
        : rates_(rates),
          known_line_(rates.of_known, most, most),
          line_(rates.of_strangers, most, most_of_origin) {}

    struct Arrival {
        bool is_too_often = false;  // It does not wait, and is to be closed.
        // Who waits no more for it, and is to be closed.
        std::optional<Handshakes::Victim> gives_way{};
    };
    // One has connected from there. Channels come in the order of their ids.
    [[nodiscard]] Arrival arrive(ChannelId channel, const std::string& origin, base::Timestamp now);

    struct Turn {
        ChannelId channel;
        bool is_known = false;  // Its origin.
    };
    // Whose handshake begins now; called until there is nobody more.
    [[nodiscard]] std::optional<Turn> next(base::Timestamp now);
    // It waits no more; one that does not wait does nothing.
    void remove(ChannelId channel);
    // A node is up from there, or is dialled. Over the bound the one seen longest ago is forgotten.
    void note_known(const std::string& origin, base::Timestamp now);

  private:
    class Line {
      public:
        Line(const Rate& together, std::size_t most, std::size_t most_of_origin)
            : rate_(together), bounds_(most, most_of_origin) {}

        [[nodiscard]] std::optional<Handshakes::Victim> put(ChannelId channel,
                                                            const std::string& origin);
        [[nodiscard]] std::optional<ChannelId> take(base::Timestamp now);
        void remove(ChannelId channel);

      private:
        base::TokenBucket rate_;
        Handshakes bounds_;
        std::map<std::string, std::deque<ChannelId>> waiting_;
        std::deque<std::string> turns_;  // Who is in waiting_, each once: who came first, first.
    };
    struct Known {
        base::TokenBucket bucket;
        base::Timestamp seen_at;
    };

    // Of this origin, if it is a known one.
    [[nodiscard]] Known* find_known(const std::string& origin, base::Timestamp now);
    [[nodiscard]] base::TokenBucket& bucket_of(const std::string& origin);

    Rates rates_;
    Line known_line_;
    Line line_;
    std::map<std::string, Known> known_;
    std::map<std::string, base::TokenBucket> others_;
    std::deque<std::string> oldest_;  // Of others_: in this order they give way to new ones.
};

}  // namespace transport::tcp
