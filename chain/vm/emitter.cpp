#include "chain/vm/emitter.hpp"

namespace chain::vm {

void Emitter::u32(std::uint32_t value) {
    while (value >= 0x80) {
        u8(static_cast<std::uint8_t>(value | 0x80U));
        value >>= 7U;
    }
    u8(static_cast<std::uint8_t>(value));
}

void Emitter::s64(std::int64_t value) {
    while (value < -64 || value > 63) {
        u8(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) | 0x80U));
        value >>= 7;
    }
    u8(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) & 0x7FU));
}

void Emitter::name(std::string_view text) {
    u32(static_cast<std::uint32_t>(text.size()));
    raw(base::as_bytes(text));
}

void Emitter::bytes(const Emitter& inner) {
    u32(static_cast<std::uint32_t>(inner.out_.size()));
    raw(inner.out_);
}

}  // namespace chain::vm
