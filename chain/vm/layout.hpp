#pragma once

#include <cstddef>
#include <cstdint>

namespace chain::vm {

// What compiled code finds below its linear memory, by its distance from byte 0 of the memory,
// whose address is in r15. Sandbox fills it in.
namespace field {
enum : std::int32_t {
    limit = -8,            // i64. A run ends when its fuel falls below; Machine::stop raises it.
    memory_bytes = -16,    // u64. The linear memory's size now.
    pages = -24,           // u32. The same in pages.
    surcharge = -32,       // u64. Units that a load or store costs more, by the memory's size.
    fuel = -40,            // i64. Left, whenever compiled code does not run.
    contract_stack = -48,  // Where the contract's stack begins.
    host_stack = -56,      // The stack pointer of the call from outside.
    self = -64,            // First argument of the functions below.
    call_host = -72,       // bool (*)(void*, u32 host, const u64* arguments, u64* result)
    grow = -80,            // u32 (*)(void*, u32 pages)
    budget = -88,          // u32. Calls and stack that are left at the start, see kOneCall.
    host_mxcsr = -96,      // u32. The caller's floating point mode,
    mxcsr = -100,          // u32. and the contract's.
    result = -112,         // u64. What the function called from outside returned,
    float_result = -120,   // u64. in the registers of either kind.
    constants = -0x200,    // 16 bytes each, see Constant.
    dirty = -0x2800,       // u8 for each 4,096 bytes of memory: something was stored there.
    globals = -0x6800,     // u64 each: the mutable ones.
    table = -0x26800,      // TableEntry each.
};
}  // namespace field

inline constexpr std::size_t kBelowMemory = 0x27000;

inline constexpr std::uint32_t kDirtyShift = 12;
inline constexpr std::uint32_t kMaxDirtyBytes = 0x2600;    // Memory of up to 608 pages.
inline constexpr std::uint32_t kMaxMutableGlobals = 2048;  // Of 4 bytes at least.
inline constexpr std::uint32_t kMaxTableElements = 8192;

struct TableEntry {
    const std::byte* code = nullptr;
    std::uint64_t type = 0;  // Number of its type among the different ones of the module.
};
static_assert(sizeof(TableEntry) == 16);
// Of an element that is not set; no module has so many types.
inline constexpr std::uint64_t kNoType = 0xFFFFFFFF;

// Calls in progress and bytes of their frames are bounded by one register: the calls that are
// left from this bit on, and the bytes that are left, divided by 8, below. The bit under it shows
// when the bytes are used up, and bit 31 when the calls are.
inline constexpr std::uint32_t kCallShift = 19;
inline constexpr std::uint32_t kOneCall = std::uint32_t{1} << kCallShift;
inline constexpr std::uint32_t kBytesExhausted = kOneCall >> 1U;
inline constexpr std::uint32_t kCallsExhausted = std::uint32_t{1} << 31U;
inline constexpr std::uint32_t kMaxStackBytes = (kBytesExhausted - 1) * 8;
inline constexpr std::uint32_t kMaxCalls = 1000;

// A memory of so many pages is near, up to the next bound it is middling, then far (vm::Prices).
inline constexpr std::uint32_t kNearPages = 16;
inline constexpr std::uint32_t kMidPages = 64;
// A run is granted no more units at once.
inline constexpr std::uint64_t kMostFuel = std::uint64_t{1} << 62U;

// A frame counts this and 8 bytes for each parameter, local and operand.
inline constexpr std::uint32_t kFrameBytes = 48;
// What the stack has beyond the counted frames: the way in, and that of a call to the host with
// its arguments.
inline constexpr std::size_t kStackSlack = 16384;

// Constants that instructions take from memory, repeated to fill 16 bytes.
enum class Constant : std::int32_t {
    nan32,
    nan64,
    magnitude32,
    magnitude64,
    sign32,
    sign64,
    minus_one32,
    minus_one64,
    two_to_31_32,
    two_to_31_64,
    minus_two_to_31_32,
    below_minus_two_to_31_64,
    two_to_32_32,
    two_to_32_64,
    two_to_63_32,
    two_to_63_64,
    minus_two_to_63_32,
    minus_two_to_63_64,
    two_to_64_32,
    two_to_64_64,
};
inline constexpr std::int32_t kConstants = 20;
static_assert(field::constants + 16 * kConstants <= field::float_result);

[[nodiscard]] constexpr std::int32_t place_of(Constant constant) {
    return field::constants + 16 * static_cast<std::int32_t>(constant);
}

}  // namespace chain::vm
