#pragma once

#include "base/pinned.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace node::http {

// Who is connected, whose connection makes room when all places are taken, and whose when answers
// are not taken (spec 10). It knows no socket. An origin is what counts as one sender; an empty one
// has no bound of its own.
//
// Thread: one at a time, by its owner's lock.
class ConnectionTable : base::Pinned {
  public:
    using Id = std::uint64_t;
    using Time = std::chrono::steady_clock::time_point;

    struct Bounds {
        std::size_t connections = SIZE_MAX;
        std::size_t connections_of_origin = SIZE_MAX;
        std::size_t held = SIZE_MAX;  // Bytes.
        std::size_t held_of_origin = SIZE_MAX;
    };

    explicit ConnectionTable(const Bounds& bounds) : bounds_(bounds) {}

    [[nodiscard]] bool is_full() const { return connections_.size() >= bounds_.connections; }
    // Whether this origin has all that it may.
    [[nodiscard]] bool has_most(const std::string& origin) const;
    // A connection that is busy.
    Id add(const std::string& origin);
    void set_busy(Id id);
    void set_idle(Id id, Time now);
    void remove(Id id);
    // Of the origins with idle connections the one with the most connections; of its idle ones the
    // one that has been so for longest. Nothing: none is idle.
    [[nodiscard]] std::optional<Id> find_to_close() const;

    // Bytes that are held for this connection: of its request, from their arrival until it is
    // answered, and of answers that it has not taken. Some are no longer.
    void add_held(Id id, std::size_t bytes, Time now);
    void take_held(Id id, std::size_t bytes, Time now);
    // Nothing: there are not too many, or all that have any took some after `before`. Else of all,
    // or, where it is this origin that has too many, of its own the one that has taken none for
    // longest. One that is alone in its origin may have more than that.
    [[nodiscard]] std::optional<Id> find_slow(Id added, Time before) const;
    [[nodiscard]] std::size_t size() const { return connections_.size(); }

  private:
    struct Origin {
        std::size_t count = 0;
        std::size_t held = 0;
        std::set<std::pair<Time, Id>> idle;
        std::set<std::pair<Time, Id>>
            readers;  // By when they took some; those for whom bytes are held.
    };
    struct Connection {
        std::map<std::string, Origin>::iterator origin;
        std::optional<Time> idle_since;
        std::size_t held = 0;
        Time took_at;
    };

    Bounds bounds_;
    std::size_t held_ = 0;
    Id next_ = 0;
    std::map<std::string, Origin> origins_;
    std::unordered_map<Id, Connection> connections_;
};

}  // namespace node::http
