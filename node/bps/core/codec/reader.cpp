#include "node/bps/core/codec/reader.hpp"

#include <fmt/format.h>

namespace bps {

std::uint64_t Reader::rest_of_varint(std::uint64_t value, unsigned bits, std::string_view field) {
    for (unsigned shift = 14; shift < bits; shift += 7) {
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

}  // namespace bps
