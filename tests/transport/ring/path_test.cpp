// Both directions of a path between two sides that sleep: every frame arrives, in order, no
// wake-up is lost for longer than kRingAgain, and what a peer must not write ends the path.
#include "transport/ring/path.hpp"

#include "ends.hpp"
#include "sim_window.hpp"
#include "transport/ring/mapped_store.hpp"

namespace tests {

namespace {

using transport::Lane;
using namespace std::chrono_literals;

constexpr ring::Geometry kGeometry{.ring_bytes = {ring::kRingBytesMin, ring::kRingBytesMin}};

ring::Secrets secrets_of(bool is_first) {
    ring::Secrets out;
    for (std::size_t lane = 0; lane < transport::kLanes; ++lane) {
        (is_first ? out.out : out.in)[lane].bytes.fill(static_cast<std::byte>(1 + lane));
        (is_first ? out.in : out.out)[lane].bytes.fill(static_cast<std::byte>(7 + lane));
    }
    return out;
}

// One end: an event loop that does what the path's users do.
template <class S>
struct Side {
    template <class... Args>
    Side(Memory& ours, Memory& peers, bool is_first, Args... args)
        : store(peers.bytes(), args...),
          path(ours.bytes(), store, kGeometry, kGeometry, secrets_of(is_first)) {}

    // A turn of the loop: takes all that came, sends what it can.
    void turn(base::Timestamp now) {
        while (true) {
            auto received = path.peek();
            REQUIRE(received);
            if (!*received) break;
            const std::size_t lane = (*received)->lane == Lane::control ? 0 : 1;
            arrived[lane].push_back(base::to_bytes((*received)->record));
            path.consume((*received)->lane);
        }
        path.return_credits();
        REQUIRE(path.take_credits());
        for (std::size_t lane = 0; lane < transport::kLanes; ++lane) {
            while (!to_send[lane].empty() &&
                   path.send(static_cast<Lane>(lane), to_send[lane].front()))
                to_send[lane].pop_front();
        }
        rings_peer = path.take_doorbell(now) || rings_peer;
        is_asleep = path.arm();
    }

    S store;
    ring::Path<S> path;
    std::array<std::deque<base::Bytes>, transport::kLanes> to_send;
    std::array<std::deque<base::Bytes>, transport::kLanes> arrived;
    bool is_asleep = false;
    bool rings_peer = false;  // Its doorbell is on its way.
};

// Two sides on one thread; a seed decides who moves, what becomes visible, and when a doorbell or
// a timer wakes somebody.
class World {
  public:
    explicit World(std::uint64_t seed)
        : seed_(seed),
          rng_(seed),
          first_(first_memory_, second_memory_, true, seed),
          second_(second_memory_, first_memory_, false, seed + 1000) {}

    // Everything that `frames` turns gave them to send has arrived.
    void run(std::size_t frames) {
        base::Timestamp progress_at{};
        std::size_t before = 0;
        while (frames > 0 || arrived() < wanted_) {
            now_ += std::chrono::microseconds(10 + rng_.below(50));
            const std::size_t i = rng_.below(2);
            if (frames > 0 && rng_.below(3) == 0) {
                give(i);
                --frames;
            }
            move(*sides_[i], *sides_[1 - i]);
            if (arrived() != before) progress_at = now_;
            before = arrived();
            REQUIRE((frames > 0 || now_ - progress_at < 50ms));
        }
    }
    [[nodiscard]] bool has_all_in_order() const {
        return first_.arrived == expected_[0] && second_.arrived == expected_[1];
    }

  private:
    using Lanes = std::array<std::deque<base::Bytes>, transport::kLanes>;

    void give(std::size_t i) {
        const std::size_t lane = rng_.below(2);
        const std::size_t max = rng_.below(6) == 0 ? ring::kPayloadBytesMax : 200;
        base::Bytes frame = pattern(1 + rng_.below(max), seed_ * 1000 + wanted_);
        expected_[1 - i][lane].push_back(frame);
        sides_[i]->to_send[lane].push_back(std::move(frame));
        sides_[i]->is_asleep = false;  // Its own work wakes it.
        ++wanted_;
    }
    void move(Side<SimWindow>& side, Side<SimWindow>& other) {
        if (other.rings_peer && rng_.below(2) == 0) {
            other.rings_peer = false;
            side.is_asleep = false;
        }
        // The timer of who has something unread, or waits for room.
        const bool has_timer =
            side.path.has_unread() || !side.to_send[0].empty() || !side.to_send[1].empty();
        if (has_timer && rng_.below(20) == 0) side.is_asleep = false;
        side.store.evict_some();
        if (!side.is_asleep) side.turn(now_);
    }
    [[nodiscard]] std::size_t arrived() const {
        return first_.arrived[0].size() + first_.arrived[1].size() + second_.arrived[0].size() +
               second_.arrived[1].size();
    }

