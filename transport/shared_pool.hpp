#pragma once

#include "base/pinned.hpp"
#include "transport/types.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace transport {

// Memory that is used again: blocks of one size, and byte strings.
//
// Thread: any. A lock is held for a few instructions only.
class SpareMemory : base::Pinned {
  public:
    static constexpr std::size_t kBlockBytes = 128;
    // What is kept at most; what comes back beyond that is freed.
    static constexpr std::size_t kBlocksKept = 4'096;
    static constexpr std::size_t kStringsKept = 1'024;
    static constexpr std::size_t kStringBytesKept = 4U << 10U;

    SpareMemory() = default;
    ~SpareMemory();

    // At least kBlockBytes.
    [[nodiscard]] void* take_block();
    void give_block(void* block) noexcept;
    // Empty, with the room that it had.
    [[nodiscard]] base::Bytes take_string();
    void give_string(base::Bytes&& string) noexcept;

  private:
    std::mutex mutex_;
    std::vector<void*> blocks_;
    std::vector<base::Bytes> strings_;
};

// Takes single objects of at most kBlockBytes from a SpareMemory, which lives as long as they do:
// for std::allocate_shared and the constructors of std::shared_ptr.
template <class T>
class SpareAllocator {
  public:
    using value_type = T;  // NOLINT(readability-identifier-naming): the standard's name.

    explicit SpareAllocator(std::shared_ptr<SpareMemory> memory) : memory_(std::move(memory)) {}
    template <class U>
    SpareAllocator(const SpareAllocator<U>& other)  // NOLINT(google-explicit-constructor)
        : memory_(other.memory()) {}

    [[nodiscard]] T* allocate(std::size_t /*count*/) {
        static_assert(sizeof(T) <= SpareMemory::kBlockBytes);
        static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
        return static_cast<T*>(memory_->take_block());
    }
    void deallocate(T* object, std::size_t /*count*/) noexcept { memory_->give_block(object); }

    [[nodiscard]] const std::shared_ptr<SpareMemory>& memory() const { return memory_; }
    template <class U>
    friend bool operator==(const SpareAllocator& a, const SpareAllocator<U>& b) {
        return a.memory() == b.memory();
    }

  private:
    std::shared_ptr<SpareMemory> memory_;
};

// Makes messages for several channels in memory that is used again once their last holder, on
// whatever thread, has let go of them. What is small and frequent, as votes are, is allocated no
// more once there are as many as are under way at one time.
//
// Thread: any. Messages may outlive the pool.
class SharedPool {
  public:
    // To be filled and given to share().
    [[nodiscard]] base::Bytes take() { return memory_->take_string(); }
    [[nodiscard]] SharedBytes share(base::Bytes bytes) {
        const auto lent =
            std::allocate_shared<Lent>(SpareAllocator<Lent>(memory_), std::move(bytes), memory_);
        return {lent, &lent->bytes};
    }

  private:
    struct Lent : base::Pinned {
        Lent(base::Bytes content, std::shared_ptr<SpareMemory> owner)
            : bytes(std::move(content)), memory(std::move(owner)) {}
        ~Lent() { memory->give_string(std::move(bytes)); }

        base::Bytes bytes;
        std::shared_ptr<SpareMemory> memory;
    };

    std::shared_ptr<SpareMemory> memory_ = std::make_shared<SpareMemory>();
};

}  // namespace transport
