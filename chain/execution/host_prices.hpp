#pragma once

#include <cstdint>

namespace chain::host {

// What a host function costs, in units of deterministic work (about 1 ns each with contracts
// compiled by gcc). Part of consensus: a block that one node can pay for, every node can.
struct Price {
    std::uint32_t call = 0;  // For each call, before it begins.
    // For each 1,024 bytes that its ranges hold, rounded up; before it begins.
    std::uint32_t kibibyte = 0;
};

// Reads what is at hand: a name, a number, a flag.
inline constexpr Price kTrivial{20, 0};
// Copies between the contract's memory and the host, or within the memory.
inline constexpr Price kCopy{30, 100};
inline constexpr Price kBuiltin{20, 0};       // 128-bit integers.
inline constexpr Price kFloatBuiltin{60, 0};  // 128-bit floating point.
inline constexpr Price kText{20, 600};        // Searches for the end of a text.
// Every printed byte is kept in memory and in the trace until the block is: hence the price.
inline constexpr Price kPrint{100, 10'240};
inline constexpr Price kPrintNumber{300, 0};
inline constexpr Price kPrintNumber128{2000, 0};
inline constexpr Price kPrintFloat{3000, 0};
inline constexpr Price kAuthority{50, 0};  // Searches the action's authorizations.
inline constexpr Price kNotify{1000, 0};   // The notified contract's run is paid as it runs.
inline constexpr Price kFeature{500, 0};
inline constexpr Price kPrintHex{100, 20'480};

inline constexpr Price kSha1{300, 2500};
inline constexpr Price kSha256{300, 4000};
inline constexpr Price kSha512{300, 3000};
inline constexpr Price kRipemd160{400, 5500};
inline constexpr Price kSha3{600, 6000};
inline constexpr Price kBlake2{200, 200};  // And kBlake2Round each.
inline constexpr std::uint32_t kBlake2Round = 18;
inline constexpr Price kModExp{2000, 1000};     // And mod_exp_units().
inline constexpr Price kRecover{45'000, 4000};  // K1; R1 and WebAuthn pay more:
inline constexpr std::uint32_t kRecoverR1 = 400'000;
inline constexpr Price kRefused{100, 100};  // Fails whenever it is called.

inline constexpr Price kState{1500, 0};     // Looks up one row, which may be on disk.
inline constexpr Price kIterate{2500, 0};   // Searches in order.
inline constexpr Price kRowRead{150, 100};  // Copies a row that an iterator holds.
inline constexpr Price kRowWrite{3000, 2000};
inline constexpr Price kIndexWrite{5000, 0};

inline constexpr Price kSend{3000, 3000};  // Decodes and queues an action.
inline constexpr Price kCheckAuthority{20'000, 4000};
inline constexpr Price kTransaction{200, 400};  // Packs the transaction or a part of it.
inline constexpr Price kSchedule{5000, 100};
inline constexpr Price kPrivileged{3000, 1000};

}  // namespace chain::host
