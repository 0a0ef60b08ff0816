#pragma once

#include <cstddef>
#include <cstdint>

namespace chain {

// What a decoder accepts at most (spec 03, "Limits stated"). In bytes unless named otherwise.
inline constexpr std::size_t kBlockBytesMax = 2 * 1024 * 1024;       // Packed, without witness.
inline constexpr std::size_t kBlockBytesCeiling = 16 * 1024 * 1024;  // Of the parameter.
inline constexpr std::size_t kPackedTransactionBytesMax = 512 * 1024;
inline constexpr std::size_t kTransactionBytesMax = 1024 * 1024;  // Unpacked.
inline constexpr std::size_t kSignaturesMax = 64;                 // Of a transaction.
inline constexpr std::size_t kActionsMax = 16 * 1024;             // Of each list of actions.
inline constexpr std::size_t kAuthorizationsMax = 4 * 1024;       // Of an action.
inline constexpr std::size_t kExtensionsMax = 64;
inline constexpr std::size_t kAuthorityEntriesMax = 1024;  // Of each list of an authority.
inline constexpr std::size_t kProducersMax = 125;          // Of a schedule.
inline constexpr std::size_t kBitmapBytesMax = (kProducersMax + 7) / 8;
inline constexpr std::size_t kBlockTransactionsMax = 65'536;
// Slots above this are malformed: with the longest interval (5 s) their time would not fit.
inline constexpr std::uint64_t kSlotMax = 1ULL << 40U;

}  // namespace chain
