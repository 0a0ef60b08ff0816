#pragma once

#include "kinds.hpp"
#include "transport/rdma/queue_pair.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

// Paths moved by hand, on real verbs, and a peer that uses its queue pair as no node would.
namespace tests::verbs {

using namespace std::chrono_literals;
using transport::Lane;

inline constexpr auto kPatience = 30s;

inline base::Timestamp now() {
    return base::Timestamp(std::chrono::steady_clock::now().time_since_epoch());
}

class Silent final : public link::FastUser {
  public:
    void on_fast_ready() override {}
};

inline base::Bytes frame_of(std::size_t size, std::uint8_t seed) {
    base::Bytes out(size);
    for (std::size_t i = 0; i < size; ++i)
        out[i] = static_cast<std::byte>(seed + i * 7);
    return out;
}

inline void turn(rdma::RdmaKind& kind) {
    kind.driver().drain_events();
    kind.driver().progress(now(), 64);
    (void)kind.driver().arm();
}

// One end: a kind and a path of it.
struct End {
    explicit End(unsigned device) : kind(make_kind(device)) {}
    explicit End(const rdma::RdmaKind::Options& options) : kind(make_kind(options)) {}

    void prepare(base::ByteView peer_address, bool leads) {
        link::PathSecrets secrets;
        auto made =
            kind->prepare({.peer_address = peer_address, .leads = leads, .secrets = secrets}, user);
        if (!made) FAIL(made.error().detail);
        path = std::move(*made);
    }
    // What came, in order; stops at a failure, which it keeps.
    void take() {
        turn(*kind);
        while (path != nullptr && failure.empty()) {
            const auto received = path->peek();
            if (!received) {
                failure = received.error().detail;
            } else if (!*received) {
                break;
            } else {
                frames.emplace_back(base::to_bytes((*received)->record));
                path->consume((*received)->lane);
            }
        }
        if (path == nullptr) return;
        if (auto begun = path->begin_turn(); !begun) failure = begun.error().detail;
        path->end_turn(now());
        if (auto alive = path->tick(now()); !alive) failure = alive.error().detail;
    }

    Silent user;
    std::unique_ptr<rdma::RdmaKind> kind;
    std::unique_ptr<link::FastPath> path;
    std::deque<base::Bytes> frames;
    std::string failure;
};

template <class F>
bool comes_true(const F& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::yield();
    }
    return true;
}

inline void bring_up(End& leader, End& follower) {
    leader.prepare(follower.kind->address(), true);
    follower.prepare(leader.kind->address(), false);
    REQUIRE(follower.path->bring_up(leader.path->parameters()));
    REQUIRE(leader.path->bring_up(follower.path->parameters()));
    // The follower looks for the leader, and is connected before the leader writes.
    REQUIRE(comes_true([&] {
        follower.take();
        leader.take();
        return leader.path->has_room(Lane::control);
    }));
}

// Sends so many frames of all lengths from one end to the other.
inline void stream(End& from, End& to, unsigned count) {
    std::deque<base::Bytes> expected;
    unsigned sent = 0;
    REQUIRE(comes_true([&] {
        INFO(from.failure << to.failure);
        REQUIRE(from.failure.empty());
        REQUIRE(to.failure.empty());
        while (sent < count && from.path->has_room(Lane::data)) {
            expected.push_back(frame_of(16 + sent * 631 % 16'000, static_cast<std::uint8_t>(sent)));
            from.path->send(Lane::data, expected.back());
            ++sent;
        }
        from.take();
        to.take();
        while (!to.frames.empty()) {
            REQUIRE(to.frames.front() == expected.front());
            to.frames.pop_front();
            expected.pop_front();
        }
        return sent == count && expected.empty() &&
               from.path->taken(Lane::data) == from.path->sent(Lane::data);
    }));
}

// Takes everything back, and sees that it is.
inline void leave(End& end) {
    end.path.reset();
    REQUIRE(comes_true([&] {
        turn(*end.kind);
        return end.kind->pairs() == 0;
    }));
    CHECK(end.kind->locked_bytes() == 0);
}

// A path from its begin to its end, with so many records each way.
inline void check_path(End& leader, End& follower, unsigned count) {
    bring_up(leader, follower);
    stream(leader, follower, count);
    stream(follower, leader, count);
    leave(leader);
    leave(follower);
}

// A peer with a queue pair of its own that writes what it likes to a path of `victim`.
struct Hostile {
    explicit Hostile(End& victim) : device(std::move(*rdma::open_device(address_of(1)))) {
        domain.reset(::ibv_alloc_pd(device.context.get()));
        queue.reset(::ibv_create_cq(device.context.get(), 1024, nullptr, nullptr, 0));
        auto made = rdma::QueuePair::create(
            device, {.domain = domain.get(), .completions = queue.get(), .own_receives = 64});
        REQUIRE(made);
        pair = std::move(*made);
        auto own =
            rdma::Memory::create(*domain, std::size_t{1} << 20, rdma::Memory::Use::peer_writes);
        REQUIRE(own);
        memory = std::move(*own);
        victim.prepare(encode(device.address), true);
        target = *rdma::decode_parameters(victim.path->parameters());
        const rdma::Parameters ours{.pair = pair->number(),
                                    .memory = memory->address(),
                                    .key = memory->remote_key(),
                                    .control_log2 = 17,
                                    .data_log2 = 17};
        REQUIRE(victim.path->bring_up(encode(ours)));
        REQUIRE(comes_true([&] {
            turn(*victim.kind);
            REQUIRE(victim.path->peek());
            return victim.path->has_room(Lane::control);
        }));
    }
    // With another key than the path's.
    void connect(std::uint32_t key) {
        const auto peer = rdma::decode_address(peer_address);
        target.key = key;
        REQUIRE(pair->connect(device, *peer, target, 0, {.receive_retries = 0}));
    }
    void connect() { connect(target.key); }
    void write(std::size_t at, std::size_t bytes, std::optional<rdma::Immediate> immediate) {
        pair->add({.bytes = memory->bytes().first(bytes),
                   .from = memory.get(),
                   .to = target.memory + at,
                   .immediate = immediate,
                   .is_reported = true});
        REQUIRE(pair->post());
    }
    // How the last write ended.
    ibv_wc_status await() {
        ibv_wc completion{};
        REQUIRE(comes_true([&] { return ::ibv_poll_cq(queue.get(), 1, &completion) == 1; }));
        if (completion.status == IBV_WC_SUCCESS) pair->complete(completion.wr_id);
        return completion.status;
    }

    rdma::Device device;
    rdma::DomainPtr domain;
    rdma::CompletionsPtr queue;
    std::unique_ptr<rdma::Memory> memory;
    std::unique_ptr<rdma::QueuePair> pair;
    rdma::Parameters target;
    base::Bytes peer_address;
};

}  // namespace tests::verbs
