#include "node/bps/core/codec/encoder.hpp"

#include "base/check.hpp"

#include <limits>

namespace bps {

void Encoder::refuse_tag(std::string_view name) {
    CHECK(name.empty() && "a table tags a field of a type that has no tagged form");
}

void Encoder::length(std::optional<std::size_t> size, bool is_short) {
    if (flexible_) {
        CHECK(!size || *size < std::numeric_limits<std::uint32_t>::max());
        out_.unsigned_varint(size ? static_cast<std::uint32_t>(*size) + 1 : 0);
    } else if (is_short) {
        CHECK(!size || *size <= std::numeric_limits<std::int16_t>::max());
        out_.integer<std::int16_t>(size ? static_cast<std::int16_t>(*size) : std::int16_t{-1});
    } else {
        CHECK(!size || *size <= std::numeric_limits<std::int32_t>::max());
        out_.integer<std::int32_t>(size ? static_cast<std::int32_t>(*size) : -1);
    }
}

}  // namespace bps
