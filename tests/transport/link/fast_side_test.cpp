// Two connections' fast halves, joined by a path that has room when it pleases, says late what it
// has taken, and breaks at any moment: every message arrives once, in the order of its lane and
// level, whichever way it goes.
#include "transport/link/fast_side.hpp"

#include "base/rng.hpp"
#include "transport/link/frame.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <optional>

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace transport::link {

namespace {

using namespace std::chrono_literals;

std::size_t index(Lane lane) {
    return static_cast<std::size_t>(lane);
}

// One direction of a path.
struct Pipe {
    std::array<std::deque<base::Bytes>, kLanes> records;
    std::array<std::uint64_t, kLanes> sent{};
    std::array<std::uint64_t, kLanes> taken{};
    // What landed and was not taken; the number of those before.
    std::deque<base::Bytes> landed;
    std::uint64_t landed_taken = 0;
};
constexpr std::size_t kPlaces = 3;

class PipePath final : public FastPath {
  public:
    PipePath(Pipe& out, Pipe& in, base::Rng& rng, bool has_landings = false)
        : out_(out), in_(in), rng_(rng), has_landings_(has_landings) {}

    [[nodiscard]] base::Bytes parameters() const override { return {}; }
    [[nodiscard]] base::Result<void> bring_up(base::ByteView) override { return {}; }
    [[nodiscard]] base::Result<std::optional<Received>> peek() override {
        for (const Lane lane : {Lane::control, Lane::data}) {
            if (!in_.records[index(lane)].empty())
                return std::optional<Received>({lane, in_.records[index(lane)].front()});
        }
        return std::optional<Received>();
    }
    void consume(Lane lane) override {
        in_.records[index(lane)].pop_front();
        ++in_.taken[index(lane)];
    }
    void call_again() override {}
    [[nodiscard]] bool has_room(Lane lane) override {
        return out_.records[index(lane)].size() < 8 && rng_.below(4) != 0;
    }
    void send(Lane lane, base::ByteView record) override {
        REQUIRE(record.size() <= record_bytes_max(lane));
        out_.records[index(lane)].push_back(base::to_bytes(record));
        ++out_.sent[index(lane)];
    }
    [[nodiscard]] bool has_landings() const override { return has_landings_; }
    [[nodiscard]] std::size_t landing_room() override { return kPlaces - out_.landed.size(); }
    void land(std::span<const Part> parts) override {
        base::Bytes record;
        for (const Part& each : parts) {
            const std::uint64_t token = out_.landed_taken + out_.landed.size();
            out_.landed.push_back(base::to_bytes(each.bytes));
            const auto frame =
                encode_landing(each.header, {token, static_cast<std::uint32_t>(each.bytes.size())});
            record.insert(record.end(), frame.begin(), frame.end());
        }
        REQUIRE(out_.landed.size() <= kPlaces);
        send(Lane::data, record);
    }
    [[nodiscard]] base::Result<void> take_landing(const Landing& landing,
                                                  std::span<std::byte> out) override {
        REQUIRE(landing.token == in_.landed_taken);
        REQUIRE(landing.bytes == in_.landed.front().size());
        std::ranges::copy(in_.landed.front(), out.begin());
        in_.landed.pop_front();
        ++in_.landed_taken;
        return {};
    }
    [[nodiscard]] std::uint64_t sent(Lane lane) const override { return out_.sent[index(lane)]; }
    [[nodiscard]] std::uint64_t taken(Lane lane) const override { return heard_[index(lane)]; }
    [[nodiscard]] base::Result<void> begin_turn() override {
        if (rng_.below(3) == 0) heard_ = out_.taken;
        return {};
    }
    void end_turn(base::Timestamp) override {}
    [[nodiscard]] base::Result<void> tick(base::Timestamp) override { return {}; }

  private:
    Pipe& out_;
    Pipe& in_;
    base::Rng& rng_;
    bool has_landings_;
    std::array<std::uint64_t, kLanes> heard_{};
};

// What a connection does with its fast half.
struct End {
    explicit End(BufferPool& pool) : reassembly(pool), side(queue, reassembly) {}

    void push(base::Rng& rng) {
        const auto level = static_cast<Priority>(rng.below(kPriorities));
        const Lane lane = rng.below(2) == 0 ? Lane::control : Lane::data;
        push(lane, level, 4 + rng.below(rng.below(10) == 0 ? 100'000 : 3'000));
    }
    void push(Lane lane, Priority level, std::size_t size) {
        base::Bytes bytes(size);
        std::memcpy(bytes.data(), &pushed, sizeof pushed);
        ++pushed;
        const bool is_queued =
            queue.push(lane, level, std::make_shared<const base::Bytes>(std::move(bytes)))
                .has_value();
        REQUIRE(is_queued);
    }
    // Many short ones of one level, which go together.
    void push_small(base::Rng& rng) {
        const auto level = static_cast<Priority>(rng.below(kPriorities));
        const Lane lane = rng.below(2) == 0 ? Lane::control : Lane::data;
        for (int i = 0; i < 12; ++i)
            push(lane, level, 4 + rng.below(1'000));
    }
    // The first frame of `bytes`; how many it has.
    std::size_t take(base::ByteView bytes) {
        const auto frame = first_frame(bytes);
        REQUIRE(frame);
        take(*frame);
        return frame->bytes();
    }
    void take(const Frame& frame) {
        auto taken = frame.header.kind == FrameKind::landing
                         ? take_landing(frame)
                         : reassembly.take(frame.header, frame.payload);
        REQUIRE(taken);
        if (!taken->message) return;
        if (side.is_in()) side.count_in(frame.header.lane);
        std::uint32_t number = 0;
        const base::ByteView first = taken->message->bytes.run_at(0);
        REQUIRE(first.size() >= sizeof number);
        std::memcpy(&number, first.data(), sizeof number);
        arrived[{frame.header.lane, frame.header.priority}].push_back(number);
        ++count;
    }
    base::Result<Reassembly::Taken> take_landing(const Frame& frame) {
        const auto landing = decode_landing(frame.payload);
        REQUIRE(landing);
        const auto place = reassembly.place(frame.header, landing->bytes);
        REQUIRE(place);
        REQUIRE(side.path()->take_landing(*landing, place->bytes));
        side.count_landing(landing->bytes);
        return reassembly.landed(frame.header, landing->bytes);
    }
    void take_fast(base::Rng& rng) {
        while (rng.below(8) != 0) {
            const auto received = side.path()->peek();
            REQUIRE(received);
            if (!*received) return;
            const base::ByteView unread = side.unread(**received);
            if (unread.size() < (*received)->record.size()) ++resumed;
            side.consume(**received, take(unread));
        }
    }
    // A frame by TCP, if that is the way.
    void write_tcp(End& peer) {
        if (!side.sends_by_tcp() || queue.empty()) return;
        std::vector<std::byte> out(kFrameBytesMax);
        base::ByteView left = base::ByteView(out).first(queue.fill(out));
        while (!left.empty())
            left = left.subspan(peer.take(left));
    }

    SendQueue queue;
    Reassembly reassembly;
    FastSide side;
    std::uint32_t pushed = 0;
    std::size_t count = 0;
    std::size_t resumed = 0;  // Frames that were not their record's first.
    std::map<std::pair<Lane, Priority>, std::vector<std::uint32_t>> arrived;
};

class World {
  public:
    explicit World(std::uint64_t seed)
        : rng_(seed),
          pool_(*BufferPool::create({.bytes = 64U << 20U, .huge_pages = false})),
          ends_{std::make_unique<End>(*pool_), std::make_unique<End>(*pool_)} {}

    void run() {
        for (int step = 0; step < 600; ++step) {
            End& end = *ends_[rng_.below(2)];
            for (std::size_t i = rng_.below(6); i > 3; --i)
                end.push(rng_);
            if (rng_.below(20) == 0) end.push_small(rng_);
            if (rng_.below(40) == 0) change();
            move();
        }
        if (is_fast_) change();
        for (int step = 0; step < 2'000; ++step)
            move();
    }
    void check() {
        for (std::size_t i = 0; i < 2; ++i) {
            CHECK(ends_[i]->count == ends_[1 - i]->pushed);
            for (const auto& [level, numbers] : ends_[i]->arrived) {
                CHECK(std::ranges::is_sorted(numbers));
                CHECK(std::ranges::adjacent_find(numbers) == numbers.end());
            }
            CHECK(ends_[i]->side.is_covered());
            CHECK(ends_[i]->reassembly.open_bytes() == 0);
            CHECK(ends_[i]->queue.unsent_bytes() == 0);
            // What was in a path that broke was not taken, and went again.
            CHECK(ends_[i]->side.landed_in().landings <= ends_[1 - i]->side.landed_out().landings);
        }
    }
    [[nodiscard]] std::size_t resumed() const { return ends_[0]->resumed + ends_[1]->resumed; }
    // Paths that were given up in the middle of a record.
    [[nodiscard]] std::size_t broken() const { return broken_; }
    [[nodiscard]] std::uint64_t landed_bytes() const {
        return ends_[0]->side.landed_in().bytes + ends_[1]->side.landed_in().bytes;
    }

  private:
    void move() {
        now_ += 1ms;
        for (std::size_t i = 0; i < 2; ++i) {
            End& end = *ends_[i];
            end.write_tcp(*ends_[1 - i]);
            if (!is_fast_) continue;
            REQUIRE(end.side.write(now_));
            end.take_fast(rng_);
        }
    }
    void change() {
        if (is_fast_) {
            fall_back();
        } else {
            upgrade();
        }
        is_fast_ = !is_fast_;
    }
    void upgrade() {
        pipes_ = {};
        const bool has_landings = rng_.below(2) == 0;
        for (std::size_t i = 0; i < 2; ++i) {
            End& end = *ends_[i];
            end.side.adopt(
                std::make_unique<PipePath>(pipes_[i], pipes_[1 - i], rng_, has_landings));
            end.side.finish_tcp();
            while (!end.side.take_finished())
                end.write_tcp(*ends_[1 - i]);
            end.side.begin_out();
            ends_[1 - i]->side.begin_in();
        }
    }
    void fall_back() {
        for (const auto& end : ends_) {
            const auto received = end->side.path()->peek();
            REQUIRE(received);
            if (*received && end->side.unread(**received).size() < (*received)->record.size())
                ++broken_;
        }
        const NextNumbers first = ends_[0]->side.stop();
        const NextNumbers second = ends_[1]->side.stop();
        REQUIRE(ends_[0]->side.replay(second));
        REQUIRE(ends_[1]->side.replay(first));
    }

    base::Rng rng_;
    std::unique_ptr<BufferPool> pool_;
    std::array<std::unique_ptr<End>, 2> ends_;
    std::array<Pipe, 2> pipes_;
    bool is_fast_ = false;
    std::size_t broken_ = 0;
    base::Timestamp now_{};
};

}  // namespace

TEST_CASE("messages change their way at any moment and arrive once, in order") {
    std::uint64_t landed_bytes = 0;
    std::size_t resumed = 0;
    std::size_t broken = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        CAPTURE(seed);
        World world(seed);
        world.run();
        world.check();
        landed_bytes += world.landed_bytes();
        resumed += world.resumed();
        broken += world.broken();
    }
    CHECK(landed_bytes > 10'000'000);
    CHECK(resumed > 10'000);
    CHECK(broken > 30);
}

TEST_CASE("a peer that says it lacks what it took, or has what was not sent, is found out") {
    const auto pool = *BufferPool::create({.bytes = 16U << 20U, .huge_pages = false});
    base::Rng rng(1);
    for (const std::uint64_t lie : {0U, 3U}) {
        End end(*pool);
        std::array<Pipe, 2> pipes;
        end.side.adopt(std::make_unique<PipePath>(pipes[0], pipes[1], rng));
        end.side.begin_out();
        // A record each.
        for (std::uint64_t records = 1; records <= 2; ++records) {
            REQUIRE(end.queue.push(Lane::control, 0, std::make_shared<const base::Bytes>(10)));
            while (pipes[0].sent[0] < records)
                REQUIRE(end.side.write({}));
        }
        pipes[0].taken[0] = 1;
        while (end.side.uncovered_bytes() > 10)
            REQUIRE(end.side.write({}));
        (void)end.side.stop();
        CHECK_FALSE(end.side.sends_by_tcp());
        CHECK_FALSE(end.side.replay({lie, 0}));
    }
}

TEST_CASE("a path that is full now and then starves no level") {
    SendQueue queue;
    for (const Priority level : {Priority{2}, Priority{6}})
        REQUIRE(queue.push(Lane::data, level, std::make_shared<const base::Bytes>(500'000)));
    std::vector<std::byte> out(kFrameBytesMax);
    std::map<Priority, int> slices;
    for (int i = 0; i < 24; ++i) {
        CHECK_FALSE(queue.next(out, {true, false}));
        REQUIRE(queue.next(out, {true, true}));
        FrameHeaderBytes head{};
        std::memcpy(head.data(), out.data(), head.size());
        ++slices[decode_header(head)->priority];
    }
    CHECK(slices[2] == 16);
    CHECK(slices[6] == 8);
}

TEST_CASE("a probe is a frame of its own, and only with its 8 bytes") {
    const ProbeFrame probe = encode_probe(0x0102030405060708);
    const auto frame = first_frame(probe);
    REQUIRE(frame);
    CHECK(frame->header.kind == FrameKind::probe);
    CHECK(decode_probe(frame->payload) == 0x0102030405060708);
    CHECK_FALSE(first_frame(base::ByteView(probe).first(15)));
    auto shorter = encode({.kind = FrameKind::probe, .length = 7});
    CHECK_FALSE(decode_header(shorter));
    shorter = encode({.kind = FrameKind::probe, .length = 9});
    CHECK_FALSE(decode_header(shorter));
}

}  // namespace transport::link
// NOLINTEND(bugprone-unchecked-optional-access)
