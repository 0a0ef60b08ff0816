#pragma once

#include "base/bytes.hpp"
#include "chain/vm/host.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace chain::host {

// The parameters of host functions as their C++ types, and how each is made of raw slots.
// A range of the contract's memory is checked here, once, and nowhere else.

// Nothing, or why the arguments are refused.
enum class Fault : std::uint8_t {
    none,
    access_violation,  // A range outside the memory.
    null_pointer,      // Offset 0 where nodeos wants a reference.
    overflow,          // A count of items whose bytes do not fit in 32 bits.
    unpaid,            // More bytes than there are units for.
    stopped,           // The run was stopped meanwhile.
};

// Floating point travels as bits: nothing may touch a NaN on its way.
struct Float32 {
    std::uint32_t bits = 0;
};
struct Float64 {
    std::uint64_t bits = 0;
};

// Offset and length of bytes to read.
struct Input {
    base::ByteView bytes;
};
// Offset and length of bytes to write; may be empty.
struct Output {
    std::span<std::byte> bytes;
};
// The same, for functions whose ranges must not overlap each other.
struct ExclusiveInput : Input {};
struct ExclusiveOutput : Output {};

// Offset of a value to read. It need not be aligned.
template <class T>
struct In {
    T value{};
};
// Offset of a value to replace. It need not be aligned.
template <class T>
class Out {
  public:
    Out() = default;
    explicit Out(std::span<std::byte> place) : place_(place) {}

    [[nodiscard]] T get() const {
        T value{};
        std::memcpy(&value, place_.data(), sizeof(T));
        return value;
    }
    void set(const T& value) const { std::memcpy(place_.data(), &value, sizeof(T)); }

  private:
    std::span<std::byte> place_;
};

// Offset of a text that a zero byte ends.
struct CString {
    std::string_view text;
};
// Offset and count of items of `Bytes` bytes each, to read.
template <std::size_t Bytes>
struct InputItems : Input {};
// As InputItems, to write.
template <std::size_t Bytes>
struct OutputItems : Output {};

// The arguments of memcpy and memmove, memcmp and memset. The result is an offset.
struct CopyRange {
    std::span<std::byte> to;
    base::ByteView from;
    std::uint32_t to_offset = 0;
    std::uint32_t from_offset = 0;
};
struct CompareRange {
    base::ByteView left;
    base::ByteView right;
};
struct FillRange {
    std::span<std::byte> to;
    std::uint32_t to_offset = 0;
    std::int32_t value = 0;
};

// Argument<T>: `kTypes` in WebAssembly, and parse() from as many slots.
// parse() adds the bytes that the function will walk over to `bytes`.
struct Parsing {
    vm::Memory& memory;
    vm::Meter& meter;
    std::uint64_t payable = 0;  // Bytes that there are units for: a text is searched no further.
    std::uint64_t bytes = 0;
};

template <class T>
struct Argument;

template <class T, vm::ValueType Type>
struct PlainArgument {
    static constexpr std::array kTypes{Type};
    static Fault parse(Parsing&, const std::uint64_t* slots, T& out) {
        if constexpr (std::is_same_v<T, bool>) {
            out = static_cast<std::uint32_t>(slots[0]) != 0;
        } else {
            out = static_cast<T>(slots[0]);
        }
        return Fault::none;
    }
};

template <>
struct Argument<std::int32_t> : PlainArgument<std::int32_t, vm::ValueType::i32> {};
template <>
struct Argument<std::uint32_t> : PlainArgument<std::uint32_t, vm::ValueType::i32> {};
template <>
struct Argument<std::int64_t> : PlainArgument<std::int64_t, vm::ValueType::i64> {};
template <>
struct Argument<std::uint64_t> : PlainArgument<std::uint64_t, vm::ValueType::i64> {};
template <>
struct Argument<bool> : PlainArgument<bool, vm::ValueType::i32> {};

template <>
struct Argument<Float32> {
    static constexpr std::array kTypes{vm::ValueType::f32};
    static Fault parse(Parsing&, const std::uint64_t* slots, Float32& out) {
        out.bits = static_cast<std::uint32_t>(slots[0]);
        return Fault::none;
    }
};

template <>
struct Argument<Float64> {
    static constexpr std::array kTypes{vm::ValueType::f64};
    static Fault parse(Parsing&, const std::uint64_t* slots, Float64& out) {
        out.bits = slots[0];
        return Fault::none;
    }
};

