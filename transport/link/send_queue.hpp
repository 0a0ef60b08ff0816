#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/channel.hpp"
#include "transport/link/frame.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace transport::link {

// How much of unfinished messages a receiver has to keep for one sender; the sender starts no
// message of several slices that would exceed it.
inline constexpr std::size_t kOpenBytesMax = 2 * kMessageBytesMax;

// A message in a queue or on its way, with its place.
struct Queued {
    Lane lane = Lane::control;
    Priority priority = 0;
    Payload payload;
};

// Where a path has room now.
struct Rooms {
    bool control = false;
    bool data = false;
    std::size_t landings = 0;  // For so many parts of long messages, which have their own way.
};

// Messages on their way into a stream, and the order in which their slices go: the most urgent
// first, but no level more than its quota in a round, so that the least urgent move too.
//
// Thread: one. Bounded in bytes for each lane.
class SendQueue : base::Pinned {
  public:
    struct Limits {
        std::array<std::size_t, kLanes> bytes{std::size_t{8} << 20, std::size_t{32} << 20};
    };
    static constexpr unsigned kQuota = 8;  // Slices of a level in a round.

    SendQueue() : SendQueue(Limits{}) {}
    explicit SendQueue(const Limits& limits) : limits_(limits) { renew_quotas(); }

    // would_block: the lane is over its bound; the payload is untouched. An empty lane takes any.
    [[nodiscard]] base::Result<void> push(Lane lane, Priority priority, Payload&& payload);
    // Writes as many whole frames as fit; returns how many bytes that is. Payloads that are
    // written go. `out` has room for one frame at least.
    [[nodiscard]] std::size_t fill(std::span<std::byte> out);

    // What goes next by a lane that has room: frames for one record, or parts of long messages.
    // Both spans hold until the next call.
    struct Next {
        Lane lane = Lane::control;
        std::size_t bytes = 0;          // Of frames, written to `out`.
        std::span<const Part> parts{};  // Their bytes lie there as long as their message.
        std::span<Queued> done{};       // Messages that end with this, for who has to keep them.
    };
    // From now on long messages go by landings, or not. None is begun.
    void use_landings(bool uses) { uses_landings_ = uses; }
    // Whether a message that is queued goes so.
    [[nodiscard]] bool has_landing() const;
    // Takes as much as goes together, in the order in which it would go alone; `out` has room for
    // one frame at least. Empty: nothing may go.
    [[nodiscard]] std::optional<Next> next(std::span<std::byte> out, const Rooms& rooms);
    // The receiver has forgotten what is unfinished: it begins anew.
    void rewind();

    // The most urgent message as a whole, for a path that cuts it itself. None may be begun.
    [[nodiscard]] std::optional<Queued> take();
    // Gives back messages that were taken, oldest first: they go before all others of their level.
    void put_back(std::vector<Queued> messages);
    // While held, fill() only finishes what is begun.
    void hold(bool is_held) { is_held_ = is_held; }
    [[nodiscard]] bool has_begun() const;

    // True once after would_block, when half of the lane is free again.
    [[nodiscard]] bool take_writable(Lane lane);
    // Forgets what is queued; what was begun is never finished.
    void drop(Lane lane);

    // Nothing is queued.
    [[nodiscard]] bool empty() const { return messages_ == 0; }
    // With an overhead for each message.
    [[nodiscard]] std::size_t queued_bytes(Lane lane) const { return bytes_[index(lane)]; }
    // Not yet written by fill().
    [[nodiscard]] std::uint64_t unsent_bytes() const { return unsent_bytes_; }

  private:
    // Messages of one lane and one level, oldest first, from `head` on. Keeps its memory.
    struct Queue {
        std::vector<Payload> messages;
        std::size_t head = 0;
        std::size_t sent = 0;  // Of the oldest.
        unsigned quota = 0;

        [[nodiscard]] bool empty() const { return head == messages.size(); }
        [[nodiscard]] const Payload& front() const { return messages[head]; }
        void pop();
    };
    static constexpr std::size_t kQueues = kLanes * kPriorities;

    static std::size_t index(Lane lane) { return static_cast<std::size_t>(lane); }
    static Lane lane_of(std::size_t queue) { return static_cast<Lane>(queue % kLanes); }
    [[nodiscard]] bool lands(std::size_t queue) const;
    [[nodiscard]] bool has_room(std::size_t queue, const Rooms& rooms) const;
    // Of lanes that have room.
    void renew_quotas(const Rooms& rooms = {true, true});
    // The queue whose slice is next; kQueues: none.
    [[nodiscard]] std::size_t choose(const Rooms& rooms = {true, true});
    [[nodiscard]] bool may_go(const Queue& queue, Lane lane) const;
    // Returns how many bytes; 0: there is no room.
    std::size_t write_slice(std::size_t queue, std::span<std::byte> out);
    // As many as go together, `queue`'s first; how many bytes.
    std::size_t write_slices(std::size_t queue, std::span<std::byte> out, const Rooms& rooms);
    void take_parts(std::size_t queue, const Rooms& rooms);
    [[nodiscard]] Part take_part(std::size_t queue);
    // The next so many bytes of a queue's oldest message are written.
    void count(Queue& queue, std::size_t bytes, unsigned slices);
    // Nothing of the queue's oldest message is left to write.
    [[nodiscard]] bool is_written(std::size_t queue) const;
    Queued pop_oldest(std::size_t queue);
    // For who has to keep it, if it is written.
    void finish_oldest(std::size_t queue);

    Limits limits_;
    std::array<Queue, kQueues> queues_;  // Of level p: control 2p, data 2p + 1.
    std::array<std::size_t, kLanes> bytes_{};
    std::array<bool, kLanes> was_full_{};
    bool is_held_ = false;
    bool uses_landings_ = false;
    std::size_t messages_ = 0;
    std::size_t open_bytes_ = 0;  // Of messages that are begun and have more than one slice.
    std::uint64_t unsent_bytes_ = 0;
    std::vector<Part> parts_;   // Of next().
    std::vector<Queued> done_;  // The same.
};

}  // namespace transport::link
