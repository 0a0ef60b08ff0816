#include "chain/execution/host_float128.hpp"
#include "chain/execution/host_groups.hpp"
#include "chain/types/exception.hpp"

namespace chain::host {

namespace {

using OutInt = Out<Int128>;
using OutUInt = Out<UInt128>;
using OutFloat = Out<Float128>;

// Two operands of 128 bits, each low half first.
struct Operands {
    UInt128 left;
    UInt128 right;
};

Result<void> store(OutInt out, UInt128 value) {
    out.set(static_cast<Int128>(value));
    return {};
}

// Compilers never shift by 128 or more; the processors that nodeos runs on use the low 7 bits.
constexpr uint32_t kShiftMask = 127;

Result<void> shift_left(const Call&, OutInt out, uint64_t low, uint64_t high, uint32_t count) {
    return store(out, join(low, high) << (count & kShiftMask));
}
Result<void> shift_right(const Call&, OutInt out, uint64_t low, uint64_t high, uint32_t count) {
    return store(out, join(low, high) >> (count & kShiftMask));
}
Result<void> shift_right_signed(
    const Call&, OutInt out, uint64_t low, uint64_t high, uint32_t count) {
    out.set(static_cast<Int128>(join(low, high)) >> (count & kShiftMask));
    return {};
}

template <class Function>
Result<void> divide_by(Function function, Operands of) {
    if (of.right == 0) return fail(Exception::arithmetic_exception, "divide by zero");
    function(of);
    return {};
}

// The one quotient that overflows, of the smallest number and -1, wraps around.
bool is_minus_one(UInt128 value) {
    return value == ~static_cast<UInt128>(0);
}

// The parameters are those of the intrinsics.
// NOLINTBEGIN(readability-function-size)
Result<void> quotient(const Call&, OutInt out, uint64_t la, uint64_t ha, uint64_t lb, uint64_t hb) {
    return divide_by(
        [&](Operands of) {
            if (is_minus_one(of.right)) {
                out.set(static_cast<Int128>(0 - of.left));
            } else {
                out.set(static_cast<Int128>(of.left) / static_cast<Int128>(of.right));
            }
        },
        {join(la, ha), join(lb, hb)});
}
Result<void> remainder(
    const Call&, OutInt out, uint64_t la, uint64_t ha, uint64_t lb, uint64_t hb) {
    return divide_by(
        [&](Operands of) {
            if (is_minus_one(of.right)) {
                out.set(0);
            } else {
                out.set(static_cast<Int128>(of.left) % static_cast<Int128>(of.right));
            }
        },
        {join(la, ha), join(lb, hb)});
}
Result<void> quotient_unsigned(
    const Call&, OutUInt out, uint64_t la, uint64_t ha, uint64_t lb, uint64_t hb) {
    return divide_by([&](Operands of) { out.set(of.left / of.right); },
                     {join(la, ha), join(lb, hb)});
}
Result<void> remainder_unsigned(
    const Call&, OutUInt out, uint64_t la, uint64_t ha, uint64_t lb, uint64_t hb) {
    return divide_by([&](Operands of) { out.set(of.left % of.right); },
                     {join(la, ha), join(lb, hb)});
}
Result<void> product(const Call&, OutInt out, uint64_t la, uint64_t ha, uint64_t lb, uint64_t hb) {
    return store(out, join(la, ha) * join(lb, hb));
}

template <Float128 (*Operation)(Float128, Float128)>
Result<void> arithmetic(
    const Call&, OutFloat out, uint64_t la, uint64_t ha, uint64_t lb, uint64_t hb) {
    out.set(Operation({la, ha}, {lb, hb}));
    return {};
}
// NOLINTEND(readability-function-size)

Result<void> negate(const Call&, OutFloat out, uint64_t low, uint64_t high) {
    out.set({low, high ^ (uint64_t{1} << 63U)});
    return {};
}

Result<void> extend32(const Call&, OutFloat out, Float32 value) {
    out.set(from_float32(value.bits));
    return {};
}
Result<void> extend64(const Call&, OutFloat out, Float64 value) {
    out.set(from_float64(value.bits));
    return {};
}
Result<Float64> narrow64(const Call&, uint64_t low, uint64_t high) {
    return Float64{to_float64({low, high})};
}
Result<Float32> narrow32(const Call&, uint64_t low, uint64_t high) {
    return Float32{to_float32({low, high})};
}

template <auto Conversion>
auto to_small_integer(const Call&, uint64_t low, uint64_t high)
    -> Result<decltype(Conversion(Float128{}))> {
    return Conversion({low, high});
}

Result<void> to_int128(const Call&, OutInt out, uint64_t low, uint64_t high) {
    out.set(truncate_int128(parts_of({low, high})));
    return {};
}
Result<void> to_uint128(const Call&, OutUInt out, uint64_t low, uint64_t high) {
    out.set(truncate_uint128(parts_of({low, high})));
    return {};
}
Result<void> float32_to_int128(const Call&, OutInt out, Float32 value) {
    out.set(truncate_int128(parts_of_float32(value.bits)));
    return {};
}
Result<void> float64_to_int128(const Call&, OutInt out, Float64 value) {
    out.set(truncate_int128(parts_of_float64(value.bits)));
    return {};
}
Result<void> float32_to_uint128(const Call&, OutUInt out, Float32 value) {
    out.set(truncate_uint128(parts_of_float32(value.bits)));
    return {};
}
Result<void> float64_to_uint128(const Call&, OutUInt out, Float64 value) {
    out.set(truncate_uint128(parts_of_float64(value.bits)));
    return {};
}

Result<Float64> int32_to_float64(const Call&, int32_t value) {
    return Float64{float64_of(value)};
}
Result<void> int32_to_float128(const Call&, OutFloat out, int32_t value) {
    out.set(from_integer(value));
    return {};
}
Result<void> int64_to_float128(const Call&, OutFloat out, uint64_t value) {
    out.set(from_integer(static_cast<int64_t>(value)));
    return {};
}
Result<void> uint32_to_float128(const Call&, OutFloat out, uint32_t value) {
    out.set(from_unsigned(value));
    return {};
}
Result<void> uint64_to_float128(const Call&, OutFloat out, uint64_t value) {
    out.set(from_unsigned(value));
    return {};
}
Result<Float64> int128_to_float64(const Call&, uint64_t low, uint64_t high) {
    return Float64{float64_of(static_cast<Int128>(join(low, high)))};
}
Result<Float64> uint128_to_float64(const Call&, uint64_t low, uint64_t high) {
    return Float64{float64_of(join(low, high))};
}

template <int32_t kUnordered>
Result<int32_t> comparison(const Call&, uint64_t la, uint64_t ha, uint64_t lb, uint64_t hb) {
    return order({la, ha}, {lb, hb}, kUnordered);
}
Result<int32_t> unordered(const Call&, uint64_t la, uint64_t ha, uint64_t lb, uint64_t hb) {
    return is_nan({la, ha}) || is_nan({lb, hb}) ? 1 : 0;
}

template <auto Function>
void add_integer(Functions& out, std::string name) {
    add<Function, Access::anyone, Cost::builtin>(out, std::move(name));
}
template <auto Function>
void add_float(Functions& out, std::string name) {
    add<Function, Access::anyone, Cost::float_builtin>(out, std::move(name));
}

void add_integers(Functions& out) {
    add_integer<&shift_left>(out, "__ashlti3");
    add_integer<&shift_right_signed>(out, "__ashrti3");
    add_integer<&shift_left>(out, "__lshlti3");
    add_integer<&shift_right>(out, "__lshrti3");
    add_integer<&quotient>(out, "__divti3");
    add_integer<&quotient_unsigned>(out, "__udivti3");
    add_integer<&product>(out, "__multi3");
    add_integer<&remainder>(out, "__modti3");
    add_integer<&remainder_unsigned>(out, "__umodti3");
}

void add_conversions(Functions& out) {
    add_float<&extend32>(out, "__extendsftf2");
    add_float<&extend64>(out, "__extenddftf2");
    add_float<&narrow64>(out, "__trunctfdf2");
    add_float<&narrow32>(out, "__trunctfsf2");
    add_float<&to_small_integer<&round_int32>>(out, "__fixtfsi");
    add_float<&to_small_integer<&round_int64>>(out, "__fixtfdi");
    add_float<&to_int128>(out, "__fixtfti");
    add_float<&to_small_integer<&round_uint32>>(out, "__fixunstfsi");
    add_float<&to_small_integer<&round_uint64>>(out, "__fixunstfdi");
    add_float<&to_uint128>(out, "__fixunstfti");
    add_float<&float32_to_int128>(out, "__fixsfti");
    add_float<&float64_to_int128>(out, "__fixdfti");
    add_float<&float32_to_uint128>(out, "__fixunssfti");
    add_float<&float64_to_uint128>(out, "__fixunsdfti");
    add_float<&int32_to_float64>(out, "__floatsidf");
    add_float<&int32_to_float128>(out, "__floatsitf");
    add_float<&int64_to_float128>(out, "__floatditf");
    add_float<&uint32_to_float128>(out, "__floatunsitf");
    add_float<&uint64_to_float128>(out, "__floatunditf");
    add_float<&int128_to_float64>(out, "__floattidf");
    add_float<&uint128_to_float64>(out, "__floatuntidf");
}

}  // namespace

void add_builtins(Functions& out) {
    add_integers(out);
    add_float<&arithmetic<&host::add>>(out, "__addtf3");
    add_float<&arithmetic<&subtract>>(out, "__subtf3");
    add_float<&arithmetic<&multiply>>(out, "__multf3");
    add_float<&arithmetic<&divide>>(out, "__divtf3");
    add_float<&negate>(out, "__negtf2");
    add_conversions(out);
    add_float<&comparison<1>>(out, "__cmptf2");
    add_float<&comparison<1>>(out, "__eqtf2");
    add_float<&comparison<1>>(out, "__netf2");
    add_float<&comparison<-1>>(out, "__getf2");
    add_float<&comparison<0>>(out, "__gttf2");
    add_float<&comparison<1>>(out, "__letf2");
    add_float<&comparison<0>>(out, "__lttf2");
    add_float<&unordered>(out, "__unordtf2");
}

}  // namespace chain::host
