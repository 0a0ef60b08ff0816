#pragma once

#include "base/crypto/hash.hpp"
#include "base/result.hpp"
#include "chain/execution/host_arguments.hpp"
#include "chain/types/prices.hpp"
#include "chain/vm/host.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace chain {
class ApplyContext;
}

namespace chain::host {

// What a host function works with, besides its arguments.
struct Call {
    ApplyContext& context;
    vm::Memory& memory;
    vm::Meter& meter;

    // Pays for work whose size only the function knows. An error ends the function; the
    // contract then stops for want of units, whatever the error says.
    [[nodiscard]] base::Result<void> charge(std::uint64_t units) const;
    [[nodiscard]] const Price& price(Cost cost) const;
    // For work that takes long: whether the run goes on (vm::Meter).
    [[nodiscard]] base::crypto::GoesOn goes_on() const;
};

// Who may call a function; nodeos has these four.
enum class Access : std::uint8_t {
    anyone,         // Context-free actions too.
    context_aware,  // Not from a context-free action.
    context_free,   // Only from a context-free action.
    privileged,     // context_aware, and the receiver is privileged.
};

// Calls work(place, size) for each piece of so many bytes while the run goes on.
template <class Work>
void in_pieces(const Call& call, std::size_t bytes, Work work) {
    for (std::size_t at = 0; at < bytes; at += base::crypto::kPieceBytes) {
        if (at > 0 && !call.meter.goes_on()) return;
        work(at, std::min(base::crypto::kPieceBytes, bytes - at));
    }
}

namespace detail {

// Sets the context's error for refused arguments.
bool refuse(ApplyContext& context, Fault fault);
bool refuse_overlap(ApplyContext& context);
// Whether the present action may call; sets the context's error if not.
bool may_call(ApplyContext& context, Access access);
bool stop_with(ApplyContext& context, const vm::Meter& meter, const base::Error& error);
ApplyContext& apply_context(vm::Context& context);
const Price& price_of(ApplyContext& context, Cost cost);
// How many bytes the units that are left pay for.
std::uint64_t payable_bytes(const vm::Meter& meter, const Price& price);
// Whether any two of the ranges share a byte.
bool overlap(std::span<const base::ByteView> ranges);

template <class T>
struct Return;
template <>
struct Return<void> {
    static constexpr std::optional<vm::ValueType> kType{};
};
template <class T, vm::ValueType Type>
struct PlainReturn {
    static constexpr std::optional<vm::ValueType> kType{Type};
};
template <>
struct Return<std::int32_t> : PlainReturn<std::int32_t, vm::ValueType::i32> {
    static std::uint64_t slot(std::int32_t value) { return static_cast<std::uint32_t>(value); }
};
template <>
struct Return<std::uint32_t> : PlainReturn<std::uint32_t, vm::ValueType::i32> {
    static std::uint64_t slot(std::uint32_t value) { return value; }
};
template <>
struct Return<bool> : PlainReturn<bool, vm::ValueType::i32> {
    static std::uint64_t slot(bool value) { return value ? 1 : 0; }
};
template <>
struct Return<std::int64_t> : PlainReturn<std::int64_t, vm::ValueType::i64> {
    static std::uint64_t slot(std::int64_t value) { return static_cast<std::uint64_t>(value); }
};
template <>
struct Return<std::uint64_t> : PlainReturn<std::uint64_t, vm::ValueType::i64> {
    static std::uint64_t slot(std::uint64_t value) { return value; }
};
template <>
struct Return<Float32> : PlainReturn<Float32, vm::ValueType::f32> {
    static std::uint64_t slot(Float32 value) { return value.bits; }
};
template <>
struct Return<Float64> : PlainReturn<Float64, vm::ValueType::f64> {
    static std::uint64_t slot(Float64 value) { return value.bits; }
};

template <class T>
constexpr bool kIsExclusive =
    std::is_same_v<T, ExclusiveInput> || std::is_same_v<T, ExclusiveOutput>;

// Typed arguments out of raw slots, left to right; the first fault counts.
template <class... Args>
struct ArgumentList {
    static constexpr std::size_t kSlots = (Argument<Args>::kTypes.size() + ... + 0);

