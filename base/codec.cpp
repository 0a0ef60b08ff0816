#include "base/codec.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <limits>

namespace base {

void Writer::varuint32(std::uint32_t value) {
    while (value >= 0x80U) {
        u8(static_cast<std::uint8_t>((value & 0x7FU) | 0x80U));
        value >>= 7U;
    }
    u8(static_cast<std::uint8_t>(value));
}

void Writer::bytes(ByteView value) {
    CHECK(value.size() <= std::numeric_limits<std::uint32_t>::max());
    varuint32(static_cast<std::uint32_t>(value.size()));
    raw(value);
}

void Reader::set_error(std::string_view field, std::string_view reason) {
    set_error(Error{Errc::malformed, fmt::format("{} at offset {}: {}", field, offset_, reason)});
}

void Reader::set_error(Error error) {
    if (failed_) return;
    failed_ = true;
    error_ = std::move(error);
}

ByteView Reader::refuse(std::size_t count, std::string_view field) {
    if (!failed_) set_error(field, fmt::format("needs {} bytes, {} are left", count, left()));
    return {};
}

bool Reader::boolean(std::string_view field) {
    const std::uint8_t value = u8(field);
    if (value > 1) set_error(field, fmt::format("{} is neither 0 nor 1", value));
    return value == 1;
}

std::uint32_t Reader::varuint32(std::string_view field) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        const std::uint8_t byte = u8(field);
        if (failed_) return 0;
        value |= std::uint64_t{byte & 0x7FU} << shift;
        if ((byte & 0x80U) != 0) continue;
        if (byte == 0 && shift > 0) {
            set_error(field, "a varuint32 that is longer than needed");
            return 0;
        }
        if (value > std::numeric_limits<std::uint32_t>::max()) break;
        return static_cast<std::uint32_t>(value);
    }
    set_error(field, "a varuint32 above 4294967295");
    return 0;
}

ByteView Reader::bytes(std::string_view field, std::size_t limit) {
    const std::uint32_t size = varuint32(field);
    if (size > limit) {
        set_error(field, fmt::format("{} bytes, more than the limit of {}", size, limit));
        return {};
    }
    return raw(size, field);
}

std::string Reader::string(std::string_view field, std::size_t limit) {
    return std::string(as_text(bytes(field, limit)));
}

std::size_t Reader::count(std::string_view field, std::size_t limit, std::size_t item_bytes_min) {
    const std::uint32_t items = varuint32(field);
    if (items > limit) {
        set_error(field, fmt::format("{} items, more than the limit of {}", items, limit));
        return 0;
    }
    if (items * item_bytes_min > left()) {
        set_error(field, fmt::format("{} items do not fit in the {} bytes left", items, left()));
        return 0;
    }
    return items;
}

Result<void> Reader::status() const {
    if (failed_) return fail(error_);
    return {};
}

Result<void> Reader::finish() const {
    if (failed_) return fail(error_);
    if (left() != 0) {
        return fail(Errc::malformed,
                    fmt::format("{} trailing bytes at offset {}", left(), offset_));
    }
    return {};
}

}  // namespace base
