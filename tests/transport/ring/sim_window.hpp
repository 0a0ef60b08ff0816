#pragma once

#include "base/bytes.hpp"
#include "base/rng.hpp"
#include "transport/ring/record.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tests {

// A peer's memory behind a processor that combines writes: stores gather in a few buffers of a
// line, and leave them when it pleases the processor, in pieces of 8 bytes, but all of them at a
// fence (Intel SDM 3A, 11.3.1: "the protocol for evicting the WC buffers is implementation
// dependent"). What pleases the processor is a seed.
class SimWindow {
  public:
    SimWindow(std::span<std::byte> memory, std::uint64_t seed) : memory_(memory), rng_(seed) {}

    void put(std::size_t offset, base::ByteView bytes) {
        while (!bytes.empty()) {
            const std::size_t in_line = offset % kLine;
            const std::size_t count = std::min(kLine - in_line, bytes.size());
            Line& line = line_at(offset / kLine);
            std::memcpy(line.bytes.data() + in_line, bytes.data(), count);
            for (std::size_t i = in_line; i < in_line + count; ++i)
                line.is_written[i] = true;
            bytes = bytes.subspan(count);
            offset += count;
            evict_some();
        }
    }
    void put_word(std::size_t offset, std::uint64_t word) {
        put(offset, base::ByteView(reinterpret_cast<const std::byte*>(&word), sizeof word));
    }
    void fence() {
        while (!lines_.empty())
            evict(rng_.below(lines_.size()));
    }
    // Time passes: a buffer or none leaves.
    void evict_some() {
        if (!lines_.empty() && rng_.below(3) == 0) evict(rng_.below(lines_.size()));
    }

  private:
    static constexpr std::size_t kLine = transport::ring::kLineBytes;
    static constexpr std::size_t kBuffers = 10;

    struct Line {
        std::size_t number = 0;
        std::array<std::byte, kLine> bytes{};
        std::array<bool, kLine> is_written{};
    };

    Line& line_at(std::size_t number) {
        for (Line& line : lines_) {
            if (line.number == number) return line;
        }
        if (lines_.size() == kBuffers) evict(rng_.below(kBuffers));
        lines_.push_back({.number = number, .bytes = {}, .is_written = {}});
        return lines_.back();
    }
    // A word of a line goes at once, the words of a line in any order: here from a random one on.
    void evict(std::size_t index) {
        const Line line = lines_[index];
        lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(index));
        const std::size_t first = rng_.below(kLine / 8);
        for (std::size_t i = 0; i < kLine; ++i) {
            const std::size_t at = (first * 8 + i) % kLine;
            if (line.is_written[at]) memory_[line.number * kLine + at] = line.bytes[at];
        }
    }

    std::span<std::byte> memory_;
    base::Rng rng_;
    std::vector<Line> lines_;
};

}  // namespace tests
