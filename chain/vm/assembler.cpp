#include "chain/vm/assembler.hpp"

#include "base/check.hpp"

namespace chain::vm {

namespace {

constexpr std::uint8_t kShortJump = 0xEB;
constexpr std::uint8_t kTrap = 0xCC;

unsigned short_jump(x86::CondCode condition) {
    return 0x70U | static_cast<unsigned>(condition);
}

}  // namespace

void Assembler::land(Chain& chain) {
    while (!chain.is_empty()) {
        const Offset open = chain.last;
        chain.last = static_cast<Offset>(word(open - 4));
        set_call(open, here());
    }
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
