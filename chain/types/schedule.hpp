#pragma once

#include "chain/types/name.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace chain {

// A validator: it produces with one key and votes with the other.
struct ScheduleEntry {
    Name producer;
    base::crypto::PublicKey signing_key;
    base::crypto::PublicKey vote_key;

    friend bool operator==(const ScheduleEntry&, const ScheduleEntry&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.producer, self.signing_key, self.vote_key);
    }
};

// Who may produce and vote, in the order of their turns (spec 04, "Schedule").
struct Schedule {
    std::uint32_t version = 0;
    std::vector<ScheduleEntry> entries;  // 1 to kProducersMax, each producer once.

    friend bool operator==(const Schedule&, const Schedule&) = default;

    // Votes that make a certificate: floor(2n/3) + 1.
    [[nodiscard]] std::size_t quorum() const { return entries.size() * 2 / 3 + 1; }
    // Faulty members that are tolerated: (n - 1) / 3.
    [[nodiscard]] std::size_t faults_max() const {
        return entries.empty() ? 0 : (entries.size() - 1) / 3;
    }
    // The position of a producer in `entries`.
    [[nodiscard]] std::optional<std::size_t> find_producer(Name producer) const;
    // Whether anybody signs or votes with this key.
    [[nodiscard]] bool has_key(const base::crypto::PublicKey& key) const;
    // Whose slot it is; entries must not be empty, repetitions at least 1.
    [[nodiscard]] const ScheduleEntry& producer_of(std::uint64_t slot,
                                                   std::uint32_t repetitions) const;
};

void encode(base::Writer& out, const Schedule& schedule);
// malformed: no entry, more than kProducersMax, or a producer twice.
void decode(base::Reader& in, Schedule& schedule, std::string_view field);

}  // namespace chain