    static std::vector<vm::ValueType> types() {
        std::vector<vm::ValueType> all;
        (all.insert(all.end(), Argument<Args>::kTypes.begin(), Argument<Args>::kTypes.end()), ...);
        return all;
    }

    static Fault parse(Parsing& parsing, const std::uint64_t* slots, std::tuple<Args...>& out) {
        Fault fault = Fault::none;
        std::apply(
            [&](Args&... args) {
                [[maybe_unused]] const auto one = [&](auto& arg) {
                    using T = std::remove_reference_t<decltype(arg)>;
                    fault = Argument<T>::parse(parsing, slots, arg);
                    slots += Argument<T>::kTypes.size();
                    return fault == Fault::none;
                };
                static_cast<void>((one(args) && ...));
            },
            out);
        return fault;
    }

    static bool overlapping([[maybe_unused]] const std::tuple<Args...>& args) {
        constexpr std::size_t kCount = (std::size_t{kIsExclusive<Args>} + ... + 0);
        if constexpr (kCount > 1) {
            std::vector<base::ByteView> ranges;
            ranges.reserve(kCount);
            std::apply(
                [&](const Args&... each) {
                    const auto add = [&](const auto& arg) {
                        using T = std::remove_cvref_t<decltype(arg)>;
                        if constexpr (kIsExclusive<T>) ranges.push_back(arg.bytes);
                    };
                    (add(each), ...);
                },
                args);
            return overlap(ranges);
        } else {
            return false;
        }
    }
};

template <class Signature>
struct Thunk;

template <class R, class... Args>
struct Thunk<base::Result<R> (*)(const Call&, Args...)> {
    using List = ArgumentList<std::remove_cvref_t<Args>...>;

    template <auto Function, Access kAccess, Cost kCost>
    static bool call(vm::Context& base_context,
                     vm::Memory& memory,
                     vm::Meter& meter,
                     const std::uint64_t* slots,
                     std::uint64_t* result) {
        ApplyContext& context = apply_context(base_context);
        const Price& price = price_of(context, kCost);
        if (!meter.charge(price.base)) return false;
        Parsing parsing{memory, meter, payable_bytes(meter, price)};
        std::tuple<std::remove_cvref_t<Args>...> args;
        const Fault fault = List::parse(parsing, slots, args);
        if (fault == Fault::stopped) return false;
        if (fault == Fault::unpaid) return meter.charge(meter.remaining() + 1);
        if (fault != Fault::none) {
            // Of arguments that are refused, only a text was walked over.
            const bool paid = fault != Fault::access_violation ||
                              meter.charge(price.of(parsing.bytes) - price.base);
            return paid && refuse(context, fault);
        }
        if (List::overlapping(args)) return refuse_overlap(context);
        if constexpr (kAccess != Access::anyone) {
            if (!may_call(context, kAccess)) return false;
        }
        if (!meter.charge(price.of(parsing.bytes) - price.base)) return false;
        const Call call{context, memory, meter};
        base::Result<R> done =
            std::apply([&](auto&... each) { return Function(call, each...); }, args);
        if (!done) return stop_with(context, meter, done.error());
        if constexpr (!std::is_void_v<R>) *result = Return<R>::slot(*done);
        return true;
    }

    template <auto Function, Access kAccess, Cost kCost>
    static vm::HostFunction describe(std::string name) {
        return {std::move(name), List::types(), Return<R>::kType, &call<Function, kAccess, kCost>};
    }
};

}  // namespace detail

// Passes on what the context answers; it has recorded why when that is false.
[[nodiscard]] base::Result<void> done(bool succeeded);

// Refuses, in nodeos' words, a function that writes in a read-only transaction.
[[nodiscard]] base::Result<void> must_write(const Call& call, std::string_view function);

// What nodeos' reading functions do: the size when there is no room, else as much as fits.
[[nodiscard]] std::int32_t copy_out(base::ByteView bytes, const Output& out);

// The functions of one group, before the table is made.
using Functions = std::vector<vm::HostFunction>;

// Adds `Function`, of type Result<R>(const Call&, arguments...), under `name`. Its parameters
// and result in WebAssembly follow from its type.
template <auto Function, Access kAccess, Cost kCost>
void add(Functions& out, std::string name) {
    out.push_back(detail::Thunk<decltype(Function)>::template describe<Function, kAccess, kCost>(
        std::move(name)));
}

}  // namespace chain::host
