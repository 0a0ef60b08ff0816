#include "chain/vm/assembler.hpp"

#include <array>

namespace chain::vm {

namespace {

constexpr std::uint8_t kJump = 0xE9;
constexpr std::uint8_t kCall = 0xE8;
constexpr std::uint8_t kShortJump = 0xEB;
constexpr std::uint8_t kTwoBytes = 0x0F;

std::uint8_t near_jump(x86::CondCode condition) {
    return static_cast<std::uint8_t>(0x80U | static_cast<unsigned>(condition));
}
std::uint8_t short_jump(x86::CondCode condition) {
    return static_cast<std::uint8_t>(0x70U | static_cast<unsigned>(condition));
}

}  // namespace

void Assembler::Refusal::handleError(asmjit::Error /*error*/,
                                     const char* message,
                                     asmjit::BaseEmitter* /*from*/) {
    base::check_failed(message, __FILE__, __LINE__);
}

Assembler::Assembler(std::size_t expected_bytes) {
    holder_.init(asmjit::Environment::host());
    holder_.setErrorHandler(&refusal_);
    holder_.reserveBuffer(&holder_.textSection()->buffer(), expected_bytes);
    holder_.attach(&inner_);
}

void Assembler::jump(Offset to) {
    bytes({kJump, 0, 0, 0, 0});
    set_call(here(), to);
}

void Assembler::jump_if(x86::CondCode condition, Offset to) {
    bytes({kTwoBytes, near_jump(condition), 0, 0, 0, 0});
    set_call(here(), to);
}

void Assembler::call(Offset to) {
    bytes({kCall, 0, 0, 0, 0});
    set_call(here(), to);
}

void Assembler::jump(Chain& chain) {
    bytes({kJump, 0, 0, 0, 0});
    join(chain);
}

void Assembler::jump_if(x86::CondCode condition, Chain& chain) {
    bytes({kTwoBytes, near_jump(condition), 0, 0, 0, 0});
    join(chain);
}

// The open jump just written names the one before it, until both land.
void Assembler::join(Chain& chain) {
    set_word(here() - 4, static_cast<std::int32_t>(chain.last));
    chain.last = here();
}

void Assembler::land(Chain& chain) {
    while (!chain.is_empty()) {
        const Offset open = chain.last;
        chain.last = static_cast<Offset>(word(open - 4));
        set_call(open, here());
    }
}

Assembler::Offset Assembler::skip() {
    bytes({kShortJump, 0});
    return here();
}

Assembler::Offset Assembler::skip_if(x86::CondCode condition) {
    bytes({short_jump(condition), 0});
    return here();
}

void Assembler::land_skip(Offset skip) {
    CHECK(here() - skip < 128);
    data()[skip - 1] = static_cast<std::uint8_t>(here() - skip);
}

Assembler::Offset Assembler::open_call() {
    bytes({kCall, 0, 0, 0, 0});
    return here();
}

void Assembler::set_call(Offset at, Offset to) {
    set_word(at - 4, static_cast<std::int32_t>(to) - static_cast<std::int32_t>(at));
}

std::int32_t Assembler::word(Offset at) const {
    std::int32_t value = 0;
    std::memcpy(&value, data() + at, 4);
    return value;
}

void Assembler::set_word(Offset at, std::int32_t value) {
    std::memcpy(data() + at, &value, 4);
}

void Assembler::align_with_traps(std::uint32_t boundary) {
    constexpr std::array<std::uint8_t, 16> kTraps{0xCC,
                                                  0xCC,
                                                  0xCC,
                                                  0xCC,
                                                  0xCC,
                                                  0xCC,
                                                  0xCC,
                                                  0xCC,
                                                  0xCC,
                                                  0xCC,
                                                  0xCC,
                                                  0xCC,
                                                  0xCC,
                                                  0xCC,
                                                  0xCC,
                                                  0xCC};
    CHECK(boundary <= kTraps.size());
    inner_.embed(kTraps.data(), (boundary - here() % boundary) % boundary);
}

// As bytes, since it follows every operation of floating point: ucomiss or ucomisd, then jp.
Assembler::Offset Assembler::open_jump_if_nan(Register reg, bool is_single) {
    const bool is_high = reg >= 8;
    const auto both = static_cast<std::uint8_t>(0xC0U | (reg & 7U) << 3U | (reg & 7U));
    if (!is_single) bytes({0x66});
    if (is_high) bytes({0x45});
    bytes({0x0F, 0x2E, both, 0x0F, 0x8A, 0, 0, 0, 0});
    return here();
}

base::ByteView Assembler::code() const {
    CHECK(!holder_.hasUnresolvedLinks() && !holder_.hasRelocEntries());
    return base::ByteView(reinterpret_cast<const std::byte*>(data()), inner_.offset());
}

}  // namespace chain::vm
