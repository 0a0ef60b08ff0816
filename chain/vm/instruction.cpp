#include "chain/vm/instruction.hpp"

#include <fmt/format.h>

namespace chain::vm {

namespace {

// The length of the UTF-8 sequence that `text`, not empty, begins with; 0: it is none.
// Surrogates, overlong forms and what is above U+10FFFF are none (Unicode, table 3-7).
std::size_t utf8_length(base::ByteView text) {
    const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4) return 0;
    const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (text.size() < length) return 0;
    const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (byte(1) < low || byte(1) > high) return 0;
    for (std::size_t i = 2; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80) return 0;
    }
    return length;
}

}  // namespace

std::uint8_t WasmReader::nothing_left() {
    set_error("1 byte wanted, none left");
    return 0;
}

std::uint64_t WasmReader::leb(unsigned bits, bool is_signed) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < bits; shift += 7) {
        const std::uint8_t byte = u8();
        if (!ok()) return 0;
        value |= std::uint64_t{byte & 0x7FU} << shift;
        const unsigned left = bits - shift;  // Bits that this byte may still give.
        if (left < 7) {
            // What does not fit must repeat the sign, or be zero when there is none.
            const unsigned excess = (byte & 0x7FU) >> (is_signed ? left - 1 : left);
            const unsigned ones = 0x7FU >> (left - 1);
            const bool fits = excess == 0 || (is_signed && excess == ones);
            if (!fits || (byte & 0x80U) != 0) {
                set_error("integer too large");
                return 0;
            }
        }
        if ((byte & 0x80U) != 0) continue;
        const unsigned used = shift + 7;
        if (is_signed && used < 64 && (byte & 0x40U) != 0) value |= ~std::uint64_t{0} << used;
        return value;
    }
    set_error("integer too long");
    return 0;
}

std::uint32_t WasmReader::fixed32() {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < 4; ++i)
        value |= std::uint32_t{u8()} << (8 * i);
    return value;
}

std::uint64_t WasmReader::fixed64() {
    const std::uint64_t low = fixed32();
    return low | (std::uint64_t{fixed32()} << 32U);
}

base::ByteView WasmReader::raw(std::uint32_t count) {
    if (!ok()) return {};
    if (count > bytes_.size() - offset_) {
        set_error(fmt::format("{} bytes wanted, {} left", count, bytes_.size() - offset_));
        return {};
    }
    offset_ += count;
    return bytes_.subspan(offset_ - count, count);
}

std::uint32_t WasmReader::count(std::uint32_t limit, std::string_view what) {
    const std::uint32_t found = u32();
    if (!ok()) return 0;
    if (found > limit) {
        set_error(fmt::format("{} {}, limit {}", found, what, limit));
        return 0;
    }
    if (found > bytes_.size() - offset_) {
        set_error(fmt::format("{} {} in {} bytes", found, what, bytes_.size() - offset_));
        return 0;
    }
    return found;
}

std::string_view WasmReader::name(std::uint32_t limit) {
    const base::ByteView text = raw(count(limit, "bytes in a name"));
    for (base::ByteView rest = text; !rest.empty();) {
        const std::size_t length = utf8_length(rest);
        if (length == 0) {
            set_error("name that is no UTF-8");
            return {};
        }
        rest = rest.subspan(length);
    }
    return base::as_text(text);
}

void WasmReader::set_error(std::string text) {
    if (!ok()) return;
    error_ = fmt::format("{} at byte {}", text, module_offset());
    bytes_ = bytes_.first(offset_);  // So that later reads find nothing.
}

}  // namespace chain::vm
