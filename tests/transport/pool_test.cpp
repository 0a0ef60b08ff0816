// Buffers: sizes, borrowing from larger ones, coming back on other threads, being wished for.
#include "transport/buffer_pool.hpp"
#include "transport/channel.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <thread>
#include <vector>

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace transport {

namespace {

std::unique_ptr<BufferPool> make_pool() {
    auto pool = BufferPool::create({.bytes = 1, .huge_pages = true});
    REQUIRE(pool);
    CHECK((*pool)->bytes_mapped() == 16U << 20U);
    return std::move(*pool);
}

}  // namespace

TEST_CASE("blocks are aligned, disjoint, bounded, and come back") {
    const auto pool = make_pool();
    for (int round = 0; round < 3; ++round) {
        std::vector<Buffer> held;
        while (auto buffer = pool->get(65'000)) {
            REQUIRE(reinterpret_cast<std::uintptr_t>(buffer->bytes().data()) % 64 == 0);
            for (std::byte& each : buffer->bytes())
                each = static_cast<std::byte>(held.size());
            held.push_back(std::move(*buffer));
        }
        // 64 of 64 KiB, then the four of 2 MiB.
        CHECK(held.size() == 68);
        for (std::size_t i = 0; i < held.size(); ++i) {
            CHECK(held[i].view().front() == static_cast<std::byte>(i));
            CHECK(held[i].view().back() == static_cast<std::byte>(i));
        }
        CHECK_FALSE(pool->get_message(kMessageBytesMax));
        CHECK(pool->blocks_out() == 68);
        CHECK(pool->get(256));  // Other sizes are there.
        held.clear();
        CHECK(pool->blocks_out() == 0);
        CHECK(pool->get_message(kMessageBytesMax));
    }
}

TEST_CASE("a message of several buffers reads as it was written") {
    const auto pool = make_pool();
    base::Bytes bytes(5'000'000);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(i * 7 >> 3U);
    auto message = pool->copy(bytes);
    REQUIRE(message);
    CHECK(message->parts().size() == 3);
    base::Bytes scratch;
    CHECK(base::equal(message->contiguous(scratch), bytes));
    CHECK(message->run_at(2U << 20U).size() == 2U << 20U);
    Payload payload(std::move(*message));
    CHECK(payload.size() == bytes.size());
    CHECK(base::equal(payload.run_at(4'999'999), base::ByteView(bytes).last(1)));
    const auto empty = pool->get_message(0);
    REQUIRE(empty);
    CHECK(empty->contiguous(scratch).empty());
}

TEST_CASE("buffers come back from other threads, which wake the owner once a wish") {
    const auto pool = make_pool();
    std::atomic<int> woken = 0;
    pool->set_wake([&] { ++woken; });
    std::vector<Buffer> held;
    while (auto buffer = pool->get(2U << 20U))
        held.push_back(std::move(*buffer));
    pool->want();
    std::thread([&] { held.clear(); }).join();
    CHECK(woken == 1);
    CHECK(pool->get_message(kMessageBytesMax));
    CHECK(woken == 1);
    // Many at once, while the owner takes.
    std::vector<Buffer> one(200);
    std::vector<Buffer> other(200);
    for (int round = 0; round < 50; ++round) {
        for (auto* part : {&one, &other}) {
            for (Buffer& each : *part)
                each = std::move(*pool->get(100));
        }
        std::thread first([&] {
            for (Buffer& each : one)
                each = Buffer();
        });
        std::thread second([&] {
            for (Buffer& each : other)
                each = Buffer();
        });
        for (int i = 0; i < 1'000; ++i)
            REQUIRE(pool->get(200));
        first.join();
        second.join();
    }
    CHECK(pool->blocks_out() == 0);
}

TEST_CASE("a charge counts while it lives") {
    auto total = std::make_shared<std::atomic<std::size_t>>(0);
    {
        Charge one(total, 10);
        Charge other(total, 5);
        CHECK(*total == 15);
        one = std::move(other);
        CHECK(*total == 5);
    }
    CHECK(*total == 0);
}

}  // namespace transport
// NOLINTEND(bugprone-unchecked-optional-access)
