#pragma once

#include "chain/vm/assembler.hpp"
#include "chain/vm/module.hpp"
#include "chain/vm/vm.hpp"

#include <array>
#include <cstdint>

namespace chain::vm {

// The code that every module has once: the way in and out, traps, conversions that are too long
// to stand at each use, and the ways to the host.
class Stubs : base::Pinned {
  public:
    // Writes all but the ways to the host.
    Stubs(Assembler& out, const Limits& limits, const Prices& prices);

    using Offset = Assembler::Offset;

    [[nodiscard]] Offset enter() const { return enter_; }
    // Jumped to: ends the run.
    [[nodiscard]] Offset trap(Trap trap) const { return traps_[static_cast<std::size_t>(trap)]; }
    [[nodiscard]] Offset fuel_low() const { return fuel_low_; }
    [[nodiscard]] Offset budget_low() const { return budget_low_; }
    // Called with the value in xmm0; the result is in rax. Changes xmm0 and the flags.
    [[nodiscard]] Offset truncation(ValueType from, ValueType to, bool is_signed) const;
    // Called with a u64 in rax; the result is in xmm0. Changes rax and rcx.
    [[nodiscard]] Offset from_unsigned(ValueType to) const {
        return to == ValueType::f32 ? unsigned_[0] : unsigned_[1];
    }
    static constexpr std::size_t kVectors = 16;
    // Called with a NaN in that register, as a double, or counted from kVectors on as a single:
    // makes it canonical.
    [[nodiscard]] Offset nan(std::size_t which) const { return nans_[which]; }
    // memory.grow by eax pages; the result is in eax. Changes what a call changes.
    [[nodiscard]] Offset grow() const { return grow_; }
    // Writes a function that calls host function `host`, with the arguments where compiled
    // functions have theirs.
    Offset write_host_call(Assembler& out, const FunctionType& type, std::uint32_t host) const;

  private:
    void write_enter();
    void write_traps();
    void write_truncation(ValueType from, ValueType to, bool is_signed);
    void write_unsigned_truncation(bool is_single, ValueType to);
    void write_from_unsigned(ValueType to);
    void write_nans();
    void write_grow(const Limits& limits, const Prices& prices);
    // Goes over to the host's stack, with room for so many words, and back. What lies between
    // finds the contract's stack pointer of before in rbp.
    static void leave_contract(Assembler& out, std::uint32_t words);
    static void return_to_contract(Assembler& out, std::uint32_t words);

    Assembler& out_;
    Offset enter_ = 0;
    Offset leave_ = 0;
    std::array<Offset, kTraps> traps_{};
    Offset fuel_low_ = 0;
    Offset budget_low_ = 0;
    std::array<Offset, 8> truncations_{};
    std::array<Offset, 2> unsigned_{};
    std::array<Offset, 2 * kVectors> nans_{};
    Offset grow_ = 0;
};

}  // namespace chain::vm
