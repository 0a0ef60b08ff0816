#include "transport/channel.hpp"

#include "base/check.hpp"

namespace transport {

std::size_t Payload::size() const {
    if (const auto* buffers = std::get_if<Buffers>(&held_)) return buffers->size();
    return std::get<SharedBytes>(held_)->size();
}

base::ByteView Payload::run_at(std::size_t offset) const {
    if (const auto* buffers = std::get_if<Buffers>(&held_)) return buffers->run_at(offset);
    const base::ByteView shared = *std::get<SharedBytes>(held_);
    CHECK(offset < shared.size());
    return shared.subspan(offset);
}

}  // namespace transport
