#include "chain/execution/host_groups.hpp"
#include "chain/types/exception.hpp"

#include <cstring>

namespace chain::host {

namespace {

// Also where the ranges overlap: from the end when they move up.
void move_pieces(const Call& call, const CopyRange& range) {
    const std::size_t bytes = range.from.size();
    in_pieces(call, bytes, [&](std::size_t at, std::size_t size) {
        const std::size_t begin = range.to_offset > range.from_offset ? bytes - at - size : at;
        std::memmove(range.to.data() + begin, range.from.data() + begin, size);
    });
}

Result<uint32_t> copy(const Call& call, CopyRange range) {
    const uint32_t distance = range.to_offset > range.from_offset
                                  ? range.to_offset - range.from_offset
                                  : range.from_offset - range.to_offset;
    if (distance < range.from.size()) {
        return fail(Exception::overlapping_memory_error,
                    "memcpy can only accept non-aliasing pointers");
    }
    move_pieces(call, range);
    return range.to_offset;
}

Result<uint32_t> move(const Call& call, CopyRange range) {
    move_pieces(call, range);
    return range.to_offset;
}

Result<int32_t> compare(const Call& call, CompareRange range) {
    int order = 0;
    in_pieces(call, range.left.size(), [&](std::size_t at, std::size_t size) {
        if (order != 0) return;
        order = std::memcmp(range.left.data() + at, range.right.data() + at, size);
    });
    return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

Result<uint32_t> fill(const Call& call, FillRange range) {
    in_pieces(call, range.to.size(), [&](std::size_t at, std::size_t size) {
        std::memset(range.to.data() + at, range.value, size);
    });
    return range.to_offset;
}

}  // namespace

void add_memory(Functions& out) {
    add<&copy, Access::anyone, Cost::copy>(out, "memcpy");
    add<&move, Access::anyone, Cost::copy>(out, "memmove");
    add<&compare, Access::anyone, Cost::copy>(out, "memcmp");
    add<&fill, Access::anyone, Cost::copy>(out, "memset");
}

}  // namespace chain::host
