// The wire format: every header survives the way there and back or is refused; streams may come
// in pieces of any size. Queues: urgency, quotas, bounds. Reassembly: only what continues.
#include "transport/link/frame.hpp"

#include "base/rng.hpp"
#include "transport/link/outbox.hpp"
#include "transport/link/reassembly.hpp"
#include "transport/link/send_queue.hpp"

#include <catch2/catch.hpp>

#include <cstring>
#include <map>
#include <string>

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace transport::link {

namespace {

SharedBytes shared(std::size_t size, std::uint8_t fill = 7) {
    return std::make_shared<const base::Bytes>(size, std::byte{fill});
}

std::unique_ptr<BufferPool> make_pool(std::size_t bytes = 64U << 20U) {
    auto pool = BufferPool::create({.bytes = bytes, .huge_pages = false});
    REQUIRE(pool);
    return std::move(*pool);
}

base::Bytes fill_one(SendQueue& queue) {
    base::Bytes out(kFrameBytesMax);
    out.resize(queue.fill(out));
    return out;
}

// Feeds a stream in pieces and collects the messages.
struct Receiver {
    explicit Receiver(BufferPool& pool) : reassembly(pool) {}

    void feed(base::ByteView bytes) {
        while (!bytes.empty()) {
            const auto space = reader.space();
            const std::size_t count = std::min(space.size(), bytes.size());
            std::memcpy(space.data(), bytes.data(), count);
            reader.commit(count);
            bytes = bytes.subspan(count);
            take();
        }
    }
    void take() {
        while (true) {
            const auto frame = reader.peek();
            REQUIRE(frame);
            if (!*frame) return;
            auto taken = reassembly.take((*frame)->header, (*frame)->payload);
            REQUIRE(taken);
            REQUIRE_FALSE(taken->is_short_of_memory);
            if (taken->message) messages.push_back(std::move(*taken->message));
            reader.consume(**frame);
        }
    }

    FrameReader reader;
    Reassembly reassembly;
    std::vector<Message> messages;
};

}  // namespace

TEST_CASE("a header is refused or survives the way there and back") {
    base::Rng rng(1);
    unsigned accepted = 0;
    const std::vector<std::uint32_t> numbers{
        0, 1, 255, 4'087, 4'088, 4'089, 16'376, 16'377, 32'752, 12, 65'536, kMessageBytesMax};
    for (int i = 0; i < 300'000; ++i) {
        const auto number = [&] { return numbers[rng.below(numbers.size())]; };
        FrameHeaderBytes bytes =
            encode({.length = static_cast<std::uint16_t>(number()), .total_or_offset = number()});
        bytes[0] = static_cast<std::byte>(rng.below(7));
        bytes[1] = static_cast<std::byte>(rng.below(3) == 0 ? 0 : rng.below(40));
        const auto header = decode_header(bytes);
        if (!header) {
            CHECK(header.error().code == base::Errc::malformed);
            continue;
        }
        ++accepted;
        CHECK(encode(*header) == bytes);
    }
    CHECK(accepted > 100);
}

TEST_CASE("a stream may come in pieces of any size") {
    const auto pool = make_pool();
    SendQueue queue;
    const std::vector<std::size_t> sizes{1, 4088, 4089, 16'376, 16'377, 100'000, 3'000'000};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        REQUIRE(queue.push(Lane::data, 4, shared(sizes[i], static_cast<std::uint8_t>(i))));
    }
    base::Bytes stream;
    while (!queue.empty()) {
        const auto part = fill_one(queue);
        stream.insert(stream.end(), part.begin(), part.end());
    }
    CHECK(queue.unsent_bytes() == 0);
    CHECK(queue.queued_bytes(Lane::data) == 0);
    base::Rng rng(2);
    for (const std::size_t piece_max : {1U, 100U, 40'000U}) {
        Receiver receiver(*pool);
        base::ByteView left = stream;
        if (piece_max == 1) left = left.first(60'000);
        while (!left.empty()) {
            const std::size_t count = std::min<std::size_t>(1 + rng.below(piece_max), left.size());
            receiver.feed(left.first(count));
            left = left.subspan(count);
        }
        REQUIRE(receiver.messages.size() == (piece_max == 1 ? 5 : sizes.size()));
        for (std::size_t i = 0; i < receiver.messages.size(); ++i) {
            base::Bytes scratch;
            const auto bytes = receiver.messages[i].bytes.contiguous(scratch);
            CHECK(base::equal(bytes, *shared(sizes[i], static_cast<std::uint8_t>(i))));
        }
    }
    CHECK(pool->blocks_out() == 0);
}

TEST_CASE("the most urgent goes first, and the least urgent goes too") {
    SendQueue queue;
    for (int i = 0; i < 40; ++i)
        REQUIRE(queue.push(Lane::control, 0, shared(4'088)));
    REQUIRE(queue.push(Lane::data, 7, shared(16'376)));
    REQUIRE(queue.push(Lane::data, 3, shared(16'376)));
    std::vector<int> order;
    while (!queue.empty()) {
        const auto bytes = fill_one(queue);
        FrameReader reader;
        std::memcpy(reader.space().data(), bytes.data(), bytes.size());
        reader.commit(bytes.size());
        while (const auto frame = *reader.peek()) {
            order.push_back(frame->header.priority);
            reader.consume(*frame);
        }
    }
    // A round is eight of level 0, then what the others have.
    REQUIRE(order.size() == 42);
    CHECK(order[7] == 0);
    CHECK(order[8] == 3);
    CHECK(order[9] == 7);
    CHECK(std::count(order.begin() + 10, order.end(), 0) == 32);
}

TEST_CASE("what becomes urgent overtakes between two slices") {
    SendQueue queue;
    REQUIRE(queue.push(Lane::data, 7, shared(1'000'000)));
    CHECK(fill_one(queue).size() == kFrameBytesMax);
    REQUIRE(queue.push(Lane::control, 0, shared(100)));
    const auto bytes = fill_one(queue);
    FrameHeaderBytes head{};
    std::memcpy(head.data(), bytes.data(), head.size());
    CHECK(decode_header(head)->priority == 0);
    CHECK(decode_header(head)->length == 100);
}

TEST_CASE("unfinished messages never exceed what a receiver keeps") {
    const auto pool = make_pool(256U << 20U);
    SendQueue queue(SendQueue::Limits{.bytes = {64U << 20U, 64U << 20U}});
    for (Priority level = 0; level < 6; ++level) {
        REQUIRE(queue.push(Lane::data, level, shared(6'000'000)));
        REQUIRE(queue.push(Lane::control, level, shared(200)));
    }
    Receiver receiver(*pool);
    std::size_t most = 0;
    while (!queue.empty()) {
        receiver.feed(fill_one(queue));
        most = std::max(most, receiver.reassembly.open_bytes());
        // A thing the receiver would refuse fails in feed().
        if (receiver.messages.size() > 4) receiver.messages.clear();
    }
    CHECK(most == 12'000'000);
    CHECK(receiver.reassembly.open_bytes() == 0);
}

TEST_CASE("a lane is bounded in bytes and in number, and says when there is room") {
    SendQueue queue(SendQueue::Limits{.bytes = {10'000, 10'000}});
    Payload huge(shared(1'000'000));
    const bool is_alone = queue.push(Lane::data, 1, std::move(huge)).has_value();
    REQUIRE(is_alone);  // Any length.
    Payload kept(shared(1));
    const auto refused = queue.push(Lane::data, 1, std::move(kept));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == base::Errc::would_block);
    CHECK(kept.size() == 1);  // NOLINT(bugprone-use-after-move): refused, so not moved.
    CHECK_FALSE(queue.take_writable(Lane::data));
    unsigned tiny = 0;
    while (queue.push(Lane::control, 1, shared(1)))
        ++tiny;
    CHECK(tiny == 10'000 / 257);
    while (!queue.empty())
        (void)fill_one(queue);
    CHECK(queue.take_writable(Lane::data));
    CHECK_FALSE(queue.take_writable(Lane::data));
    CHECK(queue.take_writable(Lane::control));
    // NOLINTNEXTLINE(bugprone-use-after-move)
    const bool is_accepted = queue.push(Lane::data, 1, std::move(kept)).has_value();
    REQUIRE(is_accepted);
    queue.drop(Lane::data);
    CHECK(queue.empty());
    CHECK(queue.queued_bytes(Lane::data) == 0);
}

TEST_CASE("reassembly takes only what continues, and only what it has memory for") {
    const auto pool = make_pool(16U << 20U);
    Reassembly reassembly(*pool);
    const base::Bytes bytes(slice_bytes(Lane::data));
    const auto first = [&](Priority level, std::uint32_t total) {
        return reassembly.take({.lane = Lane::data,
                                .priority = level,
                                .is_first = true,
                                .length = static_cast<std::uint16_t>(bytes.size()),
                                .total_or_offset = total},
                               bytes);
    };
    const auto next = [&](Priority level, std::size_t offset, std::size_t length) {
        return reassembly.take({.lane = Lane::data,
                                .priority = level,
                                .length = static_cast<std::uint16_t>(length),
                                .total_or_offset = static_cast<std::uint32_t>(offset)},
                               base::ByteView(bytes).first(length));
    };
    CHECK_FALSE(next(0, bytes.size(), 5));
    REQUIRE(first(0, 20'000));
    CHECK_FALSE(next(1, bytes.size(), 20'000 - bytes.size()));
    CHECK_FALSE(next(0, bytes.size(), 5));
    CHECK_FALSE(next(0, 2 * bytes.size(), 5));
    CHECK_FALSE(first(0, 20'000));
    const auto done = next(0, bytes.size(), 20'000 - bytes.size());
    REQUIRE(done);
    REQUIRE(done->message);
    CHECK(done->message->bytes.size() == 20'000);
    CHECK_FALSE(next(0, bytes.size(), 5));
    REQUIRE(first(1, 8'000'000));  // All of the large blocks.
    const auto waits = first(2, 8'000'000);
    REQUIRE(waits);
    CHECK(waits->is_short_of_memory);
    CHECK(reassembly.open_bytes() == 8'000'000);
}

TEST_CASE("an outbox gives back exactly what is not covered") {
    Outbox outbox;
    for (std::uint8_t i = 0; i < 5; ++i) {
        outbox.add({Lane::control, i, shared(10, i)});
        outbox.add({Lane::data, i, shared(100, i)});
    }
    CHECK(outbox.bytes() == 550);
    CHECK(outbox.cover({3, 1}));
    CHECK_FALSE(outbox.cover({2, 1}));
    CHECK_FALSE(outbox.cover({6, 1}));
    CHECK(outbox.bytes() == 420);
    SendQueue queue;
    REQUIRE(queue.push(Lane::control, 3, shared(10, 99)));
    queue.put_back(outbox.take_all());
    CHECK(outbox.bytes() == 0);
    std::vector<std::string> order;
    while (auto message = queue.take()) {
        order.push_back((message->lane == Lane::control ? "c" : "d") +
                        std::to_string(message->priority) + "/" +
                        std::to_string(std::to_integer<int>(message->payload.run_at(0)[0])));
    }
    CHECK(order ==
          std::vector<std::string>{"d1/1", "d2/2", "c3/3", "c3/99", "d3/3", "c4/4", "d4/4"});
    CHECK(queue.queued_bytes(Lane::control) == 0);
    CHECK(queue.unsent_bytes() == 0);
}

TEST_CASE("a goodbye keeps its words and nothing that could disturb a log") {
    const auto info = decode_goodbye(encode_goodbye(CloseReason::refused, "revoked\n\x1b[2J\xff"));
    REQUIRE(info);
    CHECK(info->reason == CloseReason::refused);
    CHECK(info->by_peer);
    CHECK(info->text == "revoked??[2J?");
    CHECK(decode_goodbye(encode_goodbye(CloseReason::local, "x"))->reason == CloseReason::peer);
    CHECK(encode_goodbye(CloseReason::local, std::string(1'000, 'x')).size() == 256);
    CHECK_FALSE(decode_goodbye({}));
    CHECK_FALSE(decode_goodbye(base::as_bytes("\x7f")));
}

}  // namespace transport::link
// NOLINTEND(bugprone-unchecked-optional-access)
