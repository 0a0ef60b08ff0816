// Two ends in virtual time, joined by TCP (slices and prelude frames, in order, with latency) and
// by a fast kind that may lie: it drops, garbles, goes one way only, fails to come up, or dies in
// use. Whatever it does, every message arrives once and in order, and TCP is used again in time.
#include "transport/link/detection.hpp"

#include "base/rng.hpp"
#include "transport/link/frame.hpp"
#include "transport/link/outbox.hpp"
#include "transport/link/reassembly.hpp"
#include "transport/link/send_queue.hpp"

#include <catch2/catch.hpp>

#include <cstring>
#include <deque>
#include <map>
#include <optional>

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace transport::link {

namespace {

using namespace std::chrono_literals;
using State = Detection::State;

constexpr auto kLatency = 5ms;

// How the fast kind of one end lies.
enum class Lie {
    none,
    not_offered,
    no_resources,      // prepare() fails.
    no_bring_up,       // bring_up() fails.
    drops,             // Nothing that this end writes arrives.
    garbles,           // Other numbers arrive than were written.
    drops_after_probe  // The probes arrive and nothing after them.
};

struct Piece {
    base::Timestamp due;
    base::Bytes bytes{};  // TCP: frames.
    std::optional<std::uint64_t> nonce{};
    std::optional<Queued> message{};  // Fast.
};

// One end: what a connection is to Detection, with the real queue, outbox and reassembly.
class End : public PathOwner {
  public:
    End(bool leads, Lie lie, BufferPool& pool, std::uint64_t seed)
        : lie_(lie), detection({.leads = leads, .nonce_seed = seed}, *this), reassembly_(pool) {}

    void send(base::Timestamp now, Priority priority, std::uint32_t number) {
        base::Bytes bytes(4 + number % 9'000);
        std::memcpy(bytes.data(), &number, sizeof number);
        Payload payload(std::make_shared<const base::Bytes>(std::move(bytes)));
        const bool is_queued = queue.push(Lane::control, priority, std::move(payload)).has_value();
        REQUIRE(is_queued);
        pump(now);
    }

    // Moves what may go: by TCP in slices, by the fast path whole.
    void pump(base::Timestamp now) {
        now_ = now;
        if (is_fast_out_) {
            while (auto message = queue.take()) {
                const Payload& payload = outbox.add(std::move(*message));
                if (lie_ == Lie::drops_after_probe) continue;
                const auto view = payload.run_at(0);
                Queued copy{Lane::control,
                            0,
                            std::make_shared<const base::Bytes>(view.begin(), view.end())};
                peer->fast_in.push_back({now + 1ms, {}, {}, std::move(copy)});
            }
            return;
        }
        if (is_silent_) return;
        base::Bytes out(kFrameBytesMax);
        // One system call's worth a step, so that messages are begun when paths change.
        out.resize(queue.fill(out));
        if (!out.empty()) peer->tcp_in.push_back({now + kLatency, std::move(out)});
        if (wants_finish_ && !queue.has_begun()) {
            wants_finish_ = false;
            detection.tcp_finished(now);
            if (detection.state() == State::switching || detection.state() == State::fast) {
                is_fast_out_ = true;
                queue.hold(false);
            }
        }
    }

    void receive(base::Timestamp now) {
        now_ = now;
        while (!tcp_in.empty() && tcp_in.front().due <= now) {
            feed(tcp_in.front().bytes);
            tcp_in.pop_front();
        }
        while (!fast_in.empty() && fast_in.front().due <= now && take_fast()) {
        }
        detection.tick(now);
        pump(now);
    }

    // When something can happen here.
    [[nodiscard]] base::Timestamp next_at(base::Timestamp now) const {
        base::Timestamp next = detection.wake_at().value_or(now + 1h);
        if (!tcp_in.empty()) next = std::min(next, tcp_in.front().due);
        if (!fast_in.empty()) next = std::min(next, fast_in.front().due);
        return queue.empty() && !wants_finish_ ? next : now;
    }

    void change(Lie lie) { lie_ = lie; }

    End* peer = nullptr;
    std::deque<Piece> tcp_in;
    std::deque<Piece> fast_in;
    SendQueue queue;
    Outbox outbox;
    std::map<Priority, std::vector<std::uint32_t>> received;
    unsigned resources = 0;  // Taken from the pool of the fast kind.
    unsigned prepared = 0;   // How often they were.
    unsigned fast_messages = 0;

  private:
    void send_prelude(base::Bytes payload) override {
        const auto head = encode(FrameHeader{.kind = FrameKind::prelude,
                                             .length = static_cast<std::uint16_t>(payload.size())});
        base::Bytes frame(head.begin(), head.end());
        frame.insert(frame.end(), payload.begin(), payload.end());
        peer->tcp_in.push_back({now_ + kLatency, std::move(frame)});
    }
    std::vector<Offer> offers() override {
        if (lie_ == Lie::not_offered) return {};
        return {{Kind::shm, {std::byte{1}}}};
    }
    base::Result<base::Bytes> prepare(Kind kind, base::ByteView address) override {
        CHECK(kind == Kind::shm);
        CHECK(address.size() == 1);
        if (lie_ == Lie::no_resources) return base::fail(base::Errc::unavailable, "no window");
        ++resources;
        ++prepared;
        return base::Bytes{std::byte{2}};
    }
    base::Result<void> bring_up(base::ByteView parameters) override {
        CHECK(parameters.size() == 1);
        if (lie_ == Lie::no_bring_up) return base::fail(base::Errc::unavailable, "no link");
        fast_in.clear();
        return {};
    }
    void write_probe(std::uint64_t nonce) override {
        if (lie_ == Lie::drops) return;
        peer->fast_in.push_back({now_ + 1ms, {}, nonce ^ (lie_ == Lie::garbles ? 1U : 0U)});
    }
    void finish_tcp() override {
        wants_finish_ = true;
        queue.hold(true);
    }
    void receive_fast() override { is_fast_in_ = true; }
    NextNumbers stop_fast() override {
        resources = 0;
        is_fast_in_ = false;
        wants_finish_ = false;
        fast_in.clear();
        is_silent_ = is_fast_out_;  // Until the peer says what it lacks.
        is_fast_out_ = false;
        queue.hold(false);
        return std::exchange(next_in_, {});
    }
    void replay(const NextNumbers& next) override {
        CHECK(outbox.cover(next));
        queue.put_back(outbox.take_all());
        is_silent_ = false;
    }

    void feed(base::ByteView bytes) {
        const auto space = reader_.space();
        REQUIRE(space.size() >= bytes.size());
        std::memcpy(space.data(), bytes.data(), bytes.size());
        reader_.commit(bytes.size());
        while (const auto frame = *reader_.peek()) {
            if (frame->header.kind == FrameKind::prelude) {
                REQUIRE(detection.on_prelude(now_, frame->payload));
            } else {
                take_slice(*frame);
            }
            reader_.consume(*frame);
        }
    }
    void take_slice(const Frame& frame) {
        auto taken = reassembly_.take(frame.header, frame.payload);
        REQUIRE(taken);
        if (taken->message) note(taken->message->bytes.run_at(0));
    }
    bool take_fast() {
        Piece& piece = fast_in.front();
        if (piece.nonce) {
            const std::uint64_t nonce = *piece.nonce;
            fast_in.pop_front();
            detection.on_probe(now_, nonce);
            return true;
        }
        if (!is_fast_in_) return false;  // The peer's switch is still on its way.
        note(piece.message->payload.run_at(0));
        ++fast_messages;
        ++next_in_[0];
        fast_in.pop_front();
        // Credit comes back now and then.
        if (next_in_[0] % 4 == 0) (void)peer->outbox.cover(next_in_);
        return true;
    }
    void note(base::ByteView bytes) {
        std::uint32_t number = 0;
        std::memcpy(&number, bytes.data(), sizeof number);
        received[static_cast<Priority>(number % kPriorities)].push_back(number);
    }

    base::Timestamp now_{};
    Lie lie_;

  public:
    Detection detection;

  private:
    FrameReader reader_;
    Reassembly reassembly_;
    bool wants_finish_ = false;
    bool is_fast_out_ = false;
    bool is_fast_in_ = false;
    bool is_silent_ = false;
    NextNumbers next_in_{};
};

struct World {
    explicit World(Lie leader_lie = Lie::none, Lie follower_lie = Lie::none, std::uint64_t seed = 1)
        : pool(*BufferPool::create({.bytes = 16U << 20U, .huge_pages = false})),
          leader(true, leader_lie, *pool, seed),
          follower(false, follower_lie, *pool, seed + 1) {
        leader.peer = &follower;
        follower.peer = &leader;
        leader.detection.start(now);
        follower.detection.start(now);
    }

    void run(base::Duration time) {
        for (const base::Timestamp end = now + time; now < end;) {
            now = std::clamp(std::min(leader.next_at(now), follower.next_at(now)), now + 1ms, end);
            leader.receive(now);
            follower.receive(now);
        }
    }
    // How long it takes until both ends are in a state.
    base::Duration until(State state) {
        const base::Timestamp begin = now;
        while (leader.detection.state() != state || follower.detection.state() != state) {
            run(1ms);
            REQUIRE(now - begin < 60s);
        }
        return now - begin;
    }
    void check_settled_on_tcp() {
        CHECK(leader.detection.kind() == Kind::tcp);
        CHECK(follower.detection.kind() == Kind::tcp);
        CHECK(leader.resources == 0);
        CHECK(follower.resources == 0);
    }

    base::Timestamp now{};
    std::unique_ptr<BufferPool> pool;
    End leader;
    End follower;
};

}  // namespace

TEST_CASE("without a common kind two nodes stay on TCP") {
    for (const auto& [one, other] : {std::pair(Lie::not_offered, Lie::none),
                                     std::pair(Lie::none, Lie::not_offered),
                                     std::pair(Lie::not_offered, Lie::not_offered)}) {
        World world(one, other);
        CHECK(world.leader.detection.state() == State::offering);
        CHECK_FALSE(world.leader.detection.is_established());
        CHECK(world.until(State::tcp) <= 10ms);
        CHECK(world.leader.detection.is_established());
        world.run(29s);
        world.check_settled_on_tcp();
        const auto why_not = [](Lie lie) {
            return lie == Lie::not_offered ? "this node offers no other" : "the peer offers no shm";
        };
        CHECK(world.leader.detection.why_not() == why_not(one));
        CHECK(world.follower.detection.why_not() == why_not(other));
    }
}

TEST_CASE("an honest fast path is proved both ways and then used") {
    World world;
    CHECK(world.until(State::fast) <= 100ms);
    CHECK(world.leader.detection.why_not().empty());
    CHECK(world.follower.detection.why_not().empty());
    CHECK(world.leader.detection.kind() == Kind::shm);
    for (std::uint32_t i = 0; i < 100; ++i)
        world.leader.send(world.now, static_cast<Priority>(i % kPriorities), i);
    world.run(100ms);
    CHECK(world.follower.fast_messages == 100);
    std::size_t received = 0;
    for (const auto& [level, numbers] : world.follower.received)
        received += numbers.size();
    CHECK(received == 100);
    CHECK(world.leader.outbox.bytes() < 100 * 4'500);
}

TEST_CASE("a fast path that lies is found out in time, and tried again later and later") {
    struct Case {
        Lie leader;
        Lie follower;
        const char* why;  // What one of the ends says.
    };
    const std::vector<Case> cases{
        {Lie::no_resources, Lie::none, "no window"},
        {Lie::none, Lie::no_resources, "no window"},
        {Lie::no_bring_up, Lie::none, "no link"},
        {Lie::none, Lie::no_bring_up, "no link"},
        {Lie::drops, Lie::none, "nothing that the peer wrote came through the path"},
        {Lie::none, Lie::drops, "the peer saw nothing of what we wrote through the path"},
        {Lie::drops, Lie::drops, "nothing that the peer wrote came through the path"},
        {Lie::garbles, Lie::none, "the path carries other bytes than were written"},
        {Lie::none, Lie::garbles, "the path carries other bytes than were written"},
    };
    for (const Case& each : cases) {
        World world(each.leader, each.follower);
        world.run(30ms);  // Past the offers, into the attempt.
        CHECK(world.until(State::tcp) <= 1'500ms);
        world.check_settled_on_tcp();
        const auto& leader = world.leader.detection;
        const bool is_said =
            leader.why_not() == each.why || world.follower.detection.why_not() == each.why;
        CHECK(is_said);
        // 30 s, doubling up to 10 minutes.
        for (const auto delay : {30s, 60s, 120s, 240s, 480s, 600s, 600s}) {
            const auto retry = leader.wake_at();
            REQUIRE(retry);
            CHECK(*retry - world.now <= delay);
            CHECK(*retry - world.now > delay - 2s);
            world.run(*retry - world.now + 30ms);
            CHECK(world.until(State::tcp) <= 1'500ms);
        }
        world.check_settled_on_tcp();
    }
}

TEST_CASE("a fast path that dies in use loses no message") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        base::Rng rng(seed);
        const auto lie = rng.below(4) == 0 ? Lie::drops_after_probe : Lie::none;
        World world(lie, Lie::none, seed);
        std::array<std::uint32_t, 2> sent{};
        const auto steps = 50 + rng.below(400);
        for (std::uint64_t step = 0; step < steps; ++step) {
            world.run(base::Duration(1ms) * static_cast<int>(rng.below(3)));
            End& end = rng.below(2) == 0 ? world.leader : world.follower;
            std::uint32_t& number = sent[&end == &world.leader ? 0 : 1];
            end.send(world.now, static_cast<Priority>(number % kPriorities), number);
            ++number;
            if (rng.below(100) == 0) end.detection.on_fast_failed(world.now, "cable pulled");
        }
        world.leader.detection.on_fast_failed(world.now, "the end");
        world.run(3s);
        world.check_settled_on_tcp();
        for (End* end : {&world.leader, &world.follower}) {
            std::size_t count = 0;
            for (const auto& [level, numbers] : end->received) {
                count += numbers.size();
                CHECK(std::ranges::is_sorted(numbers));
                CHECK(std::ranges::adjacent_find(numbers) == numbers.end());
            }
            CHECK(count == sent[end == &world.leader ? 1 : 0]);
        }
    }
}

TEST_CASE("a path that died is taken again, and its back-off is forgotten after long service") {
    World world;
    world.until(State::fast);
    world.run(11min);
    world.follower.detection.on_fast_failed(world.now, "cable pulled");
    CHECK(world.until(State::tcp) <= 20ms);
    const auto retry = world.leader.detection.wake_at();
    REQUIRE(retry);
    CHECK(*retry - world.now <= 30s);
    world.run(30s);
    CHECK(world.until(State::fast) <= 100ms);
    CHECK(world.leader.detection.why_not().empty());
}

TEST_CASE("a kind that an end comes to have later is found, by asking later and later") {
    const auto begins = {std::pair(Lie::not_offered, Lie::none),
                         std::pair(Lie::none, Lie::not_offered),
                         std::pair(Lie::not_offered, Lie::not_offered)};
    for (const auto& [one, other] : begins) {
        World world(one, other);
        world.until(State::tcp);
        for (const auto delay : {30s, 60s, 120s, 240s, 480s, 600s, 600s}) {
            const auto retry = world.leader.detection.wake_at();
            REQUIRE(retry);
            CHECK(*retry - world.now <= delay);
            CHECK(*retry - world.now > delay - 1s);
            CHECK_FALSE(world.follower.detection.wake_at());
            world.run(*retry - world.now + 30ms);
            world.check_settled_on_tcp();
        }
        world.leader.change(Lie::none);
        world.follower.change(Lie::none);
        world.run(600s);
        CHECK(world.until(State::fast) <= 100ms);
    }
}

TEST_CASE("a leader that does not wait between its attempts takes nothing of who follows") {
    // Offers, names the kind, gives it up at once, again and again.
    World victim;
    Detection& follower = victim.follower.detection;
    const std::vector<Offer> offers{{Kind::shm, {std::byte{1}}}};
    const auto attempt = [&](std::uint32_t number) {
        REQUIRE(follower.on_prelude(victim.now, encode(prelude::Offers{number, offers})));
        REQUIRE(follower.on_prelude(victim.now,
                                    encode(prelude::Accept{number, Kind::shm, {std::byte{2}}})));
        REQUIRE(follower.on_prelude(victim.now, encode(prelude::Resume{number, {}})));
        REQUIRE(follower.state() == State::tcp);
    };
    std::uint32_t number = 0;
    attempt(++number);
    CHECK(victim.follower.prepared == 1);
    // 30 s, doubling up to 10 minutes; what is refused makes it no longer.
    unsigned prepared = 1;
    for (const auto delay : {30s, 60s, 120s, 240s, 480s, 600s, 600s}) {
        const base::Timestamp failed_at = victim.now;
        for (const auto after : {0s, delay / 10, delay / 2 - 1s}) {
            victim.now = failed_at + after;
            attempt(++number);
            CHECK(victim.follower.prepared == prepared);
            CHECK(victim.follower.resources == 0);
            CHECK(follower.why_not() == "the peer gave the path up");
        }
        victim.now = failed_at + delay / 2;
        attempt(++number);
        CHECK(victim.follower.prepared == ++prepared);
    }
}

TEST_CASE("prelude frames from the wrong state are violations") {
    const auto send = [](End& end, const Prelude& prelude) {
        return static_cast<bool>(end.detection.on_prelude(base::Timestamp{}, encode(prelude)));
    };
    const prelude::Accept accept{.attempt = 1, .kind = Kind::shm, .parameters = {std::byte{2}}};
    {
        World world;
        CHECK_FALSE(send(world.leader, prelude::Offers{.attempt = 2, .offers = {}}));
        CHECK_FALSE(send(world.leader, accept));
        CHECK_FALSE(send(world.leader, prelude::Probed{.attempt = 1, .nonce = 0}));
        CHECK_FALSE(send(world.leader, prelude::Switch{.attempt = 1}));
        CHECK_FALSE(send(world.leader, prelude::Resume{.attempt = 1, .next = {}}));
    }
    {
        World world(Lie::not_offered, Lie::not_offered);
        world.until(State::tcp);
        CHECK_FALSE(send(world.follower, accept));
        CHECK_FALSE(send(world.leader, prelude::Offers{.attempt = 2, .offers = {}}));
        CHECK_FALSE(send(world.follower, prelude::Offers{.attempt = 3, .offers = {}}));
        CHECK_FALSE(send(world.follower, prelude::Resume{.attempt = 1, .next = {}}));
        CHECK(send(world.follower, prelude::Offers{.attempt = 2, .offers = {}}));
    }
    {
        World world;
        world.until(State::fast);
        CHECK_FALSE(send(world.leader, prelude::Switch{.attempt = 1}));
        CHECK_FALSE(send(world.leader, prelude::Probed{.attempt = 1, .nonce = 0}));
        CHECK_FALSE(send(world.leader, prelude::Resume{.attempt = 7, .next = {}}));
    }
}

TEST_CASE("a prelude frame survives the way there and back or is refused") {
    const std::vector<Prelude> all{
        prelude::Offers{.attempt = 3, .offers = {{Kind::rdma, {std::byte{1}}}, {Kind::shm, {}}}},
        prelude::Accept{.attempt = 1, .kind = Kind::ntb, .parameters = {std::byte{9}}},
        prelude::Probed{.attempt = 1, .nonce = 77},
        prelude::Switch{.attempt = 4},
        prelude::Resume{.attempt = 5, .next = {6, 7}},
    };
    for (const Prelude& each : all) {
        const base::Bytes bytes = encode(each);
        const auto decoded = decode_prelude(bytes);
        REQUIRE(decoded);
        CHECK(encode(*decoded) == bytes);
        for (std::size_t cut = 0; cut < bytes.size(); ++cut)
            CHECK_FALSE(decode_prelude(base::ByteView(bytes).first(cut)));
        base::Bytes longer = bytes;
        longer.push_back({});
        CHECK_FALSE(decode_prelude(longer));
    }
    const auto twice =
        encode(prelude::Offers{.attempt = 1, .offers = {{Kind::shm, {}}, {Kind::shm, {}}}});
    CHECK_FALSE(decode_prelude(twice));
    const auto tcp = encode(prelude::Accept{.attempt = 1, .kind = Kind::tcp, .parameters = {}});
    CHECK_FALSE(decode_prelude(tcp));
}

}  // namespace transport::link
// NOLINTEND(bugprone-unchecked-optional-access)
