// Two ends of a window in shared memory, moved by hand: frames both ways, full rings, sleep that
// costs nothing, ends that leave; and peers that greet wrongly or write anything anywhere.
#include "base/rng.hpp"
#include "ends.hpp"
#include "kinds.hpp"
#include "transport/ntb/shm_kind.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <poll.h>
#include <vector>

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace tests {

using transport::Descriptor;

namespace {

ntb::ShmKind::Options small_rings() {
    return {.control_log2 = 16, .data_log2 = 16, .host = {}};
}

class End final : public EndOf<ntb::ShmKind> {
  public:
    explicit End(ntb::ShmKind::Options options = small_rings())
        : EndOf(make_shm(std::move(options))) {}
};
using Ends = EndsOf<End>;

}  // namespace

TEST_CASE("frames go both ways through shared memory, and rest costs nothing") {
    const std::size_t descriptors = count_descriptors();
    {
        Ends ends;
        ends.run();
        for (unsigned i = 0; i < 1'000; ++i) {
            const Lane lane = i % 3 == 0 ? Lane::control : Lane::data;
            const std::size_t max = lane == Lane::control ? 4'000 : 16'000;
            ends.leader.to_send[End::index(lane)].push_back(frame(1 + i * 37 % max, i));
            ends.follower.to_send[End::index(lane)].push_back(frame(1 + i * 41 % max, i));
        }
        const auto of_leader = ends.leader.to_send;
        const auto of_follower = ends.follower.to_send;
        ends.run();
        for (std::size_t lane = 0; lane < transport::kLanes; ++lane) {
            CHECK(std::ranges::equal(ends.follower.arrived[lane], of_leader[lane]));
            CHECK(std::ranges::equal(ends.leader.arrived[lane], of_follower[lane]));
        }
        // What the peer has read is looked for once more; then there is nothing to wake for.
        ends.now += 1s;
        ends.run();
        ends.now += 1s;
        ends.run();
        CHECK_FALSE(ends.leader.kind->driver().wake_at());
        CHECK_FALSE(ends.follower.kind->driver().wake_at());
        CHECK(ends.leader.kind->windows() == 1);
        CHECK(count_windows() == 4);
    }
    CHECK(count_windows() == 0);
    CHECK(count_descriptors() == descriptors);
}

TEST_CASE("who does not read stops the other, and loses nothing") {
    Ends ends;
    ends.run();
    ends.follower.is_reading = false;
    for (unsigned i = 0; i < 100; ++i)
        ends.leader.to_send[1].push_back(frame(16'000, i));
    ends.run();
    const std::size_t left = ends.leader.to_send[1].size();
    CHECK(left >= 96);
    // It waits, and looks less and less often.
    base::Duration gap{};
    for (int i = 0; i < 12; ++i) {
        const auto wake = ends.leader.kind->driver().wake_at();
        REQUIRE(wake);
        gap = *wake - ends.now;
        ends.now = *wake;
        ends.run();
    }
    CHECK(gap > 30ms);
    CHECK(ends.leader.to_send[1].size() == left);
    ends.follower.is_reading = true;
    ends.follower.path->call_again();
    for (int i = 0; i < 100 && !ends.leader.to_send[1].empty(); ++i) {
        ends.run();
        ends.now += 1ms;
    }
    ends.run();
    REQUIRE(ends.follower.arrived[1].size() == 100);
    for (unsigned i = 0; i < 100; ++i)
        CHECK(ends.follower.arrived[1][i] == frame(16'000, i));
}

TEST_CASE("an end that leaves is noticed at once, after what it had sent") {
    Ends ends;
    ends.run();
    ends.leader.to_send[0].push_back(frame(100, 1));
    ends.leader.turn(ends.now);
    ends.leader.path.reset();
    // Its bells come first, one each turn.
    for (int i = 0; i < 4; ++i)
        ends.follower.turn(ends.now);
    CHECK(ends.follower.arrived[0].size() == 1);
    CHECK(ends.follower.failure == "the peer has closed its end of the window");
    CHECK(ends.follower.kind->windows() == 0);
}

TEST_CASE("an end that is silent has failed") {
    Ends ends;
    ends.run();
    for (int i = 0; i < 100; ++i) {
        ends.now += 50ms;
        REQUIRE(ends.leader.path->tick(ends.now));
        REQUIRE(ends.follower.path->tick(ends.now));
    }
    std::string why;
    for (int i = 0; i < 70 && why.empty(); ++i) {
        ends.now += 50ms;
        const auto alive = ends.leader.path->tick(ends.now);
        if (!alive) why = alive.error().detail;
    }
    CHECK(why == "the peer's end of the window is silent");
}

TEST_CASE("a peer of another host, or of none, is not tried") {
    End end;
    End other({.control_log2 = 16, .data_log2 = 16, .host = "another"});
    auto prepared = end.prepare(other.kind->address(), true);
    REQUIRE_FALSE(prepared);
    CHECK(prepared.error().detail == "the peer runs on another host");
    CHECK_FALSE(end.prepare({}, true));
    // A socket that nobody has.
    base::Bytes nobody = end.kind->address();
    nobody.back() ^= std::byte{1};
    End follower;
    REQUIRE(follower.prepare(nobody, false));
    const auto parameters = end.prepare(follower.kind->address(), true);
    REQUIRE(parameters);
    const auto up = follower.path->bring_up(*parameters);
    REQUIRE_FALSE(up);
    CHECK_THAT(up.error().detail, Catch::Contains("out of reach"));
}

namespace {

// A follower that speaks for itself.
struct RawFollower {
    explicit RawFollower(End& leader)
        : address(*ntb::decode_address(leader.kind->address())),
          socket(*ntb::connect_to(address.socket)) {}

    static base::Bytes parameters() {
        return ntb::encode(ntb::Parameters{.epoch = 5, .control_log2 = 16, .data_log2 = 16});
    }
    static std::size_t memory_bytes() {
        return ntb::window_bytes(ntb::decode_parameters(parameters())->geometry().region_bytes());
    }

    ntb::ShmAddress address;
    Descriptor socket;
};

struct RawWorld {
    RawWorld() {
        const auto address =
            ntb::encode(ntb::ShmAddress{.host = ntb::decode_address(leader.kind->address())->host});
        const auto ours = leader.prepare(address, true);
        REQUIRE(ours);
        const auto place = ntb::decode_parameters(*ours)->place;
        std::ranges::copy(place, token.begin());
        REQUIRE(leader.path->bring_up(RawFollower::parameters()));
        raw.emplace(leader);
    }
    void run() {
        for (int i = 0; i < 4; ++i)
            leader.turn(base::Timestamp{1s});
    }

    End leader;
    ntb::Token token{};
    std::optional<RawFollower> raw;
};

Descriptor plain_memory(std::size_t bytes, int seals) {
    Descriptor memory(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    REQUIRE(ftruncate(memory.get(), static_cast<off_t>(bytes)) == 0);
    if (seals != 0) REQUIRE(fcntl(memory.get(), F_ADD_SEALS, seals) == 0);
    return memory;
}

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

TEST_CASE("who knows no token is hung up on, and harms nobody") {
    const std::size_t descriptors = count_descriptors();
    {
        RawWorld world;
        const auto memory = plain_memory(4096, kSizeSeals);
        std::vector<Descriptor> strangers;
        for (int i = 0; i < 200; ++i) {
            auto socket = ntb::connect_to(world.raw->address.socket);
            if (socket && i % 4 == 1) {
                REQUIRE(ntb::send_hello(socket->get(), ntb::random_token(), memory.get()));
            } else if (socket && i % 4 == 2) {
                ntb::ring_bell(socket->get());
            }
            if (socket) strangers.push_back(std::move(*socket));
            world.run();
            REQUIRE(count_descriptors() < descriptors + strangers.size() + 50);
        }
        CHECK(world.leader.failure.empty());
        REQUIRE(world.leader.path);
    }
    CHECK(count_descriptors() == descriptors);
}

TEST_CASE("memory that could end our process, or is none, is not mapped") {
    struct Case {
        std::function<Descriptor()> make;
        std::string why;
    };
    const std::size_t bytes = RawFollower::memory_bytes();
    const std::vector<Case> cases{
        {[&] { return plain_memory(bytes, 0); }, "is not sealed against resizing"},
        {[&] { return plain_memory(bytes, F_SEAL_GROW); }, "is not sealed against resizing"},
        {[&] { return plain_memory(bytes - 4096, kSizeSeals); }, "promised were"},
        {[&] { return plain_memory(bytes + 4096, kSizeSeals); }, "promised were"},
        {[] { return Descriptor(::open("/dev/zero", O_RDWR | O_CLOEXEC)); },
         "is not sealed against resizing"},
    };
    for (const Case& each : cases) {
        RawWorld world;
        const auto memory = each.make();
        REQUIRE(ntb::send_hello(world.raw->socket.get(), world.token, memory.get()));
        world.run();
        CHECK_THAT(world.leader.failure, Catch::Contains(each.why));
        CHECK(world.leader.kind->windows() == 0);
    }
}

namespace {

// A follower whose greeting was right, and who holds the leader's memory.
class Scribbler {
  public:
    explicit Scribbler(RawWorld& world) : bytes_(RawFollower::memory_bytes()) {
        const auto own = plain_memory(bytes_, kSizeSeals);
        const int socket = world.raw->socket.get();
        REQUIRE(ntb::send_hello(socket, world.token, own.get()));
        world.run();
        auto hello = ntb::receive_hello(socket);
        REQUIRE(hello);
        auto theirs = ntb::SharedMemory::adopt(std::move(hello->memory), bytes_);
        REQUIRE(theirs);
        memory_ = std::move(*theirs);
    }
    [[nodiscard]] std::span<std::byte> memory() { return memory_->bytes(); }
    // Says by scratchpads what it promised.
    void announce(std::uint32_t epoch) {
        auto pads = ntb::pads_of(*ntb::decode_parameters(RawFollower::parameters()));
        pads[static_cast<unsigned>(ntb::Pad::epoch)] = epoch;
        pads[static_cast<unsigned>(ntb::Pad::state)] = ntb::kPadReady;
        for (std::size_t i = 0; i < pads.size(); ++i)
            std::memcpy(memory().data() + 64 * i, &pads[i], sizeof pads[i]);
    }

  private:
    std::size_t bytes_;
    std::unique_ptr<ntb::SharedMemory> memory_;
};

}  // namespace

TEST_CASE("an end of another epoch is not the one that was promised") {
    RawWorld world;
    Scribbler peer(world);
    peer.announce(6);
    world.leader.path->call_again();
    world.run();
    CHECK_THAT(world.leader.failure, Catch::Contains("not the one that was promised"));
}

TEST_CASE("an end that starts anew in use has failed") {
    RawWorld world;
    Scribbler peer(world);
    peer.announce(5);
    world.leader.path->call_again();
    world.run();
    REQUIRE(world.leader.path);
    REQUIRE(world.leader.path->has_room(Lane::control));
    REQUIRE(world.leader.path->tick(base::Timestamp{1s}));
    peer.announce(7);
    CHECK_FALSE(world.leader.path->tick(base::Timestamp{2s}));
}

TEST_CASE("the memory that we gave can't be taken away again") {
    RawWorld world;
    const auto own = plain_memory(RawFollower::memory_bytes(), kSizeSeals);
    REQUIRE(ntb::send_hello(world.raw->socket.get(), world.token, own.get()));
    world.run();
    auto hello = ntb::receive_hello(world.raw->socket.get());
    REQUIRE(hello);
    CHECK(ftruncate(hello->memory.get(), 0) != 0);
    // Its pages can be emptied, which is as good as zeros written there.
    CHECK(fallocate(hello->memory.get(),
                    FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    0,
                    static_cast<off_t>(RawFollower::memory_bytes())) == 0);
    world.leader.path->call_again();
    world.run();
    CHECK(world.leader.failure.empty());
    struct stat before {};
    struct stat after {};
    REQUIRE(fstat(hello->memory.get(), &before) == 0);
    world.leader.path.reset();
    REQUIRE(fstat(hello->memory.get(), &after) == 0);
    CHECK(before.st_blocks > 0);
    CHECK(after.st_blocks == 0);
}

TEST_CASE("whatever a peer writes into our memory ends its path or nothing") {
    base::Rng rng(7);
    unsigned failed = 0;
    for (int round = 0; round < 200; ++round) {
        RawWorld world;
        Scribbler peer(world);
        peer.announce(5);
        world.leader.path->call_again();
        world.run();
        for (int i = 0; i < 50 && world.leader.path; ++i) {
            const std::size_t near = rng.below(2) == 0 ? 8192 : peer.memory().size();
            const std::size_t at = rng.below(near / 64) * 64;
            // Pads stay as they are, or the first change would end it.
            if (at < 4096 && rng.below(50) != 0) continue;
            const std::uint64_t word = rng.below(2) == 0 ? rng.below(1'000) : rng.below(~0ULL);
            std::memcpy(peer.memory().data() + at, &word, sizeof word);
            ntb::ring_bell(world.raw->socket.get());
            world.leader.to_send[0].push_back(frame(20, 1));
            world.run();
            if (world.leader.path && !world.leader.path->tick(base::Timestamp{1s}))
                world.leader.path.reset();
        }
        if (!world.leader.path) ++failed;
        for (const auto& lane : world.leader.arrived)
            CHECK(lane.empty());  // Nothing that it wrote was sealed.
    }
    CHECK(failed > 20);
}

TEST_CASE("parameters and addresses survive the way there and back or are refused") {
    const ntb::Parameters parameters{
        .epoch = 9, .control_log2 = 16, .data_log2 = 26, .place = {std::byte{1}}};
    const base::Bytes bytes = ntb::encode(parameters);
    const auto decoded = ntb::decode_parameters(bytes);
    REQUIRE(decoded);
    CHECK(ntb::encode(*decoded) == bytes);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut)
        CHECK_FALSE(ntb::decode_parameters(base::ByteView(bytes).first(cut)));
    CHECK_FALSE(ntb::decode_parameters(ntb::encode(ntb::Parameters{.epoch = 0})));
    CHECK_FALSE(ntb::decode_parameters(ntb::encode({.epoch = 1, .control_log2 = 15})));
    CHECK_FALSE(ntb::decode_parameters(ntb::encode({.epoch = 1, .data_log2 = 27})));
    CHECK_FALSE(ntb::decode_parameters(ntb::encode({.epoch = 1, .partitions = 2})));
    CHECK_FALSE(ntb::decode_parameters(ntb::encode({.epoch = 1, .place = base::Bytes(65)})));

    const base::Bytes address = ntb::encode(ntb::ShmAddress{.host = "h", .socket = {}});
    REQUIRE(ntb::decode_address(address));
    CHECK_FALSE(ntb::decode_address(base::ByteView(address).first(address.size() - 1)));
    CHECK_FALSE(ntb::decode_hello({}));
    CHECK(ntb::decode_hello(ntb::encode_hello({})));
}

}  // namespace tests
// NOLINTEND(bugprone-unchecked-optional-access)
