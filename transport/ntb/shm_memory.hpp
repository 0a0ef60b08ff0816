#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace transport::ntb {

// A mapping of memory that two processes share. Its maker takes the pages back when it ends,
// however long the other keeps its mapping.
class SharedMemory : base::Pinned {
  public:
    // Makes memory that this process only reads, of whole pages, zero, and all there; nobody can
    // change its size. unavailable: there is none.
    [[nodiscard]] static base::Result<std::unique_ptr<SharedMemory>> create(std::size_t bytes);
    // Maps what a peer gave, to write it. invalid: no memory of so many bytes, or the peer could
    // take some of it away, so that writing there would end this process.
    [[nodiscard]] static base::Result<std::unique_ptr<SharedMemory>> adopt(Descriptor memory,
                                                                           std::size_t bytes);
    ~SharedMemory();

    [[nodiscard]] std::span<std::byte> bytes() { return {begin_, size_}; }
    [[nodiscard]] int descriptor() const { return memory_.get(); }

  private:
    enum class Side : std::uint8_t { reads, writes };

    SharedMemory(Descriptor memory, std::byte* begin, std::size_t size, Side side)
        : memory_(std::move(memory)), begin_(begin), size_(size), side_(side) {}
    [[nodiscard]] static base::Result<std::unique_ptr<SharedMemory>> map(Descriptor memory,
                                                                         std::size_t bytes,
                                                                         Side side);

    Descriptor memory_;
    std::byte* begin_;
    std::size_t size_;
    Side side_;  // Who reads has made it.
};

}  // namespace transport::ntb