    std::uint64_t seed_;
    base::Rng rng_;
    Memory first_memory_{kGeometry.region_bytes()};
    Memory second_memory_{kGeometry.region_bytes()};
    Side<SimWindow> first_;
    Side<SimWindow> second_;
    std::array<Side<SimWindow>*, 2> sides_{&first_, &second_};
    std::array<Lanes, 2> expected_;
    std::size_t wanted_ = 0;
    base::Timestamp now_{};
};

// Two sides that a test moves itself, over plain memory.
struct PlainSides {
    using Store = ring::MappedStore;

    Memory first_memory{kGeometry.region_bytes()};
    Memory second_memory{kGeometry.region_bytes()};
    Side<Store> first{first_memory, second_memory, true, Store::Mapping::write_back};
    Side<Store> second{second_memory, first_memory, false, Store::Mapping::write_back};
};

}  // namespace

TEST_CASE("two sides that sleep exchange everything they have") {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        World world(seed);
        world.run(400);
        CHECK(world.has_all_in_order());
    }
}

TEST_CASE("who is awake is not rung, who sleeps is rung once, and again when nothing happens") {
    PlainSides sides;
    auto& first = sides.first;
    auto& second = sides.second;
    base::Timestamp now{1s};
    const base::Bytes frame = pattern(100, 1);
    REQUIRE(first.path.send(Lane::control, frame));
    CHECK_FALSE(first.path.take_doorbell(now));
    CHECK_FALSE(second.path.arm());  // Something is there already.
    CHECK(first.path.take_doorbell(now));
    CHECK_FALSE(first.path.take_doorbell(now));
    CHECK_FALSE(first.path.take_doorbell(now + 999us));
    CHECK(first.path.take_doorbell(now + 1ms));
    second.turn(now);
    CHECK(second.arrived[0].size() == 1);
    CHECK(second.is_asleep);
    REQUIRE(first.path.take_credits());
    CHECK_FALSE(first.path.has_unread());
    CHECK_FALSE(first.path.take_doorbell(now + 5ms));
    REQUIRE(first.path.send(Lane::data, frame));
    CHECK(first.path.take_doorbell(now + 5ms));
}

TEST_CASE("who waits for room is rung when there is some") {
    PlainSides sides;
    auto& first = sides.first;
    auto& second = sides.second;
    const base::Bytes frame = pattern(16'000, 1);
    while (first.path.send(Lane::data, frame)) {
    }
    CHECK(first.path.arm());
    CHECK_FALSE(second.path.take_doorbell(base::Timestamp{1s}));
    second.turn(base::Timestamp{1s});
    CHECK(second.rings_peer);
    CHECK_FALSE(first.path.arm());
    REQUIRE(first.path.take_credits());
    CHECK(first.path.send(Lane::data, frame));
}

TEST_CASE("control goes before data") {
    PlainSides sides;
    auto& first = sides.first;
    auto& second = sides.second;
    REQUIRE(first.path.send(Lane::data, pattern(10, 1)));
    REQUIRE(first.path.send(Lane::control, pattern(10, 2)));
    for (const Lane lane : {Lane::control, Lane::data}) {
        const auto received = second.path.peek();
        REQUIRE(received);
        REQUIRE(*received);
        CHECK((*received)->lane == lane);
        second.path.consume(lane);
    }
}

TEST_CASE("a peer that lies about credit is refused") {
    PlainSides sides;
    sides.first_memory.bytes()[0] = std::byte{64};
    const auto taken = sides.first.path.take_credits();
    REQUIRE_FALSE(taken);
    CHECK(taken.error().code == base::Errc::invalid);
}

}  // namespace tests
