#include "transport/shared_pool.hpp"

namespace transport {

SpareMemory::~SpareMemory() {
    for (void* block : blocks_)
        ::operator delete(block);
}

void* SpareMemory::take_block() {
    {
        const std::scoped_lock lock(mutex_);
        if (!blocks_.empty()) {
            void* block = blocks_.back();
            blocks_.pop_back();
            return block;
        }
        // So that giving back needs no memory.
        if (blocks_.capacity() == 0) blocks_.reserve(kBlocksKept);
    }
    return ::operator new(kBlockBytes);
}

void SpareMemory::give_block(void* block) noexcept {
    {
        const std::scoped_lock lock(mutex_);
        if (blocks_.size() < kBlocksKept) return blocks_.push_back(block);
    }
    ::operator delete(block);
}

base::Bytes SpareMemory::take_string() {
    const std::scoped_lock lock(mutex_);
    if (strings_.capacity() == 0) strings_.reserve(kStringsKept);
    if (strings_.empty()) return {};
    base::Bytes string = std::move(strings_.back());
    strings_.pop_back();
    return string;
}

void SpareMemory::give_string(base::Bytes&& string) noexcept {
    const std::scoped_lock lock(mutex_);
    if (string.capacity() > kStringBytesKept || strings_.size() >= kStringsKept) return;
    string.clear();
    strings_.push_back(std::move(string));
}

}  // namespace transport
