#pragma once

#include "p2p/world.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace p2p::test {

// One Network, and a peer that the test plays: it sends what it likes and sees every effect.
struct Stranger {
    static constexpr std::size_t kUs = 0;
    static constexpr std::size_t kOurNext = 9;  // Our second vote key, as while one rotates.
    static constexpr std::size_t kThem = 5;

    Lines log;
    Options options = World::options_of(kUs);
    base::Timestamp now = base::Timestamp(base::Duration(1'700'000'100'000'000'000));
    Ledger ledger;
    std::unique_ptr<Network> network;
    Effects out;
    std::uint64_t channels = 0;

    explicit Stranger(const std::optional<Checkpoint>& checkpoint = {},
                      const RecoveryPoint& recovery = {}) {
        options.checkpoint = checkpoint;
        options.recovery = recovery;
        options.vote_keys.push_back(vote_key_of(kOurNext));
        network = std::make_unique<Network>(options, base::Log(log, "p2p"));
        ledger.grow(10);
        step(ledger.view());
        step(input::RegistryChanged{{{key_of(kThem), World::organisation(kThem), kValidator},
                                     {key_of(6), World::organisation(6), kObserver}}});
        out.clear();
    }
    void step(const Input& input) { network->step(now, input, out); }
    void tick(base::Duration time) {
        const base::Timestamp end = now + time;
        while (now < end) {
            now = std::min<base::Timestamp>(end, now + milliseconds(100));
            step(input::Tick{});
        }
    }

    struct Coming {
        std::size_t number = kThem;
        bool outbound = false;
        chain::Slot our_start = 10;
    };
    static base::Hash256 exporter_of(ChannelId channel) {
        base::Hash256 exporter;
        exporter.bytes[0] = static_cast<std::byte>(channel.value);
        return exporter;
    }
    ChannelId come(const Coming& coming) {
        const ChannelId channel{++channels};
        std::vector<VoteKeyStatement> ours;
        ours.reserve(options.vote_keys.size());
        for (const PublicKey& key : options.vote_keys) {
            ours.push_back(
                {.key = key, .boot_id = options.boot_id, .start_slot = coming.our_start});
        }
        step(input::ChannelUp{.channel = channel,
                              .key = key_of(coming.number),
                              .address = "stranger:1",
                              .outbound = coming.outbound,
                              .exporter = exporter_of(channel),
                              .statements = std::move(ours)});
        return channel;
    }
    ChannelId come() { return come(Coming{}); }
    [[nodiscard]] Hello hello() const {
        const input::LedgerChanged view = ledger.view();
        Hello hello{.finalized = view.finalized, .head = view.head};
        hello.chain_id = options.chain_id;
        return hello;
    }
    struct Claim {
        std::size_t vote_key = kThem;
        std::uint64_t boot_id = 500;
        chain::Slot start_slot = 20;
    };
    void claim(Hello& hello, ChannelId channel, const Claim& what, std::size_t node = kThem) const {
        VoteKeyStatement statement{.key = vote_key_of(what.vote_key),
                                   .boot_id = what.boot_id,
                                   .start_slot = what.start_slot};
        statement.signature = sign(
            statement.key,
            statement_digest(statement, {options.chain_id, key_of(node), exporter_of(channel)}));
        hello.vote_keys.push_back(statement);
    }
    // Says hello with these claims.
    void say_claims(ChannelId channel, const std::vector<Claim>& all, std::size_t node = kThem) {
        Hello claiming = hello();
        for (const Claim& what : all)
            claim(claiming, channel, what, node);
        say(channel, claiming);
    }
    void say_claim(ChannelId channel, const Claim& what, std::size_t node = kThem) {
        say_claims(channel, {what}, node);
    }
    void say_bytes(ChannelId channel, base::ByteView bytes) {
        step(input::Message{channel, bytes});
    }
    void say(ChannelId channel, const Body& body, Mark mark = {}) {
        say_bytes(channel, *pack_message(body, mark));
    }
    [[nodiscard]] Notice notice() const {
        const input::LedgerChanged view = ledger.view();
        return {.finalized = view.finalized, .head = view.head};
    }
    // A peer that is ready.
    ChannelId greet(const Coming& coming) {
        const ChannelId channel = come(coming);
        say(channel, hello());
        say(channel, notice());
        out.clear();
        return channel;
    }
    ChannelId greet() { return greet(Coming{}); }

