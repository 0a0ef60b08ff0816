#include "chain/execution/host_groups.hpp"
#include "chain/types/exception.hpp"

#include <cstring>

namespace chain::host {

namespace {

using base::Result;
using std::int32_t;
using std::uint32_t;

Result<uint32_t> copy(const Call&, CopyRange range) {
    const uint32_t distance = range.to_offset > range.from_offset
                                  ? range.to_offset - range.from_offset
                                  : range.from_offset - range.to_offset;
    if (distance < range.from.size()) {
        return fail(Exception::overlapping_memory_error,
                    "memcpy can only accept non-aliasing pointers");
    }
    if (!range.from.empty()) std::memcpy(range.to.data(), range.from.data(), range.from.size());
    return range.to_offset;
}

Result<uint32_t> move(const Call&, CopyRange range) {
    if (!range.from.empty()) std::memmove(range.to.data(), range.from.data(), range.from.size());
    return range.to_offset;
}

Result<int32_t> compare(const Call&, CompareRange range) {
    if (range.left.empty()) return 0;
    const int order = std::memcmp(range.left.data(), range.right.data(), range.left.size());
    return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

Result<uint32_t> fill(const Call&, FillRange range) {
    if (!range.to.empty()) std::memset(range.to.data(), range.value, range.to.size());
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
