#pragma once

#include "chain/vm/assembler.hpp"
#include "chain/vm/module.hpp"
#include "chain/vm/validator.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace chain::vm {

// Where a function keeps its parameters and locals. The hottest ones have a register; each other
// has a fixed slot, as each place of the operand stack has. From above: parameters, which the
// caller left in its own operand slots, the return address, saved registers, locals, operands;
// the stack pointer is at the lower end.
//
// One for all functions of a module: its table of locals is stamped, not cleared, so that a
// function costs by what it names and not by what it declares.
class Frame : base::Pinned {
  public:
    static constexpr Register kNone = 0xFF;
    struct Home {
        std::uint32_t stamp = 0;
        ValueType type = ValueType::i32;
        Register reg = kNone;    // kNone: it is in memory,
        std::int32_t place = 0;  // so far above the stack pointer.
        std::int32_t reference =
            -1;  // The highest operand that stands for its value, see Operands.

        [[nodiscard]] bool in_register() const { return reg != kNone; }
    };
    struct Saved {
        Bank bank = Bank::integer;
        Register reg = 0;
        std::uint32_t local = 0;
    };

    // Goes over to another function. `plan` and `locals` are read now; locals also later.
    void begin(const Locals& locals, std::uint32_t parameters, const Plan& plan);

    [[nodiscard]] Home& home(std::uint32_t local) {
        Home& home = homes_[local];
        if (home.stamp != stamp_) find(local, home);
        return home;
    }
    [[nodiscard]] x86::Mem place(const Home& home, std::uint8_t bytes) const {
        return on_stack(home.place, bytes);
    }
    // Of the operand at a height.
    [[nodiscard]] x86::Mem slot(std::uint32_t height, std::uint8_t bytes) const {
        return on_stack(8 * static_cast<std::int32_t>(height_max_ - 1 - height), bytes);
    }

    [[nodiscard]] std::span<const Saved> saved() const { return {saved_.data(), saved_count_}; }
    [[nodiscard]] std::uint32_t height_max() const { return height_max_; }
    // Locals that have no register, parameters apart.
    [[nodiscard]] std::uint32_t in_memory() const { return in_memory_; }
    // Below the return address.
    [[nodiscard]] std::uint32_t bytes() const {
        return 8 * (static_cast<std::uint32_t>(saved_count_) + in_memory_ + height_max_);
    }
    // What the frame counts. Never less than what it takes of the stack.
    [[nodiscard]] std::uint32_t counted_bytes() const {
        return kFrameBytes + 8 * (locals_->count() + height_max_);
    }

  private:
    static constexpr std::size_t kIntegers = 6;
    static constexpr std::size_t kFloats = 8;

    void choose(Bank bank, const Plan& plan);
    void find(std::uint32_t local, Home& home);

    const Locals* locals_ = nullptr;
    std::uint32_t parameters_ = 0;
    std::uint32_t height_max_ = 0;
    std::uint32_t in_memory_ = 0;
    std::uint32_t stamp_ = 0;
    std::vector<Home> homes_;
    std::array<Saved, kIntegers + kFloats> saved_{};
    std::size_t saved_count_ = 0;
    std::vector<LocalUse> candidates_;
};

}  // namespace chain::vm
