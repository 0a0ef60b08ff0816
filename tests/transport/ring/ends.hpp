#pragma once

#include "base/rng.hpp"
#include "transport/ring/consumer.hpp"
#include "transport/ring/producer.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

// The two ends of one ring in one process, and what goes through them.
namespace tests {

namespace ring = transport::ring;

inline base::Bytes pattern(std::size_t size, std::uint64_t seed) {
    base::Bytes out(size);
    std::uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
    for (std::byte& each : out) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        each = static_cast<std::byte>(state >> 56U);
    }
    return out;
}

// Memory at a line's start, zeroed.
class Memory {
  public:
    explicit Memory(std::size_t size) : lines_(size / ring::kLineBytes) {}
    [[nodiscard]] std::span<std::byte> bytes() {
        return {lines_.front().bytes.data(), lines_.size() * ring::kLineBytes};
    }

  private:
    struct alignas(ring::kLineBytes) Line {
        std::array<std::byte, ring::kLineBytes> bytes{};
    };
    std::vector<Line> lines_;
};

inline base::Hash256 test_secret() {
    base::Hash256 out;
    out.bytes.fill(std::byte{42});
    return out;
}

// S is made from the ring's memory.
template <class S>
struct Ends {
    template <class... Args>
    Ends(std::size_t bytes, bool is_sealed, Args... args)
        : memory(bytes), store(memory.bytes(), args...) {
        if (is_sealed) {
            seal = std::make_unique<ring::Seal>(test_secret(), ring::Seal::Use::seal);
            opener = std::make_unique<ring::Seal>(test_secret(), ring::Seal::Use::open);
        }
        producer = std::make_unique<ring::Producer<S>>(store, 0, bytes, seal.get());
        consumer = std::make_unique<ring::Consumer>(memory.bytes(), opener.get());
    }

    // The next payload, consumed; empty: none.
    std::optional<base::Bytes> pop() {
        const auto payload = consumer->peek();
        REQUIRE(payload);
        if (!*payload) return std::nullopt;
        base::Bytes out = base::to_bytes(**payload);
        consumer->consume();
        return out;
    }
    void return_credit() {
        if (const auto position = consumer->take_due_credit())
            REQUIRE(producer->take_credit(*position));
    }

    Memory memory;
    S store;
    std::unique_ptr<ring::Seal> seal;
    std::unique_ptr<ring::Seal> opener;
    std::unique_ptr<ring::Producer<S>> producer;
    std::unique_ptr<ring::Consumer> consumer;
};

}  // namespace tests
