// Records of several frames: what goes together, in which order; and records that are none.
#include "transport/link/fast_side.hpp"
#include "transport/link/frame.hpp"
#include "transport/link/send_queue.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <vector>

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace transport::link {

namespace {

constexpr Rooms kAll{.control = true, .data = true, .landings = 4};

void push(SendQueue& queue, Lane lane, Priority priority, std::size_t size, int count = 1) {
    for (int i = 0; i < count; ++i)
        REQUIRE(queue.push(lane, priority, std::make_shared<const base::Bytes>(size)));
}

// The frames of the next record, as lane and priority each: "c0 d6"; "" if there is none.
class Records {
  public:
    explicit Records(SendQueue& queue) : queue_(queue) {}

    std::string next(const Rooms& rooms = kAll) {
        const auto next = queue_.next(out_, rooms);
        std::string text;
        bytes = next ? next->bytes : 0;
        done = next ? next->done.size() : 0;
        base::ByteView left = base::ByteView(out_).first(bytes);
        while (!left.empty()) {
            const auto frame = first_frame(left);
            REQUIRE(frame);
            CHECK(frame->header.lane == next->lane);
            if (!text.empty()) text += ' ';
            text +=
                (next->lane == Lane::control ? "c" : "d") + std::to_string(frame->header.priority);
            left = left.subspan(frame->bytes());
        }
        return text;
    }

    std::size_t bytes = 0;
    std::size_t done = 0;

  private:
    SendQueue& queue_;
    base::Bytes out_ = base::Bytes(kFrameBytesMax);
};

std::string refusal(base::ByteView record) {
    while (!record.empty()) {
        const auto frame = first_frame(record);
        if (!frame) return frame.error().detail;
        record = record.subspan(frame->bytes());
    }
    return "taken";
}

}  // namespace

TEST_CASE("small frames of one lane make one record, as many as fit whole") {
    SendQueue queue;
    push(queue, Lane::data, 6, 2'000, 20);
    Records records(queue);
    CHECK(records.next() == "d6 d6 d6 d6 d6 d6 d6 d6");
    CHECK(records.bytes == 8 * 2'008);
    CHECK(records.done == 8);
    CHECK(records.next() == "d6 d6 d6 d6 d6 d6 d6 d6");
    CHECK(records.next() == "d6 d6 d6 d6");
    CHECK(records.next().empty());
    CHECK(queue.empty());
    CHECK(queue.unsent_bytes() == 0);
}

TEST_CASE("a frame that is alone goes alone, and so does a full one") {
    SendQueue queue;
    Records records(queue);
    push(queue, Lane::control, 0, 64);
    CHECK(records.next() == "c0");
    CHECK(records.bytes == 72);
    push(queue, Lane::data, 6, 2 * slice_bytes(Lane::data) + 100);
    push(queue, Lane::data, 6, 50);
    CHECK(records.next() == "d6");
    CHECK(records.bytes == kFrameBytesMax);
    CHECK(records.next() == "d6");
    CHECK(records.done == 0);
    // Its end, and what comes behind.
    CHECK(records.next() == "d6 d6");
    CHECK(records.done == 2);
}

TEST_CASE("a record of the control lane is no longer than its longest frame") {
    SendQueue queue;
    push(queue, Lane::control, 2, 1'000, 10);
    Records records(queue);
    CHECK(records.next() == "c2 c2 c2 c2");
    CHECK(records.bytes <= record_bytes_max(Lane::control));
}

TEST_CASE("what goes together goes in the order in which it would go alone") {
    SendQueue queue;
    push(queue, Lane::data, 6, 100);
    push(queue, Lane::data, 2, 100);
    push(queue, Lane::control, 4, 100);
    push(queue, Lane::data, 4, 100);
    push(queue, Lane::control, 0, 100);
    Records records(queue);
    // Another lane's frame ends a record: what is more urgent is never passed by.
    CHECK(records.next() == "c0");
    CHECK(records.next() == "d2");
    CHECK(records.next() == "c4");
    CHECK(records.next() == "d4 d6");
    CHECK(records.next().empty());
}

TEST_CASE("the quota of a level holds within a record") {
    SendQueue queue;
    push(queue, Lane::data, 1, 10, 12);
    push(queue, Lane::data, 5, 10, 2);
    Records records(queue);
    CHECK(records.next() == "d1 d1 d1 d1 d1 d1 d1 d1 d5 d5 d1 d1 d1 d1");
}

TEST_CASE("a lane without room is passed by, and no message that lands is") {
    SendQueue queue;
    queue.use_landings(true);
    push(queue, Lane::control, 0, 10);
    push(queue, Lane::data, 3, 10);
    push(queue, Lane::data, 3, kLandingMessageBytesMin);
    push(queue, Lane::data, 6, 10);
    Records records(queue);
    CHECK(records.next({.control = false, .data = true}) == "d3");
    // Room for landings was not asked for while none was the next of its level.
    base::Bytes out(kFrameBytesMax);
    const auto landing = queue.next(out, {.data = true, .landings = 1});
    REQUIRE(landing);
    CHECK(landing->parts.size() == 1);
    CHECK(landing->done.size() == 1);
    CHECK(records.next({.control = false, .data = true}) == "d6");
    CHECK(records.next() == "c0");
}

TEST_CASE("parts of messages go together, as many as there is room for") {
    SendQueue queue;
    queue.use_landings(true);
    push(queue, Lane::data, 6, 2 * kLandingBytes);
    push(queue, Lane::data, 6, 3 * kLandingBytes);
    push(queue, Lane::control, 6, 10);
    base::Bytes out(kFrameBytesMax);
    const auto control = queue.next(out, kAll);
    REQUIRE(control);
    CHECK(control->lane == Lane::control);
    const auto first = queue.next(out, {.landings = 3});
    REQUIRE(first);
    CHECK(first->parts.size() == 3);
    CHECK(first->parts[1].header.total_or_offset == kLandingBytes);
    CHECK(first->parts[2].header.is_first);
    REQUIRE(first->done.size() == 1);
    CHECK(first->done[0].payload.size() == 2 * kLandingBytes);
    const auto second = queue.next(out, kAll);
    REQUIRE(second);
    CHECK(second->parts.size() == 2);
    CHECK(second->done.size() == 1);
    CHECK(queue.empty());
}

TEST_CASE("a record that ends within a frame, or goes on behind one, is refused") {
    SendQueue queue;
    push(queue, Lane::data, 6, 100, 3);
    base::Bytes out(kFrameBytesMax);
    const auto next = queue.next(out, kAll);
    REQUIRE(next);
    const base::Bytes record(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(next->bytes));
    REQUIRE(record.size() == 324);
    CHECK(refusal(record) == "taken");
    for (std::size_t bytes = 1; bytes < record.size(); ++bytes) {
        CAPTURE(bytes);
        CHECK((refusal(base::ByteView(record).first(bytes)) == "taken") == (bytes % 108 == 0));
    }
    base::Bytes longer = record;
    for (int more = 1; more < 20; ++more) {
        longer.push_back(std::byte{0});
        CHECK(refusal(longer) != "taken");
    }
    CHECK_THAT(refusal(base::ByteView(record).first(110)), Catch::Contains("shorter than its"));
    CHECK_THAT(refusal(base::ByteView(record).first(150)),
               Catch::Contains("a frame of 100 bytes has 34"));
    CHECK_FALSE(first_frame({}));
}

}  // namespace transport::link
// NOLINTEND(bugprone-unchecked-optional-access)
