#include "consensus/certificate.hpp"

#include "chain/types/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace consensus {

namespace {

using base::Errc;
using base::fail;
using base::Result;
using base::crypto::PublicKey;
using chain::is_left_out;
using chain::Rule;

// Bit i of a bitmap; the caller checked its length.
bool has_bit(const base::Bytes& bitmap, std::size_t i) {
    return (std::to_integer<unsigned>(bitmap[i / 8]) >> (i % 8) & 1U) != 0;
}

// The entries of a schedule that a bitmap names. invalid: not this schedule's, or no quorum.
Result<std::vector<const chain::ScheduleEntry*>> read_bitmap(const base::Bytes& bitmap,
                                                             const chain::Schedule& schedule,
                                                             std::size_t quorum) {
    const std::size_t entries = schedule.entries.size();
    const bool fits = bitmap.size() == (entries + 7) / 8;
    if (!is_left_out(Rule::certificate_bitmap_length) && !fits) {
        return fail(
            Errc::invalid,
            fmt::format(
                "certificate has a bitmap of {} bytes for {} validators", bitmap.size(), entries));
    }
    std::vector<const chain::ScheduleEntry*> named;
    named.reserve(entries);
    for (std::size_t i = 0; i < bitmap.size() * 8; ++i) {
        if (!has_bit(bitmap, i)) continue;
        if (is_left_out(Rule::certificate_members) && i >= entries) continue;
        if (i >= entries) {
            return fail(Errc::invalid,
                        fmt::format("certificate names validator {} of {}", i, entries));
        }
        named.push_back(&schedule.entries[i]);
    }
    if (named.size() < quorum) {
        return fail(Errc::invalid,
                    fmt::format("certificate has {} votes of schedule {}, the quorum is {}",
                                named.size(),
                                schedule.version,
                                quorum));
    }
    return named;
}

// Who must have signed, in the order of the signatures.
Result<std::vector<PublicKey>> read_signers(const chain::Certificate& certificate,
                                            const chain::ScheduleState& schedules) {
    const chain::Schedule& active = *schedules.active;
    const chain::Schedule* pending = schedules.pending();
    const bool is_of_active = certificate.data.schedule_version == active.version;
    if (!is_left_out(Rule::certificate_version) && !is_of_active) {
        return fail(Errc::invalid,
                    fmt::format("certificate of schedule version {}, expected {}",
                                certificate.data.schedule_version,
                                active.version));
    }
    const std::size_t needed = pending == nullptr ? 1 : 2;
    const bool is_short = certificate.bitmaps.size() < needed;
    if (is_short ||
        (!is_left_out(Rule::certificate_bitmaps) && certificate.bitmaps.size() > needed)) {
        return fail(
            Errc::invalid,
            fmt::format(
                "certificate has {} bitmaps, expected {}", certificate.bitmaps.size(), needed));
    }
    const std::size_t quorum = is_left_out(Rule::certificate_quorum) ? 0 : active.quorum();
    auto first = read_bitmap(certificate.bitmaps[0], active, quorum);
    if (!first) return fail(std::move(first).error());
    std::vector<PublicKey> keys;
    keys.reserve(active.entries.size());
    for (const chain::ScheduleEntry* entry : *first) {
        if (std::ranges::find(keys, entry->vote_key) != keys.end()) {
            return fail(Errc::invalid, "certificate counts a key twice");
        }
        keys.push_back(entry->vote_key);
    }
    if (pending == nullptr) return keys;
    const std::size_t joint = is_left_out(Rule::certificate_joint_quorum) ? 0 : pending->quorum();
    auto second = read_bitmap(certificate.bitmaps[1], *pending, joint);
    if (!second) return fail(std::move(second).error());
    for (const chain::ScheduleEntry* entry : *second) {
        if (std::ranges::find(keys, entry->vote_key) == keys.end()) {
            keys.push_back(entry->vote_key);
        }
    }
    return keys;
}

}  // namespace

chain::VoteData vote_data(chain::VoteKind kind, const chain::Block& block) {
    return {.kind = kind,
            .schedule_version = block.header.schedule_version,
            .slot = block.header.slot,
            .height = block.header.height,
            .block_id = block.id,
            .justify_slot = block.header.justify.slot};
}

