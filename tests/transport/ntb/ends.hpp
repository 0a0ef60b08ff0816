#pragma once

#include "transport/link/fast_path.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

// Two ends of a path of some kind, moved by hand.
namespace tests {

namespace link = transport::link;
using transport::Driver;
using transport::Lane;
using namespace std::chrono_literals;

inline base::Bytes frame(std::size_t size, unsigned seed) {
    base::Bytes out(size);
    for (std::size_t i = 0; i < size; ++i)
        out[i] = static_cast<std::byte>(i * 31 + seed);
    return out;
}

inline link::PathSecrets secrets_of(bool leads) {
    link::PathSecrets out;
    for (std::size_t lane = 0; lane < transport::kLanes; ++lane) {
        (leads ? out.out : out.in)[lane].bytes.fill(static_cast<std::byte>(1 + lane));
        (leads ? out.in : out.out)[lane].bytes.fill(static_cast<std::byte>(7 + lane));
    }
    return out;
}

// A node's end: what a connection would do, by hand.
template <class K>
class EndOf : public link::FastUser {
  public:
    explicit EndOf(std::unique_ptr<K> of) : kind(std::move(of)) {}

    [[nodiscard]] base::Result<base::Bytes> prepare(base::ByteView peer_address, bool leads) {
        link::FastUser& user = *this;
        auto prepared = kind->prepare(
            {.peer_address = peer_address, .leads = leads, .secrets = secrets_of(leads)}, user);
        if (!prepared) return base::fail(prepared.error());
        path = std::move(*prepared);
        return path->parameters();
    }
    void on_fast_ready() override {
        while (path != nullptr && is_reading) {
            const auto received = path->peek();
            if (!received) {
                failure = received.error().detail;
                path.reset();
                return;
            }
            if (!*received) return;
            arrived[index((*received)->lane)].push_back(base::to_bytes((*received)->record));
            path->consume((*received)->lane);
        }
    }
    // Sends what has room. False: the path has failed.
    void turn(base::Timestamp now) {
        Driver& driver = kind->driver();
        driver.drain_events();
        driver.progress(now, 10);
        if (path == nullptr) return;
        if (auto begun = path->begin_turn(); !begun) {
            failure = begun.error().detail;
            path.reset();
            return;
        }
        for (const Lane lane : {Lane::control, Lane::data}) {
            auto& queue = to_send[index(lane)];
            while (!queue.empty() && path->has_room(lane)) {
                path->send(lane, queue.front());
                queue.pop_front();
            }
        }
        path->end_turn(now);
    }
    // Nothing happens any more until the other does something.
    [[nodiscard]] bool sleeps() {
        Driver& driver = kind->driver();
        if (driver.arm() == Driver::Arm::busy) return false;
        pollfd wait{.fd = driver.event_fd(), .events = POLLIN, .revents = 0};
        return ::poll(&wait, 1, 0) == 0;
    }
    static std::size_t index(Lane lane) { return static_cast<std::size_t>(lane); }

    std::unique_ptr<K> kind;
    std::unique_ptr<link::FastPath> path;
    std::array<std::deque<base::Bytes>, transport::kLanes> to_send;
    std::array<std::vector<base::Bytes>, transport::kLanes> arrived;
    std::string failure;
    bool is_reading = true;
};

// Two of them, with a path between them.
template <class E>
struct EndsOf {
    EndsOf() { join(); }
    template <class A, class B>
    EndsOf(A&& of_leader, B&& of_follower)
        : leader(std::forward<A>(of_leader)), follower(std::forward<B>(of_follower)) {
        join();
    }

    // Both have a path, which is brought up.
    void join() {
        const auto of_leader = leader.prepare(follower.kind->address(), true);
        const auto of_follower = follower.prepare(leader.kind->address(), false);
        REQUIRE(of_leader);
        REQUIRE(of_follower);
        REQUIRE(follower.path->bring_up(*of_leader));
        REQUIRE(leader.path->bring_up(*of_follower));
    }
    // Until both sleep.
    void run() {
        for (int turns = 0; turns < 10'000; ++turns) {
            leader.turn(now);
            follower.turn(now);
            if (leader.sleeps() && follower.sleeps()) return;
        }
        FAIL("two ends never come to rest");
    }

    base::Timestamp now{1s};
    E leader;
    E follower;
};

}  // namespace tests
