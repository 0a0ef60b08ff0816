#include "chain/types/schedule.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <set>

namespace chain {

namespace {

constexpr std::size_t kEntryBytesMin = 8 + 34 + 34;

}  // namespace

bool Schedule::has_key(const base::crypto::PublicKey& key) const {
    return std::ranges::any_of(entries, [&](const ScheduleEntry& entry) {
        return entry.signing_key == key || entry.vote_key == key;
    });
}

std::optional<std::size_t> Schedule::find_producer(Name producer) const {
    const auto found = std::ranges::find(entries, producer, &ScheduleEntry::producer);
    if (found == entries.end()) return std::nullopt;
    return static_cast<std::size_t>(found - entries.begin());
}

const ScheduleEntry& Schedule::producer_of(std::uint64_t slot, std::uint32_t repetitions) const {
    CHECK(!entries.empty() && repetitions > 0);
    return entries[(slot / repetitions) % entries.size()];
}

void encode(base::Writer& out, const Schedule& schedule) {
    out.u32(schedule.version);
    encode_list(out, schedule.entries);
}

void decode(base::Reader& in, Schedule& schedule, std::string_view field) {
    schedule.version = in.u32(field);
    decode_list(in, schedule.entries, {kProducersMax, kEntryBytesMin}, field);
    if (!in.ok()) return;
    if (schedule.entries.empty()) return in.set_error(field, "a schedule has no producer");
    std::set<Name> seen;
    for (const ScheduleEntry& entry : schedule.entries) {
        if (!seen.insert(entry.producer).second) {
            return in.set_error(field, "a schedule has a producer twice");
        }
    }
}

}  // namespace chain
