#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/types.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace transport {

class BufferPool;

// The sizes of the blocks of a pool. Each block is aligned to a cache line.
inline constexpr std::array<std::size_t, 4> kBlockBytes = {256, 4U << 10, 64U << 10, 2U << 20};

// The one owner of a block; gives it back when destroyed, on any thread.
class Buffer {
  public:
    Buffer() = default;
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        Buffer(std::move(other)).swap(*this);
        return *this;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    [[nodiscard]] std::span<std::byte> bytes() { return {begin_, size_}; }
    [[nodiscard]] base::ByteView view() const { return {begin_, size_}; }
    [[nodiscard]] bool empty() const { return size_ == 0; }

  private:
    friend class BufferPool;
    void swap(Buffer& other) noexcept {
        std::swap(begin_, other.begin_);
        std::swap(size_, other.size_);
        std::swap(block_class_, other.block_class_);
        std::swap(pool_, other.pool_);
    }

    std::byte* begin_ = nullptr;
    std::uint32_t size_ = 0;
    std::uint32_t block_class_ = 0;
    BufferPool* pool_ = nullptr;
};

// The bytes of one message: one buffer, or up to four where it is longer than 2 MiB.
class Buffers {
  public:
    static constexpr std::size_t kPartsMax = kMessageBytesMax / kBlockBytes.back();

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::span<Buffer> parts() { return {parts_.data(), count_}; }
    [[nodiscard]] std::span<const Buffer> parts() const { return {parts_.data(), count_}; }
    // Copies `bytes` to where they belong; they end at size() at most.
    void write(std::size_t offset, base::ByteView bytes);
    // Where so many bytes belong, which lie in one buffer.
    [[nodiscard]] std::span<std::byte> place(std::size_t offset, std::size_t bytes);
    // The run of bytes from `offset` to the end of its buffer.
    [[nodiscard]] base::ByteView run_at(std::size_t offset) const;
    // All bytes in one run: in place if there is one buffer, else copied to `scratch`.
    [[nodiscard]] base::ByteView contiguous(base::Bytes& scratch) const;

  private:
    friend class BufferPool;
    std::array<Buffer, kPartsMax> parts_;
    std::size_t count_ = 0;
    std::size_t size_ = 0;
};

struct PoolOptions {
    // Half of it in blocks of 2 MiB, a quarter of 64 KiB, an eighth each of 4 KiB and 256 B.
    std::size_t bytes = std::size_t{128} << 20;
    bool huge_pages = true;  // Asks for pages of 2 MiB; without them all works, slower.
};

// Memory for messages, mapped once: a bound that holds, and addresses that a device can know.
// Pages cost nothing until they are used.
//
// Thread: all but coming back is the owner's; buffers come back on any thread. No
// locks. The pool outlives its buffers.
class BufferPool : base::Pinned {
  public:
    // unavailable: no address space; the text says how much was asked for.
    [[nodiscard]] static base::Result<std::unique_ptr<BufferPool>> create(
        const PoolOptions& options);
    ~BufferPool();

    // One block's worth at most: size in 1..2 MiB. Empty: nothing is free; never grows.
    [[nodiscard]] std::optional<Buffer> get(std::size_t size);
    // A message's worth: size in 0..kMessageBytesMax. All or nothing.
    [[nodiscard]] std::optional<Buffers> get_message(std::size_t size);
    [[nodiscard]] std::optional<Buffers> copy(base::ByteView bytes);

    // Before first use: what to call when a wanted block comes back; on any thread.
    void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }
    // Asks for one call of `wake`. Then try once more: a block may just have come back.
    void want() { is_wanted_ = true; }

    [[nodiscard]] std::size_t blocks_out() const { return blocks_out_.load(); }
    [[nodiscard]] std::size_t bytes_mapped() const { return mapped_bytes_; }

  private:
    friend class Buffer;
    struct FreeBlock {
        explicit FreeBlock(FreeBlock* after) : next(after) {}
        FreeBlock* next;
    };
    // The free blocks of one size: those the owner takes from, and those that came back.
    struct BlockClass {
        FreeBlock* free = nullptr;
        std::atomic<FreeBlock*> returned = nullptr;
        std::byte* unused_begin = nullptr;  // Never handed out yet.
        std::byte* unused_end = nullptr;
    };

    BufferPool() = default;
    [[nodiscard]] std::byte* take_block(std::size_t block_class);
    void give_back(std::byte* block, std::size_t block_class);

    std::array<BlockClass, kBlockBytes.size()> classes_;
    std::atomic<std::size_t> blocks_out_ = 0;
    std::atomic<bool> is_wanted_ = false;
    std::function<void()> wake_;
    std::byte* mapping_ = nullptr;
    std::size_t mapped_bytes_ = 0;
};

}  // namespace transport
