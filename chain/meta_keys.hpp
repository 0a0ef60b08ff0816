#pragma once

#include "base/bytes.hpp"

#include <string_view>

namespace chain {

// Keys of ChainManager in base::Family::meta, beside those of state/.
inline constexpr std::string_view kMetaChain = "chain_id";
inline constexpr std::string_view kMetaNotarize = "notarize_certificate";
inline constexpr std::string_view kMetaJournal = "journal_mark/";  // And the key's tag.
// Schedules of the final block; height and schedules of the agreement's base.
inline constexpr std::string_view kMetaSchedules = "schedules";
// Of a node, not of its chain: evidence that is not on chain yet, by its digest; and each key, by
// itself, whose amnesia was accepted and is not on chain yet.
inline constexpr std::string_view kMetaEvidence = "evidence/";
inline constexpr std::string_view kMetaAmnesia = "amnesia/";
// Final blocks whose signatures and witnesses are not checked yet: stretches, each by its last
// height.
inline constexpr std::string_view kMetaUnchecked = "unchecked/";

[[nodiscard]] inline base::Bytes meta_key(std::string_view name) {
    return base::to_bytes(base::as_bytes(name));
}

}  // namespace chain
