// The compiler's encoder against asmjit's: the same bytes for each instruction, with every register
// and every form of an address.
#include "chain/vm/encoder.hpp"

#include <asmjit/x86.h>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace {

namespace ours = chain::vm::x86;
namespace theirs = asmjit::x86;
namespace Inst = asmjit::x86::Inst;
using chain::vm::Register;
using Bytes = std::vector<std::uint8_t>;

constexpr std::array<Register, 5> kIndices{0, 5, 8, 12, 13};
constexpr std::array<std::uint8_t, 4> kWidths{1, 2, 4, 8};
constexpr std::array<std::uint8_t, 4> kRoundings{8, 9, 10, 11};

class Encoded : public ours::Encoder {
  public:
    Encoded() : Encoder(0) {}  // It grows from the beginning.
    [[nodiscard]] Bytes bytes_written() const { return {begin(), at_}; }
};

Bytes encode(const std::function<void(ours::Encoder&)>& write) {
    Encoded out;
    write(out);
    return out.bytes_written();
}

Bytes expect(const std::function<void(theirs::Assembler&)>& write, bool from_right) {
    asmjit::CodeHolder holder;
    holder.init(asmjit::Environment::host());
    theirs::Assembler out(&holder);
    if (from_right) out.addInstOptions(asmjit::InstOptions::kX86_ModRM);
    write(out);
    const auto& buffer = holder.textSection()->buffer();
    return {buffer.data(), buffer.data() + buffer.size()};
}

std::string hex(const Bytes& bytes) {
    return fmt::format("{:02x}", fmt::join(bytes, " "));
}

std::uint64_t& compared() {
    static std::uint64_t count = 0;
    return count;
}

void same(const std::function<void(ours::Encoder&)>& mine,
          const std::function<void(theirs::Assembler&)>& other,
          const std::string& what) {
    const std::string found = hex(encode(mine));
    const std::string wanted = hex(expect(other, false));
    ++compared();
    INFO(what);
    REQUIRE_FALSE(wanted.empty());
    // Some have two forms of the same length: asmjit writes the other one if asked.
    if (found != wanted) REQUIRE(found == hex(expect(other, true)));
}

theirs::Gp gp(ours::Gp reg) {
    switch (reg.bytes) {
        case 1:
            return theirs::gpb(reg.id);
        case 2:
            return theirs::gpw(reg.id);
        case 4:
            return theirs::gpd(reg.id);
        default:
            return theirs::gpq(reg.id);
    }
}
theirs::Xmm xmm(ours::Xmm reg) {
    return theirs::xmm(reg.id);
}
theirs::Mem mem(const ours::Mem& at) {
    if (at.index == ours::kNone) return theirs::ptr(theirs::gpq(at.base), at.place, at.bytes);
    return theirs::ptr(theirs::gpq(at.base), theirs::gpq(at.index), at.shift, at.place, at.bytes);
}

std::vector<ours::Mem> places(std::uint8_t bytes) {
    std::vector<ours::Mem> all;
    for (Register base = 0; base < 16; ++base) {
        for (const std::int32_t place : {0, 1, 127, -128, 128, INT32_MIN}) {
            all.push_back({base, place, bytes});
            for (const Register index : kIndices) {
                const auto shift = static_cast<std::uint8_t>((base + index) % 4U);
                all.push_back({base, place, bytes, index, shift});
            }
        }
    }
    return all;
}

struct Pair {
    ours::Opcode code;
    asmjit::InstId id;
    const char* name;
};
constexpr std::array<std::int32_t, 8> kValues{0, 1, -1, 127, -128, 128, INT32_MAX, INT32_MIN};
const std::vector<Pair> kArithmetic{{ours::kAdd, Inst::kIdAdd, "add"},
                                    {ours::kOr, Inst::kIdOr, "or"},
                                    {ours::kAnd, Inst::kIdAnd, "and"},
                                    {ours::kSub, Inst::kIdSub, "sub"},
                                    {ours::kXor, Inst::kIdXor, "xor"},
                                    {ours::kCmp, Inst::kIdCmp, "cmp"}};
const std::vector<Pair> kReading{{ours::kMov, Inst::kIdMov, "mov"},
                                 {ours::kImul, Inst::kIdImul, "imul"},
                                 {ours::kBsf, Inst::kIdBsf, "bsf"},
                                 {ours::kBsr, Inst::kIdBsr, "bsr"},
                                 {ours::kPopcnt, Inst::kIdPopcnt, "popcnt"}};

