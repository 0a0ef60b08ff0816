#pragma once

#include "tests/support/cluster.hpp"

#include <array>
#include <string>
#include <vector>

namespace support {

inline chain::Name name(const std::string& text) {
    return *chain::Name::from_string(text);
}

// `producer` registers with this key.
inline base::Bytes registration(const std::string& producer, const base::crypto::PublicKey& key) {
    base::Writer out;
    chain::encode(out, name(producer));
    base::crypto::encode(out, key);
    out.string("");
    out.u16(0);
    return out.take();
}

inline base::Bytes votes(const std::string& voter, const std::vector<std::string>& producers) {
    base::Writer out;
    chain::encode(out, name(voter));
    chain::encode(out, chain::Name{});
    out.varuint32(static_cast<std::uint32_t>(producers.size()));
    for (const std::string& producer : producers)
        chain::encode(out, name(producer));
    return out.take();
}

// The members of the first three nodes vote for these: more than a third of any that there are.
inline void elect(Cluster& cluster, const std::vector<std::string>& producers) {
    constexpr std::array<const char*, 3> kVoters{"bank", "bourse", "broker"};
    for (std::size_t i = 0; i < kVoters.size(); ++i) {
        const auto ticket = cluster[i].submit(
            cluster[i].act(kVoters[i], "voteproducer", votes(kVoters[i], producers)));
        REQUIRE(cluster[i].answers.at(ticket).outcome.has_value());
    }
}

// Fixes these validators, turned round: in another order they are another schedule.
inline base::Bytes setprods(const std::vector<chain::ScheduleEntry>& entries, std::size_t by) {
    base::Writer out;
    out.varuint32(static_cast<std::uint32_t>(entries.size()));
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const chain::ScheduleEntry& entry = entries[(i + by) % entries.size()];
        chain::encode(out, entry.producer);
        out.varuint32(0);
        out.u32(1);
        out.varuint32(1);
        base::crypto::encode(out, entry.signing_key);
        out.u16(1);
    }
    return out.take();
}

// Four validators and a standby, "mint", whom they have elected: block 24 proposes it, and from
// the one of slot 26 on its schedule is pending. Stops before slot 24; the period is 12 slots.
inline void elect_standby(Cluster& cluster) {
    cluster.run(1, 3);
    const auto registers = cluster[4].submit(
        cluster[4].act("mint", "regproducer", registration("mint", key_of(11).public_key())));
    REQUIRE(cluster[4].answers.at(registers).outcome.has_value());
    cluster.run(4, 16);
    elect(cluster, {"bank", "bourse", "broker", "mint", "vault"});
    cluster.run(17, 23);
}

}  // namespace support
