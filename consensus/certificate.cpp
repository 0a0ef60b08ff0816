#include "consensus/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace consensus {

namespace {

using base::Errc;
using base::fail;

// Bit i of a bitmap; the caller checked its length.
bool has_bit(const base::Bytes& bitmap, std::size_t i) {
    return (std::to_integer<unsigned>(bitmap[i / 8]) >> (i % 8) & 1U) != 0;
}

}  // namespace

base::Result<void> verify(const chain::Certificate& certificate,
                          const chain::Schedule& schedule,
                          const base::Hash256& chain_id) {
    if (certificate.data.schedule_version != schedule.version) {
        return fail(Errc::invalid,
                    fmt::format("certificate of schedule version {}, expected {}",
                                certificate.data.schedule_version,
                                schedule.version));
    }
    const std::size_t entries = schedule.entries.size();
    if (certificate.bitmaps.size() != 1 || certificate.bitmaps[0].size() != (entries + 7) / 8) {
        return fail(Errc::invalid,
                    fmt::format("certificate needs one bitmap for {} validators", entries));
    }
    const base::Hash256 digest = certificate.data.digest(chain_id);
    std::size_t used = 0;
    for (std::size_t i = 0; i < certificate.bitmaps[0].size() * 8; ++i) {
        if (!has_bit(certificate.bitmaps[0], i)) continue;
        if (i >= entries || used >= certificate.signatures.size()) {
            return fail(Errc::invalid, fmt::format("certificate bit {} has no signature", i));
        }
        const base::crypto::PublicKey& key = schedule.entries[i].vote_key;
        if (!base::crypto::verify(key, certificate.signatures[used], digest)) {
            return fail(Errc::invalid,
                        fmt::format("certificate signature {} is not by {}",
                                    used,
                                    schedule.entries[i].producer.to_string()));
        }
        ++used;
    }
    if (used != certificate.signatures.size()) {
        return fail(
            Errc::invalid,
            fmt::format(
                "certificate has {} signatures for {} bits", certificate.signatures.size(), used));
    }
    if (used < schedule.quorum()) {
        return fail(
            Errc::invalid,
            fmt::format("certificate has {} votes, the quorum is {}", used, schedule.quorum()));
    }
    return {};
}

std::optional<chain::Certificate> VoteCollector::add(const chain::Vote& vote,
                                                     const chain::Schedule& schedule) {
    if (vote.data.schedule_version != schedule.version) return std::nullopt;
    const auto entry =
        std::ranges::find(schedule.entries, vote.key, &chain::ScheduleEntry::vote_key);
    if (entry == schedule.entries.end()) return std::nullopt;
    const auto index = static_cast<std::size_t>(entry - schedule.entries.begin());
    auto& votes = votes_[vote.data];
    const bool added = votes.emplace(index, vote.signature).second;
    if (!added || votes.size() != schedule.quorum()) return std::nullopt;

    chain::Certificate certificate;
    certificate.data = vote.data;
    base::Bytes bitmap((schedule.entries.size() + 7) / 8);
    for (const auto& [i, signature] : votes) {
        bitmap[i / 8] |= std::byte{1} << (i % 8);
        certificate.signatures.push_back(signature);
    }
    certificate.bitmaps.push_back(std::move(bitmap));
    return certificate;
}

void VoteCollector::forget_up_to(chain::Slot slot) {
    std::erase_if(votes_, [&](const auto& entry) { return entry.first.slot <= slot; });
}

}  // namespace consensus