using Each = std::function<void(ours::Gp)>;
void for_registers(const Each& each) {
    for (Register reg = 0; reg < 16; ++reg) {
        for (const std::uint8_t bytes : {std::uint8_t{4}, std::uint8_t{8}})
            each({reg, bytes});
    }
}

void check_gp(const Pair& pair) {
    const auto [code, id, name] = pair;
    for_registers([&](ours::Gp to) {
        for (Register from = 0; from < 16; ++from) {
            const ours::Gp other{from, to.bytes};
            same([&](auto& out) { out.op(code, to, other); },
                 [&](auto& out) { out.emit(id, gp(to), gp(other)); },
                 name);
            same([&](auto& out) { out.op(code, to, ours::Operand(other)); },
                 [&](auto& out) { out.emit(id, gp(to), gp(other)); },
                 name);
        }
        for (const ours::Mem& at : places(to.bytes)) {
            same([&](auto& out) { out.op(code, to, ours::Operand(at)); },
                 [&](auto& out) { out.emit(id, gp(to), mem(at)); },
                 name);
        }
    });
}

}  // namespace

TEST_CASE("general registers are encoded as asmjit does") {
    for (const Pair& pair : kArithmetic)
        check_gp(pair);
    for (const Pair& pair : kReading)
        check_gp(pair);
    for (const Pair& pair : kArithmetic) {
        const auto [code, id, name] = pair;
        for_registers([&](ours::Gp to) {
            for (const std::int32_t value : kValues) {
                same([&](auto& out) { out.op(code, to, ours::Operand(value)); },
                     [&](auto& out) { out.emit(id, gp(to), asmjit::Imm(value)); },
                     name);
            }
        });
        for (Register left = 0; left < 16; ++left) {
            for (Register right = 0; right < 16; ++right) {
                same(
                    [&](auto& out) {
                        out.op(code, ours::Gp{left, 1}, ours::Gp{right, 1});
                    },
                    [&](auto& out) { out.emit(id, theirs::gpb(left), theirs::gpb(right)); },
                    name);
            }
        }
    }
    CHECK(compared() > 100'000);
}

TEST_CASE("stores are encoded as asmjit does") {
    std::vector<Pair> all = kArithmetic;
    all.push_back({ours::kMov, Inst::kIdMov, "mov"});
    for (const auto& [code, id, name] : all) {
        const bool moves = code == ours::kMov;
        for (const std::uint8_t bytes : kWidths) {
            if (!moves && bytes < 4) continue;
            for (const ours::Mem& at : places(bytes)) {
                for (Register reg = 0; reg < 16; ++reg) {
                    const ours::Gp from{reg, bytes};
                    same([&](auto& out) { out.op(code, at, ours::Operand(from)); },
                         [&](auto& out) { out.emit(id, mem(at), gp(from)); },
                         name);
                }
                for (std::int32_t value : kValues) {
                    if (bytes < 4) value = value % 100;
                    same([&](auto& out) { out.op(code, at, ours::Operand(value)); },
                         [&](auto& out) { out.emit(id, mem(at), asmjit::Imm(value)); },
                         name);
                }
            }
        }
    }
}

TEST_CASE("vectors are encoded as asmjit does") {
    struct Both {
        ours::Opcode code;
        asmjit::InstId single, twice;
    };
    const std::vector<Both> all{{ours::kAddss, Inst::kIdAddss, Inst::kIdAddsd},
                                {ours::kMulss, Inst::kIdMulss, Inst::kIdMulsd},
                                {ours::kSubss, Inst::kIdSubss, Inst::kIdSubsd},
                                {ours::kMinss, Inst::kIdMinss, Inst::kIdMinsd},
                                {ours::kDivss, Inst::kIdDivss, Inst::kIdDivsd},
                                {ours::kMaxss, Inst::kIdMaxss, Inst::kIdMaxsd},
                                {ours::kSqrtss, Inst::kIdSqrtss, Inst::kIdSqrtsd},
                                {ours::kUcomiss, Inst::kIdUcomiss, Inst::kIdUcomisd},
                                {ours::kMovss, Inst::kIdMovss, Inst::kIdMovsd}};
    for (const Both& both : all) {
        for (const bool single : {true, false}) {
            const ours::Opcode code = of_width(both.code, single);
            const asmjit::InstId id = single ? both.single : both.twice;
            for (Register to = 0; to < 16; ++to) {
                for (Register from = 0; from < 16; ++from) {
                    same(
                        [&](auto& out) {
                            out.op(code, ours::Xmm{to}, ours::Operand(ours::Xmm{from}));
                        },
                        [&](auto& out) { out.emit(id, theirs::xmm(to), theirs::xmm(from)); },
                        "vector");
                }
                for (const ours::Mem& at : places(single ? 4 : 8)) {
                    same([&](auto& out) { out.op(code, ours::Xmm{to}, ours::Operand(at)); },
                         [&](auto& out) { out.emit(id, theirs::xmm(to), mem(at)); },
                         "vector from memory");
                    if (both.code != ours::kMovss) continue;
                    same([&](auto& out) { out.op(code, at, ours::Xmm{to}); },
                         [&](auto& out) { out.emit(id, mem(at), theirs::xmm(to)); },
                         "vector to memory");
                }
            }
        }
    }
}

TEST_CASE("whole vectors are encoded as asmjit does") {
    for (Register to = 0; to < 16; ++to) {
        const std::vector<Pair> whole{{ours::kMovaps, Inst::kIdMovaps, "movaps"},
                                      {ours::kAndps, Inst::kIdAndps, "andps"},
                                      {ours::kOrps, Inst::kIdOrps, "orps"},
                                      {ours::kXorps, Inst::kIdXorps, "xorps"},
                                      {ours::kCvtss2sd, Inst::kIdCvtss2sd, "cvtss2sd"},
                                      {ours::kCvtsd2ss, Inst::kIdCvtsd2ss, "cvtsd2ss"}};
        for (const auto& [code, id, name] : whole) {
            for (Register from = 0; from < 16; ++from) {
                same([&](auto& out) { out.op(code, ours::Xmm{to}, ours::Xmm{from}); },
                     [&](auto& out) { out.emit(id, theirs::xmm(to), theirs::xmm(from)); },
                     name);
            }
            if (code == ours::kMovaps) continue;
            const std::uint8_t bytes = code == ours::kCvtss2sd   ? 4
                                       : code == ours::kCvtsd2ss ? 8
                                                                 : 16;
            for (const ours::Mem& at : places(bytes)) {
                same([&](auto& out) { out.op(code, ours::Xmm{to}, at); },
                     [&](auto& out) { out.emit(id, theirs::xmm(to), mem(at)); },
                     name);
            }
        }
    }
}

TEST_CASE("conversions and rounding are encoded as asmjit does") {
    for (Register vector = 0; vector < 16; ++vector) {
        const ours::Xmm reg{vector};
        for_registers([&](ours::Gp other) {
            for (const bool single : {true, false}) {
                same([&](auto& out) { out.op(of_width(ours::kCvtsi2ss, single), reg, other); },
                     [&](auto& out) {
                         single ? out.cvtsi2ss(xmm(reg), gp(other))
                                : out.cvtsi2sd(xmm(reg), gp(other));
                     },
                     "from an integer");
                same([&](auto& out) { out.op(of_width(ours::kCvttss2si, single), other, reg); },
                     [&](auto& out) {
                         single ? out.cvttss2si(gp(other), xmm(reg))
                                : out.cvttsd2si(gp(other), xmm(reg));
                     },
                     "to an integer");
            }
            same([&](auto& out) { out.op(ours::kMovToXmm, reg, other); },
                 [&](auto& out) {
                     other.bytes == 4 ? out.movd(xmm(reg), gp(other))
                                      : out.movq(xmm(reg), gp(other));
                 },
                 "bits to a vector");
            same([&](auto& out) { out.op(ours::kMovFromXmm, other, reg); },
                 [&](auto& out) {
                     other.bytes == 4 ? out.movd(gp(other), xmm(reg))
                                      : out.movq(gp(other), xmm(reg));
                 },
                 "bits from a vector");
        });
        for (const std::uint8_t mode : kRoundings) {
            for (const bool single : {true, false}) {
                const asmjit::InstId id = single ? Inst::kIdRoundss : Inst::kIdRoundsd;
                same([&](auto& out) { out.round(single, reg, ours::Xmm{3}, mode); },
                     [&](auto& out) { out.emit(id, xmm(reg), theirs::xmm3, asmjit::Imm(mode)); },
                     "round");
                const ours::Mem at{
                    ours::rsp.id, 8 * vector, static_cast<std::uint8_t>(single ? 4 : 8)};
                same([&](auto& out) { out.round(single, reg, at, mode); },
                     [&](auto& out) { out.emit(id, xmm(reg), mem(at), asmjit::Imm(mode)); },
                     "round from memory");
            }
        }
    }
}

TEST_CASE("constants, shifts and products by constants are encoded as asmjit does") {
    for_registers([&](ours::Gp reg) {
        for (const std::uint64_t value : {std::uint64_t{0},
                                          std::uint64_t{1},
                                          std::uint64_t{0x7FFFFFFF},
                                          std::uint64_t{0x80000000},
                                          std::uint64_t{UINT32_MAX}}) {
            same([&](auto& out) { out.mov_constant(reg, value); },
                 [&](auto& out) { out.mov(theirs::gpd(reg.id), value); },
                 "constant");
        }
        if (reg.bytes == 8) {
            for (const std::uint64_t value : {~std::uint64_t{0},
                                              ~std::uint64_t{0x7FFFFFFF},
                                              ~std::uint64_t{0x80000000},
                                              std::uint64_t{1} << 63U,
                                              std::uint64_t{1} << 32U}) {
                same([&](auto& out) { out.mov_constant(reg, value); },
                     [&](auto& out) { out.mov(gp(reg), value); },
                     "wide constant");
            }
        }
        struct Kind {
            ours::Shift which;
            asmjit::InstId id;
        };
        const std::vector<Kind> kinds{{ours::Shift::rol, Inst::kIdRol},
                                      {ours::Shift::ror, Inst::kIdRor},
                                      {ours::Shift::shl, Inst::kIdShl},
                                      {ours::Shift::shr, Inst::kIdShr},
                                      {ours::Shift::sar, Inst::kIdSar}};
        for (const auto& [which, id] : kinds) {
            for (std::uint8_t by = 0; by < 8 * reg.bytes; ++by) {
                same([&](auto& out) { out.shift(which, reg, by); },
                     [&](auto& out) { out.emit(id, gp(reg), asmjit::Imm(by)); },
                     "shift");
            }
            same([&](auto& out) { out.shift_by_cl(which, reg); },
                 [&](auto& out) { out.emit(id, gp(reg), theirs::cl); },
                 "shift by cl");
        }
        for (const std::int32_t value : kValues) {
            for (Register from = 0; from < 16; ++from) {
                const ours::Gp other{from, reg.bytes};
                same([&](auto& out) { out.imul(reg, other, value); },
                     [&](auto& out) { out.imul(gp(reg), gp(other), value); },
                     "product");
            }
            for (const ours::Mem& at : places(reg.bytes)) {
                same([&](auto& out) { out.imul(reg, at, value); },
                     [&](auto& out) { out.imul(gp(reg), mem(at), value); },
                     "product of memory");
            }
            if (reg.id == ours::rax.id) continue;  // asmjit has a shorter form.
            same([&](auto& out) { out.test(reg, value); },
                 [&](auto& out) { out.test(gp(reg), value); },
                 "test");
        }
    });
}

TEST_CASE("conditions and narrow numbers are encoded as asmjit does") {
    for (unsigned number = 0; number < 16; ++number) {
        const auto condition = static_cast<ours::CondCode>(number);
        const auto other = static_cast<theirs::CondCode>(number);
        CHECK(static_cast<unsigned>(theirs::negateCond(other)) ==
              static_cast<unsigned>(ours::negated(condition)));
        for (Register reg = 0; reg < 16; ++reg) {
            same(
                [&](auto& out) {
                    out.set_if(condition, {reg, 1});
                },
                [&](auto& out) { out.emit(Inst::setccFromCond(other), theirs::gpb(reg)); },
                "setcc");
        }
        for_registers([&](ours::Gp to) {
            const ours::Gp from{static_cast<Register>((to.id * 7U + number) % 16), to.bytes};
            same([&](auto& out) { out.move_if(condition, to, from); },
                 [&](auto& out) { out.emit(Inst::cmovccFromCond(other), gp(to), gp(from)); },
                 "cmovcc");
        });
    }
    for_registers([&](ours::Gp to) {
        for (const std::uint8_t bytes : {kWidths[0], kWidths[1], kWidths[2]}) {
            std::vector<ours::Mem> from = places(bytes);
            for (const bool is_signed : {false, true}) {
                const bool whole = bytes == 4 && (!is_signed || to.bytes == 4);
                if (whole && to.bytes == 8) continue;  // There is none: mov of 32 bits clears.
                if (bytes == 4 && is_signed && to.bytes == 4) continue;
                const auto id = whole        ? Inst::kIdMov
                                : bytes == 4 ? Inst::kIdMovsxd
                                : is_signed  ? Inst::kIdMovsx
                                             : Inst::kIdMovzx;
                for (Register reg = 0; reg < 16; ++reg) {
                    const ours::Gp narrow{reg, bytes};
                    same([&](auto& out) { out.extend(is_signed, to, narrow); },
                         [&](auto& out) { out.emit(id, gp(to), gp(narrow)); },
                         "extended");
                }
                for (const ours::Mem& at : from) {
                    same([&](auto& out) { out.extend(is_signed, to, at); },
                         [&](auto& out) { out.emit(id, gp(to), mem(at)); },
                         "extended from memory");
                }
            }
        }
    });
}

TEST_CASE("what stands alone is encoded as asmjit does") {
    for_registers([&](ours::Gp reg) {
        same([&](auto& out) { out.divide(false, reg); },
             [&](auto& out) { out.emit(Inst::kIdDiv, gp(reg)); },
             "div");
        same([&](auto& out) { out.divide(true, reg); },
             [&](auto& out) { out.emit(Inst::kIdIdiv, gp(reg)); },
             "idiv");
        for (const ours::Gp other : {ours::Gp{1, reg.bytes}, ours::Gp{12, reg.bytes}}) {
            same([&](auto& out) { out.test(reg, other); },
                 [&](auto& out) { out.test(gp(reg), gp(other)); },
                 "test");
        }
        for (const ours::Mem& at : places(8)) {
            same([&](auto& out) { out.lea(reg, at); },
                 [&](auto& out) { out.lea(gp(reg), mem(at)); },
                 "lea");
        }
        same([&](auto& out) { out.clear(reg); },
             [&](auto& out) { out.xor_(theirs::gpd(reg.id), theirs::gpd(reg.id)); },
             "clear");
        if (reg.bytes != 8) return;
        same([&](auto& out) { out.push(reg); }, [&](auto& out) { out.push(gp(reg)); }, "push");
        same([&](auto& out) { out.pop(reg); }, [&](auto& out) { out.pop(gp(reg)); }, "pop");
        same([&](auto& out) { out.complement_top_bit(reg); },
             [&](auto& out) { out.btc(gp(reg), 63); },
             "btc");
        if (reg.id >= 8) return;
        same([&](auto& out) { out.call(reg); }, [&](auto& out) { out.call(gp(reg)); }, "call");
        same([&](auto& out) { out.jump(reg); }, [&](auto& out) { out.jmp(gp(reg)); }, "jmp");
    });
    same([](auto& out) { out.test(ours::al, ours::al); },
         [](auto& out) { out.test(theirs::al, theirs::al); },
         "test al");
    for (const ours::Mem& at : places(8)) {
        same([&](auto& out) { out.push(at); }, [&](auto& out) { out.push(mem(at)); }, "push");
        same([&](auto& out) { out.call(at); }, [&](auto& out) { out.call(mem(at)); }, "call");
    }
    for (const ours::Mem& at : places(4)) {
        same([&](auto& out) { out.load_mode(at); },
             [&](auto& out) { out.ldmxcsr(mem(at)); },
             "mode");
        same([&](auto& out) { out.store_mode(at); },
             [&](auto& out) { out.stmxcsr(mem(at)); },
             "mode");
    }
    same([](auto& out) { out.sign_into_rdx(ours::eax); }, [](auto& out) { out.cdq(); }, "cdq");
    same([](auto& out) { out.sign_into_rdx(ours::rax); }, [](auto& out) { out.cqo(); }, "cqo");
    same([](auto& out) { out.ret(); }, [](auto& out) { out.ret(); }, "ret");
    same([](auto& out) { out.fill_words(); }, [](auto& out) { out.rep().stosq(); }, "rep stosq");
}
