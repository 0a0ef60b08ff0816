#include "transport/buffer_pool.hpp"

#include "base/check.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace transport {

namespace {

// The share of each size in a pool, in eighths.
constexpr std::array<std::size_t, kBlockBytes.size()> kShares = {1, 1, 2, 4};

// The smallest block that holds `size` bytes.
std::size_t class_of(std::size_t size) {
    const auto found = std::ranges::lower_bound(kBlockBytes, size);
    CHECK(found != kBlockBytes.end());
    return static_cast<std::size_t>(found - kBlockBytes.begin());
}

}  // namespace

Buffer::~Buffer() {
    if (pool_ != nullptr) pool_->give_back(begin_, block_class_);
}

void Buffers::write(std::size_t offset, base::ByteView bytes) {
    CHECK(offset <= size_ && bytes.size() <= size_ - offset);
    while (!bytes.empty()) {
        const std::span<std::byte> part = parts_[offset / kBlockBytes.back()].bytes();
        const std::size_t begin = offset % kBlockBytes.back();
        const std::size_t count = std::min(part.size() - begin, bytes.size());
        std::memcpy(part.data() + begin, bytes.data(), count);
        bytes = bytes.subspan(count);
        offset += count;
    }
}

std::span<std::byte> Buffers::place(std::size_t offset, std::size_t bytes) {
    CHECK(offset < size_);
    const std::span<std::byte> part = parts_[offset / kBlockBytes.back()].bytes();
    const std::size_t begin = offset % kBlockBytes.back();
    CHECK(bytes <= part.size() - begin);
    return part.subspan(begin, bytes);
}

base::ByteView Buffers::run_at(std::size_t offset) const {
    CHECK(offset < size_);
    return parts_[offset / kBlockBytes.back()].view().subspan(offset % kBlockBytes.back());
}

base::ByteView Buffers::contiguous(base::Bytes& scratch) const {
    if (count_ == 0) return {};
    if (count_ == 1) return parts_.front().view();
    scratch.clear();
    scratch.reserve(size_);
    for (const Buffer& part : parts()) {
        scratch.insert(scratch.end(), part.view().begin(), part.view().end());
    }
    return scratch;
}

base::Result<std::unique_ptr<BufferPool>> BufferPool::create(const PoolOptions& options) {
    // Whole large blocks, so that every size has its share and its alignment.
    constexpr std::size_t kUnit = 8 * kBlockBytes.back();
    const std::size_t bytes = std::max((options.bytes + kUnit - 1) / kUnit * kUnit, kUnit);
    void* mapping = mmap(
        nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
        return base::fail(base::Errc::unavailable,
                          "no " + std::to_string(bytes >> 20U) +
                              " MiB of address space for message buffers; check ulimit -v");
    }
    // Advice: refused by kernels without huge pages, and then nothing is lost but speed.
    if (options.huge_pages) madvise(mapping, bytes, MADV_HUGEPAGE);
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
    std::unique_ptr<BufferPool> pool(new BufferPool());
    pool->mapping_ = static_cast<std::byte*>(mapping);
    pool->mapped_bytes_ = bytes;
    std::byte* begin = pool->mapping_;
    for (std::size_t i = 0; i < kBlockBytes.size(); ++i) {
        BlockClass& blocks = pool->classes_[i];
        blocks.unused_begin = begin;
        begin += bytes / 8 * kShares[i];
        blocks.unused_end = begin;
    }
    return pool;
}

BufferPool::~BufferPool() {
    CHECK(blocks_out_ == 0);
    munmap(mapping_, mapped_bytes_);
}

std::byte* BufferPool::take_block(std::size_t block_class) {
    BlockClass& blocks = classes_[block_class];
    if (blocks.free == nullptr) blocks.free = blocks.returned.exchange(nullptr);
    if (blocks.free != nullptr) {
        FreeBlock* block = blocks.free;
        blocks.free = block->next;
        return reinterpret_cast<std::byte*>(block);
    }
    if (blocks.unused_begin == blocks.unused_end) return nullptr;
    std::byte* block = blocks.unused_begin;
    blocks.unused_begin += kBlockBytes[block_class];
    return block;
}

std::optional<Buffer> BufferPool::get(std::size_t size) {
    CHECK(size > 0 && size <= kBlockBytes.back());
    // A larger block serves too when those of the right size are out.
    for (std::size_t i = class_of(size); i < kBlockBytes.size(); ++i) {
        std::byte* block = take_block(i);
        if (block == nullptr) continue;
        ++blocks_out_;
        Buffer buffer;
        buffer.begin_ = block;
        buffer.size_ = static_cast<std::uint32_t>(size);
        buffer.block_class_ = static_cast<std::uint32_t>(i);
        buffer.pool_ = this;
        return buffer;
    }
    return std::nullopt;
}

std::optional<Buffers> BufferPool::get_message(std::size_t size) {
    CHECK(size <= kMessageBytesMax);
    Buffers message;
    while (message.size_ < size) {
        auto part = get(std::min(size - message.size_, kBlockBytes.back()));
        if (!part) return std::nullopt;
        message.size_ += part->view().size();
        message.parts_[message.count_++] = std::move(*part);
    }
    return message;
}

std::optional<Buffers> BufferPool::copy(base::ByteView bytes) {
    auto message = get_message(bytes.size());
    if (message) message->write(0, bytes);
    return message;
}

void BufferPool::give_back(std::byte* block, std::size_t block_class) {
    std::atomic<FreeBlock*>& returned = classes_[block_class].returned;
    FreeBlock* const freed =
        std::construct_at(reinterpret_cast<FreeBlock*>(block), returned.load());
    // Only the owner takes from this list, and it takes it whole: there is no ABA.
    while (!returned.compare_exchange_weak(freed->next, freed)) {
    }
    if (is_wanted_.load() && is_wanted_.exchange(false)) wake_();
    --blocks_out_;  // Last: at zero the owner may destroy the pool.
}

}  // namespace transport
