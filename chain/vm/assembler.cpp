#include "chain/vm/assembler.hpp"

#include <cstring>

namespace chain::vm {

namespace {

constexpr std::uint8_t kJump = 0xE9;
constexpr std::uint8_t kCall = 0xE8;
constexpr std::uint8_t kShortJump = 0xEB;
constexpr std::uint8_t kTwoBytes = 0x0F;
constexpr std::uint8_t kTrap = 0xCC;

unsigned near_jump(x86::CondCode condition) {
    return 0x80U | static_cast<unsigned>(condition);
}
unsigned short_jump(x86::CondCode condition) {
    return 0x70U | static_cast<unsigned>(condition);
}

}  // namespace

void Assembler::jump(Offset to) {
    bytes(kJump, 0, 0, 0, 0);
    set_call(here(), to);
}

void Assembler::jump_if(CondCode condition, Offset to) {
    bytes(kTwoBytes, near_jump(condition), 0, 0, 0, 0);
    set_call(here(), to);
}

void Assembler::call(Offset to) {
    bytes(kCall, 0, 0, 0, 0);
    set_call(here(), to);
}

void Assembler::jump(Chain& chain) {
    bytes(kJump, 0, 0, 0, 0);
    join(chain);
}

void Assembler::jump_if(CondCode condition, Chain& chain) {
    bytes(kTwoBytes, near_jump(condition), 0, 0, 0, 0);
    join(chain);
}

// The open jump just written names the one before it, until both land.
void Assembler::join(Chain& chain) {
    set_word(here() - 4, static_cast<std::int32_t>(chain.last));
    chain.last = here();
}

Assembler::Offset Assembler::unlink(Chain& chain) const {
    const Offset open = chain.last;
    chain.last = static_cast<Offset>(word(open - 4));
    return open;
}

void Assembler::land(Chain& chain) {
    while (!chain.is_empty())
        set_call(unlink(chain), here());
}

Assembler::Offset Assembler::skip() {
    bytes(kShortJump, 0);
    return here();
}

Assembler::Offset Assembler::skip_if(CondCode condition) {
    bytes(short_jump(condition), 0);
    return here();
}

void Assembler::land_skip(Offset skip) {
    CHECK(here() - skip < 128);
    begin()[skip - 1] = static_cast<std::uint8_t>(here() - skip);
}

Assembler::Offset Assembler::open_call() {
    bytes(kCall, 0, 0, 0, 0);
    return here();
}

void Assembler::set_call(Offset at, Offset to) {
    set_word(at - 4, static_cast<std::int32_t>(to) - static_cast<std::int32_t>(at));
}

std::int32_t Assembler::word(Offset at) const {
    std::int32_t value = 0;
    std::memcpy(&value, begin() + at, 4);
    return value;
}

void Assembler::set_word(Offset at, std::int32_t value) {
    std::memcpy(begin() + at, &value, 4);
}

void Assembler::align_with_traps(std::uint32_t boundary) {
    static_assert(kLongest >= 16);
    CHECK(boundary <= 16);
    need_room();
    while (here() % boundary != 0)
        *at_++ = kTrap;
}

CodeBlock Assembler::take() {
    const std::size_t size = here();
    at_ = nullptr;
    end_ = nullptr;
    return {std::move(block_), size};
}

}  // namespace chain::vm
