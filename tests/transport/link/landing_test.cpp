// Long messages on a path with landings: cut into parts that are full but for the last, by turns
// with others, and put together again in the message's own memory; what continues nothing is
// refused.
#include "base/rng.hpp"
#include "transport/link/frame.hpp"
#include "transport/link/reassembly.hpp"
#include "transport/link/send_queue.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace transport::link {

namespace {

constexpr Rooms kAll{.control = true, .data = true, .landings = 1};

SharedBytes pattern(std::size_t size) {
    base::Bytes out(size);
    for (std::size_t i = 0; i < size; ++i)
        out[i] = static_cast<std::byte>(i * 7 + i / 65'536);
    return std::make_shared<const base::Bytes>(std::move(out));
}

FrameHeader part(std::uint32_t at, bool is_first, Priority priority = 6) {
    return {.kind = FrameKind::landing,
            .lane = Lane::data,
            .priority = priority,
            .is_first = is_first,
            .length = kLandingFrameBytes,
            .total_or_offset = at};
}

std::string refusal(Reassembly& reassembly, const FrameHeader& header, std::size_t bytes) {
    const auto place = reassembly.place(header, bytes);
    return place ? "taken" : place.error().detail;
}

}  // namespace

TEST_CASE("a landing's frame comes back as it was, and other lengths are refused") {
    for (const std::uint32_t bytes : {1U, 40'000U, 65'536U}) {
        const Landing landing{.token = 0x0102030405060708, .bytes = bytes};
        const LandingFrame encoded = encode_landing(part(131'072, false), landing);
        const auto frame = first_frame(encoded);
        REQUIRE(frame);
        CHECK(frame->header == part(131'072, false));
        CHECK(decode_landing(frame->payload) == landing);
    }
    for (const std::uint32_t bytes : {0U, 65'537U, 0xFFFFFFFFU}) {
        const auto frame = encode_landing(part(1, true), {.token = 1, .bytes = bytes});
        const auto decoded = decode_landing(base::ByteView(frame).subspan(kFrameHeaderBytes));
        REQUIRE_FALSE(decoded);
        CHECK_THAT(decoded.error().detail, Catch::Contains("64 KiB"));
    }
}

TEST_CASE("a landing's header stands in the data lane, at a multiple of a landing's length") {
    const auto is_taken = [](FrameHeader header) {
        return decode_header(encode(header)).has_value();
    };
    CHECK(is_taken(part(kMessageBytesMax, true)));
    CHECK(is_taken(part(kMessageBytesMax - 65'536, false)));
    CHECK_FALSE(is_taken(part(0, true)));
    CHECK_FALSE(is_taken(part(kMessageBytesMax + 1, true)));
    CHECK_FALSE(is_taken(part(0, false)));
    CHECK_FALSE(is_taken(part(65'535, false)));
    CHECK_FALSE(is_taken(part(kMessageBytesMax, false)));
    auto header = part(65'536, false);
    header.lane = Lane::control;
    CHECK_FALSE(is_taken(header));
    header = part(65'536, false);
    header.length = 13;
    CHECK_FALSE(is_taken(header));
}

TEST_CASE("only long messages of the data lane land, and only while they may") {
    SendQueue queue;
    base::Bytes out(kFrameBytesMax);
    REQUIRE(queue.push(Lane::data, 3, pattern(kLandingMessageBytesMin - 1)));
    CHECK_FALSE(queue.has_landing());
    REQUIRE(queue.push(Lane::control, 2, pattern(200'000)));
    queue.use_landings(true);
    CHECK_FALSE(queue.has_landing());
    REQUIRE(queue.push(Lane::data, 6, pattern(kLandingMessageBytesMin)));
    CHECK(queue.has_landing());
    queue.use_landings(false);
    CHECK_FALSE(queue.has_landing());
    while (!queue.empty())
        CHECK(queue.next(out, kAll)->parts.empty());
}

TEST_CASE("a message without room for its landings holds up nobody") {
    SendQueue queue;
    queue.use_landings(true);
    base::Bytes out(kFrameBytesMax);
    REQUIRE(queue.push(Lane::data, 2, pattern(100'000)));
    REQUIRE(queue.push(Lane::data, 5, pattern(1'000)));
    const Rooms full{.control = true, .data = true, .landings = 0};
    const auto slice = queue.next(out, full);
    REQUIRE(slice);
    CHECK(slice->parts.empty());
    REQUIRE(slice->done.size() == 1);
    CHECK(slice->done[0].payload.size() == 1'000);
    CHECK_FALSE(queue.next(out, full));
    // And where only landings have room, those go.
    const auto first = queue.next(out, {.landings = 1});
    REQUIRE(first);
    CHECK(first->bytes == 0);
    REQUIRE(first->parts.size() == 1);
    CHECK(first->parts[0].bytes.size() == kLandingBytes);
    CHECK(first->done.empty());
    CHECK(queue.next(out, {.landings = 1})->done.size() == 1);
    CHECK(queue.empty());
    CHECK(queue.unsent_bytes() == 0);
}

TEST_CASE("landings take their turns with slices, by bytes") {
    SendQueue queue;
    queue.use_landings(true);
    base::Bytes out(kFrameBytesMax);
    REQUIRE(queue.push(Lane::data, 2, pattern(2'000'000)));
    for (int i = 0; i < 64; ++i)
        REQUIRE(queue.push(Lane::data, 6, pattern(16'000)));
    std::map<Priority, std::size_t> bytes;
    for (int i = 0; i < 40; ++i) {
        const auto next = queue.next(out, kAll);
        REQUIRE(next);
        bytes[6] += next->bytes;
        for (const Part& each : next->parts)
            bytes[2] += each.bytes.size();
    }
    CHECK(bytes[2] > 400'000);
    CHECK(bytes[2] < 3 * bytes[6]);
    CHECK(bytes[6] < 3 * bytes[2]);
}

TEST_CASE("parts come together in the message's own memory") {
    const auto pool = *BufferPool::create({.bytes = 64U << 20U, .huge_pages = false});
    for (const std::size_t size :
         {kLandingMessageBytesMin, std::size_t{65'536}, std::size_t{65'537}, kMessageBytesMax}) {
        SendQueue queue;
        queue.use_landings(true);
        Reassembly reassembly(*pool);
        const SharedBytes message = pattern(size);
        REQUIRE(queue.push(Lane::data, 6, message));
        base::Bytes out(kFrameBytesMax);
        std::optional<Message> arrived;
        std::size_t left = (size + kLandingBytes - 1) / kLandingBytes;
        while (!queue.empty()) {
            const auto next = queue.next(out, {.landings = 5});
            REQUIRE(next);
            CHECK(next->parts.size() == std::min<std::size_t>(5, left));
            left -= next->parts.size();
            for (const Part& each : next->parts) {
                REQUIRE(decode_header(encode(each.header)) == each.header);
                const auto place = reassembly.place(each.header, each.bytes.size());
                REQUIRE(place);
                REQUIRE(place->bytes.size() == each.bytes.size());
                std::ranges::copy(each.bytes, place->bytes.begin());
                arrived = reassembly.landed(each.header, each.bytes.size()).message;
            }
            CHECK(arrived.has_value() == !next->done.empty());
        }
        REQUIRE(arrived);
        base::Bytes scratch;
        CHECK(base::equal(arrived->bytes.contiguous(scratch), *message));
        CHECK(arrived->lane == Lane::data);
        CHECK(arrived->priority == 6);
        CHECK(reassembly.open_bytes() == 0);
    }
    CHECK(pool->blocks_out() == 0);
}

TEST_CASE("a part that continues no message is refused, and memory for messages is bounded") {
    const auto pool = *BufferPool::create({.bytes = 64U << 20U, .huge_pages = false});
    Reassembly reassembly(*pool);
    CHECK_THAT(refusal(reassembly, part(65'536, false), 10), Catch::Contains("continues no"));
    CHECK_THAT(refusal(reassembly, part(100'000, true), 65'535), Catch::Contains("neither full"));
    CHECK_THAT(refusal(reassembly, part(1'000, true), 1'001), Catch::Contains("neither full"));
    CHECK(refusal(reassembly, part(100'000, true), 65'536) == "taken");
    CHECK_FALSE(reassembly.landed(part(100'000, true), 65'536).message);
    CHECK_THAT(refusal(reassembly, part(500, true), 500), Catch::Contains("begins before"));
    CHECK_THAT(refusal(reassembly, part(131'072, false), 34'464), Catch::Contains("continues no"));
    CHECK_THAT(refusal(reassembly, part(65'536, false), 34'463), Catch::Contains("neither full"));
    // A slice has no place in it.
    const FrameHeader slice{
        .lane = Lane::data, .priority = 6, .length = 16'376, .total_or_offset = 16'376};
    CHECK_FALSE(reassembly.take(slice, base::Bytes(16'376)));
    CHECK(refusal(reassembly, part(65'536, false), 34'464) == "taken");
    CHECK(reassembly.landed(part(65'536, false), 34'464).message);
    for (const Priority level : {Priority{1}, Priority{2}}) {
        CHECK(refusal(reassembly, part(kMessageBytesMax, true, level), 65'536) == "taken");
        (void)reassembly.landed(part(kMessageBytesMax, true, level), 65'536);
    }
    CHECK_THAT(refusal(reassembly, part(65'537, true, 3), 65'536), Catch::Contains("16 MiB"));
    CHECK(refusal(reassembly, part(65'536, true, 3), 65'536) == "taken");
    reassembly.clear();
    CHECK(pool->blocks_out() == 0);
}

TEST_CASE("a part whose message finds no memory waits and takes nothing") {
    const auto pool = *BufferPool::create({.bytes = 16U << 20U, .huge_pages = false});
    const auto all = pool->get_message(kMessageBytesMax);
    Reassembly reassembly(*pool);
    const auto place = reassembly.place(part(3'000'000, true), 65'536);
    REQUIRE(place);
    CHECK(place->is_short_of_memory);
    CHECK(reassembly.open_bytes() == 0);
}

}  // namespace transport::link
// NOLINTEND(bugprone-unchecked-optional-access)