    // Why the channel was closed; absent: it was not.
    [[nodiscard]] std::optional<Reason> closed(ChannelId channel) const {
        for (const Effect& effect : out) {
            const auto* close = std::get_if<effect::Close>(&effect);
            if (close != nullptr && close->channel == channel) return close->reason;
        }
        return {};
    }
    // What was sent to the channel, in order.
    [[nodiscard]] std::vector<Body> heard(ChannelId channel) const {
        std::vector<Body> bodies;
        for (const Effect& effect : out) {
            const auto* send = std::get_if<effect::Send>(&effect);
            if (send == nullptr || send->channel != channel) continue;
            const auto envelope = read_envelope(*send->bytes);
            bodies.push_back(*read_body(*envelope, *send->bytes));
        }
        return bodies;
    }
    // When the channel was last asked for its time.
    [[nodiscard]] std::int64_t heartbeat(ChannelId channel) const {
        std::int64_t asked = 0;
        for (const Body& body : heard(channel)) {
            const auto* stamps = std::get_if<TimeStamps>(&body);
            if (stamps != nullptr && stamps->origin == 0) asked = stamps->transmit;
        }
        return asked;
    }
    struct Question {
        std::uint64_t correlation = 0;
        std::vector<chain::BlockId> ids;
    };
    // For blocks by id, that the channel was asked, in order.
    [[nodiscard]] std::vector<Question> questions(ChannelId channel) const {
        std::vector<Question> found;
        for (const auto& send : effects<effect::Send>()) {
            const auto envelope = read_envelope(*send.bytes);
            if (send.channel != channel || envelope->type != MessageType::request) continue;
            const auto request = std::get<Request>(*read_body(*envelope, *send.bytes));
            if (request.wanted != Wanted::blocks) continue;
            found.push_back({envelope->correlation, request.ids});
        }
        return found;
    }
    // It names blocks, and is asked for them in one question.
    Question ask(ChannelId channel, std::vector<chain::BlockId> ids) {
        Notice names = notice();
        names.blocks = {SyncMode::normal, static_cast<std::uint32_t>(ids.size()), std::move(ids)};
        out.clear();
        say(channel, names);
        const std::vector<Question> asked = questions(channel);
        out.clear();
        return asked.empty() ? Question{} : asked.front();
    }
    [[nodiscard]] PeerStatus status(ChannelId channel) const {
        for (const PeerStatus& peer : network->status().peers)
            if (peer.channel == channel) return peer;
        return {};
    }
    template <class Type>
    [[nodiscard]] std::vector<Type> effects() const {
        std::vector<Type> found;
        for (const Effect& effect : out) {
            if (const auto* value = std::get_if<Type>(&effect)) found.push_back(*value);
        }
        return found;
    }
    // The vote keys that its go_away named.
    [[nodiscard]] std::set<PublicKey> told_keys(ChannelId channel) const {
        const std::vector<Body> bodies = heard(channel);
        const auto* away = bodies.empty() ? nullptr : std::get_if<GoAway>(&bodies.back());
        return away == nullptr ? std::set<PublicKey>{} : away->vote_keys;
    }
    // Closed for this reason, which the peer was told before.
    [[nodiscard]] bool went(ChannelId channel, Reason reason) const {
        if (closed(channel) != reason) return false;
        const std::vector<Body> bodies = heard(channel);
        const auto* away = bodies.empty() ? nullptr : std::get_if<GoAway>(&bodies.back());
        return away != nullptr && away->reason == reason && !away->text.empty();
    }
};

}  // namespace p2p::test