Result<void> check_form(const chain::Certificate& certificate,
                        const chain::ScheduleState& schedules) {
    auto keys = read_signers(certificate, schedules);
    if (!keys) return fail(std::move(keys).error());
    if (keys->size() == certificate.signatures.size()) return {};
    const bool has_more = certificate.signatures.size() > keys->size();
    if (is_left_out(Rule::certificate_signature_count) && has_more) return {};
    return fail(Errc::invalid,
                fmt::format("certificate has {} signatures for {} validators",
                            certificate.signatures.size(),
                            keys->size()));
}

std::vector<PublicKey> signers(const chain::Certificate& certificate,
                               const chain::ScheduleState& schedules) {
    auto keys = read_signers(certificate, schedules);
    return keys ? *std::move(keys) : std::vector<PublicKey>();
}

Result<void> verify(const chain::Certificate& certificate,
                    const chain::ScheduleState& schedules,
                    const base::Hash256& chain_id) {
    if (auto good = check_form(certificate, schedules); !good) return good;
    const std::vector<PublicKey> keys = signers(certificate, schedules);
    const base::Hash256 digest = certificate.data.digest(chain_id);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (is_left_out(Rule::certificate_signatures) && i > 0) continue;
        if (base::crypto::verify(keys[i], certificate.signatures[i], digest)) continue;
        return fail(Errc::invalid,
                    fmt::format("certificate signature {} is not by {}", i, keys[i].to_string()));
    }
    return {};
}

Tally::Tally(const chain::ScheduleState& schedules) {
    active_.signatures.resize(schedules.active->entries.size());
    if (const auto* pending = schedules.pending(); pending != nullptr) {
        pending_.signatures.resize(pending->entries.size());
    }
}

bool Tally::Votes::add(const chain::Schedule& schedule,
                       const PublicKey& key,
                       const base::crypto::Signature& signature) {
    const auto entry = std::ranges::find(schedule.entries, key, &chain::ScheduleEntry::vote_key);
    if (entry == schedule.entries.end()) return false;
    const auto at = static_cast<std::size_t>(entry - schedule.entries.begin());
    if (voted[at]) return false;
    voted.set(at);
    signatures.resize(std::max(signatures.size(), schedule.entries.size()));
    signatures[at] = signature.compact;
    return true;
}

bool Tally::add(const PublicKey& key,
                const base::crypto::Signature& signature,
                const chain::ScheduleState& schedules) {
    if (signature.type != base::crypto::KeyType::k1) return false;
    const bool is_new = active_.add(*schedules.active, key, signature);
    const chain::Schedule* pending = schedules.pending();
    return (pending != nullptr && pending_.add(*pending, key, signature)) || is_new;
}

std::optional<chain::Certificate> Tally::certificate(const chain::VoteData& data,
                                                     const chain::ScheduleState& schedules) const {
    const chain::Schedule& active = *schedules.active;
    const chain::Schedule* pending = schedules.pending();
    const bool is_quorum = active_.voted.count() >= active.quorum();
    if (!is_left_out(Rule::tally_quorum) && !is_quorum) return std::nullopt;
    const bool is_joint = pending == nullptr || pending_.voted.count() >= pending->quorum();
    if (!is_left_out(Rule::tally_joint_quorum) && !is_joint) return std::nullopt;
    chain::Certificate certificate{.data = data, .bitmaps = {}, .signatures = {}};
    const auto gather =
        [&](const chain::Schedule& schedule, const Votes& votes, auto&& has_signed) {
            base::Bytes bitmap((schedule.entries.size() + 7) / 8);
            for (std::size_t i = 0; i < schedule.entries.size(); ++i) {
                if (!votes.voted[i]) continue;
                bitmap[i / 8] |= std::byte{1} << (i % 8);
                if (has_signed(schedule.entries[i].vote_key)) continue;
                certificate.signatures.emplace_back().compact = votes.signatures[i];
            }
            certificate.bitmaps.push_back(std::move(bitmap));
        };
    gather(active, active_, [](const PublicKey& /*key*/) { return false; });
    if (pending == nullptr) return certificate;
    gather(*pending, pending_, [&](const PublicKey& key) {
        return std::ranges::find(active.entries, key, &chain::ScheduleEntry::vote_key) !=
               active.entries.end();
    });
    return certificate;
}

}  // namespace consensus