namespace detail {

// The range of a length in items, or nothing when its bytes leave 32 bits.
inline Fault read_range(Parsing& parsing,
                        const std::uint64_t* slots,
                        std::size_t item_bytes,
                        base::ByteView& out) {
    const std::uint64_t bytes = std::uint64_t{static_cast<std::uint32_t>(slots[1])} * item_bytes;
    if (bytes > UINT32_MAX) return Fault::overflow;
    const auto range = parsing.memory.read(static_cast<std::uint32_t>(slots[0]),
                                           static_cast<std::uint32_t>(bytes));
    if (!range) return Fault::access_violation;
    out = *range;
    parsing.bytes += bytes;
    return Fault::none;
}

inline Fault write_range(Parsing& parsing,
                         const std::uint64_t* slots,
                         std::size_t item_bytes,
                         std::span<std::byte>& out) {
    const std::uint64_t bytes = std::uint64_t{static_cast<std::uint32_t>(slots[1])} * item_bytes;
    if (bytes > UINT32_MAX) return Fault::overflow;
    const auto range = parsing.memory.write(static_cast<std::uint32_t>(slots[0]),
                                            static_cast<std::uint32_t>(bytes));
    if (!range) return Fault::access_violation;
    out = *range;
    parsing.bytes += bytes;
    return Fault::none;
}

}  // namespace detail

template <class T, std::size_t ItemBytes>
struct InputArgument {
    static constexpr std::array kTypes{vm::ValueType::i32, vm::ValueType::i32};
    static Fault parse(Parsing& parsing, const std::uint64_t* slots, T& out) {
        return detail::read_range(parsing, slots, ItemBytes, out.bytes);
    }
};

template <class T, std::size_t ItemBytes>
struct OutputArgument {
    static constexpr std::array kTypes{vm::ValueType::i32, vm::ValueType::i32};
    static Fault parse(Parsing& parsing, const std::uint64_t* slots, T& out) {
        return detail::write_range(parsing, slots, ItemBytes, out.bytes);
    }
};

template <>
struct Argument<Input> : InputArgument<Input, 1> {};
template <>
struct Argument<Output> : OutputArgument<Output, 1> {};
template <>
struct Argument<ExclusiveInput> : InputArgument<ExclusiveInput, 1> {};
template <>
struct Argument<ExclusiveOutput> : OutputArgument<ExclusiveOutput, 1> {};
template <std::size_t Bytes>
struct Argument<InputItems<Bytes>> : InputArgument<InputItems<Bytes>, Bytes> {};
template <std::size_t Bytes>
struct Argument<OutputItems<Bytes>> : OutputArgument<OutputItems<Bytes>, Bytes> {};

template <class T>
struct Argument<In<T>> {
    static_assert(std::is_trivially_copyable_v<T>);
    static constexpr std::array kTypes{vm::ValueType::i32};
    static Fault parse(Parsing& parsing, const std::uint64_t* slots, In<T>& out) {
        const auto offset = static_cast<std::uint32_t>(slots[0]);
        if (offset == 0) return Fault::null_pointer;
        const auto range = parsing.memory.read(offset, sizeof(T));
        if (!range) return Fault::access_violation;
        std::memcpy(&out.value, range->data(), sizeof(T));
        return Fault::none;
    }
};

template <class T>
struct Argument<Out<T>> {
    static_assert(std::is_trivially_copyable_v<T>);
    static constexpr std::array kTypes{vm::ValueType::i32};
    static Fault parse(Parsing& parsing, const std::uint64_t* slots, Out<T>& out) {
        const auto offset = static_cast<std::uint32_t>(slots[0]);
        if (offset == 0) return Fault::null_pointer;
        const auto range = parsing.memory.write(offset, sizeof(T));
        if (!range) return Fault::access_violation;
        out = Out<T>(*range);
        return Fault::none;
    }
};

template <>
struct Argument<CString> {
    static constexpr std::array kTypes{vm::ValueType::i32};
    static Fault parse(Parsing& parsing, const std::uint64_t* slots, CString& out);
};

template <>
struct Argument<CopyRange> {
    static constexpr std::array kTypes{vm::ValueType::i32, vm::ValueType::i32, vm::ValueType::i32};
    static Fault parse(Parsing& parsing, const std::uint64_t* slots, CopyRange& out);
};

template <>
struct Argument<CompareRange> {
    static constexpr std::array kTypes{vm::ValueType::i32, vm::ValueType::i32, vm::ValueType::i32};
    static Fault parse(Parsing& parsing, const std::uint64_t* slots, CompareRange& out);
};

template <>
struct Argument<FillRange> {
    static constexpr std::array kTypes{vm::ValueType::i32, vm::ValueType::i32, vm::ValueType::i32};
    static Fault parse(Parsing& parsing, const std::uint64_t* slots, FillRange& out);
};

}  // namespace chain::host
