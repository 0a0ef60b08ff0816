#include "node/bps/core/codec/reader.hpp"

#include <fmt/format.h>

namespace bps {

std::uint64_t Reader::varint_bits(unsigned bits, std::string_view field) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < bits; shift += 7) {
        const auto byte = integer<std::uint8_t>(field);
        if (!ok()) return 0;
        const std::uint64_t part = byte & 0x7FU;
        if (bits - shift < 7 && (part >> (bits - shift)) != 0) break;
        value |= part << shift;
        if ((byte & 0x80U) == 0) return value;
    }
    set_error(field, fmt::format("a varint of more than {} bits", bits));
    return 0;
}

std::uint32_t Reader::unsigned_varint(std::string_view field) {
    return static_cast<std::uint32_t>(varint_bits(32, field));
}

std::int32_t Reader::varint(std::string_view field) {
    const auto bits = static_cast<std::uint32_t>(varint_bits(32, field));
    return static_cast<std::int32_t>((bits >> 1U) ^ (0U - (bits & 1U)));
}

std::int64_t Reader::varlong(std::string_view field) {
    const std::uint64_t bits = varint_bits(64, field);
    return static_cast<std::int64_t>((bits >> 1U) ^ (std::uint64_t{0} - (bits & 1U)));
}

}  // namespace bps
