#pragma once

#include "base/bytes.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <immintrin.h>
#include <span>

namespace transport::ring {

// The peer's memory as a mapping of this process: shared memory, or the BAR of a bridge mapped
// with write combining, where stores leave the processor in any order but for fences (Intel SDM
// 3A, 11.3.1). Itself never loads. Places are within the peer's memory, words at multiples of 8.
class MappedStore {
  public:
    enum class Mapping : std::uint8_t {
        write_back,
        write_combining,
        of_two,  // Write back, and only both ends can reach it.
    };

    MappedStore(std::span<std::byte> peer, Mapping mapping) : peer_(peer), mapping_(mapping) {}

    void put(std::size_t offset, base::ByteView bytes) {
        std::memcpy(peer_.subspan(offset, bytes.size()).data(), bytes.data(), bytes.size());
    }
    // So many bytes at `offset`, to work there on what is secret from others than the peer; empty:
    // that must be done elsewhere.
    [[nodiscard]] std::span<std::byte> in_place(std::size_t offset, std::size_t bytes) {
        return mapping_ == Mapping::of_two ? peer_.subspan(offset, bytes) : std::span<std::byte>();
    }
    void put_word(std::size_t offset, std::uint64_t word) {
        auto* place = reinterpret_cast<std::uint64_t*>(peer_.subspan(offset, sizeof word).data());
        __atomic_store_n(place, word, __ATOMIC_RELEASE);
    }
    void fence() {
        if (mapping_ == Mapping::write_combining) {
            _mm_sfence();
        } else {
            std::atomic_thread_fence(std::memory_order_release);
        }
    }

  private:
    std::span<std::byte> peer_;
    Mapping mapping_;
};

}  // namespace transport::ring
