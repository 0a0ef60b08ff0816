#include "tests/hostile/guests.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <set>

namespace hostile {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetween{5};

std::vector<std::unique_ptr<Peer>> peers_of(const Plan& plan) {
    std::vector<std::unique_ptr<Peer>> peers;
    peers.reserve(plan.keys.size());
    for (const base::crypto::PrivateKey& key : plan.keys)
        peers.push_back(std::make_unique<Peer>(key, plan.genesis.chain_id()));
    return peers;
}

}  // namespace

void come_and_go(const Plan& plan) {
    const auto until = Clock::now() + plan.time;
    const auto peers = peers_of(plan);
    std::size_t came = 0;
    while (Clock::now() < until || (came == 0 && Clock::now() < until + kLateMax)) {
        for (const auto& peer : peers) {
            for (const Target& target : plan.targets)
                peer->connect(target);
            for (std::size_t i = 0; i < plan.targets.size(); ++i) {
                const auto heard = peer->hear(kBetween);
                if (!heard || heard->message || heard->channel == transport::ChannelId{}) continue;
                ++came;
                peer->hang_up(heard->channel);
            }
        }
    }
    fmt::print("{} visits\n", came);
}

void claim_heights(const Plan& plan) {
    const auto until = Clock::now() + plan.time;
    const auto peers = peers_of(plan);
    const p2p::BlockPoint far{.height = UINT32_MAX, .id = {}};
    std::set<std::pair<std::size_t, transport::ChannelId>> channels;
    for (const auto& peer : peers) {
        peer->claim(far);
        for (const Target& target : plan.targets)
            peer->connect(target);
    }
    std::size_t said = 0;
    while (Clock::now() < until || (said == 0 && Clock::now() < until + kLateMax)) {
        for (std::size_t i = 0; i < peers.size(); ++i) {
            const auto heard = peers[i]->hear(kBetween);
            if (!heard || !heard->message) continue;
            if (std::holds_alternative<p2p::Notice>(*heard->message)) {
                channels.insert({i, heard->channel});
            }
            peers[i]->say(heard->channel, p2p::Notice{.finalized = far, .head = far});
            ++said;
        }
    }
    fmt::print("{} claims over {} connections\n", said, channels.size());
    for (const auto& peer : peers) {
        for (const std::string& text : peer->closed())
            fmt::print("closed: {}\n", text);
    }
}

}  // namespace hostile
