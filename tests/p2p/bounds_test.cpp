#include "p2p/budget.hpp"
#include "p2p/network.hpp"
#include "p2p/sync.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <utility>
#include <vector>

// What one peer may send, and what a question lets through.

using namespace p2p;

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

PublicKey key_of(std::uint8_t number, base::crypto::KeyType type = base::crypto::KeyType::r1) {
    PublicKey key;
    key.type = type;
    key.point[0] = std::byte{2};
    key.point[32] = std::byte{number};
    return key;
}

chain::BlockPtr block_on(const chain::Block& parent, chain::Slot slots) {
    chain::BlockHeader header;
    header.slot = parent.header.slot + slots;
    header.height = parent.header.height + 1;
    header.previous = parent.id;
    Signature signature;
    signature.compact[0] = std::byte{31};
    return chain::make_block({header, signature}, {}, {});
}

struct Silence : base::LogSink {
    [[nodiscard]] bool enabled(base::Level) const override { return false; }
    void write(base::Level, std::string_view, std::string_view) override {}
};

// A node, an observer that lies, and an honest validator.
struct Bounds {
    Silence silence;
    Options options;
    base::Timestamp now{seconds(1'700'000'100)};
    std::unique_ptr<Network> network;
    chain::BlockPtr final;
    Effects out;
    ChannelId liar{1};
    ChannelId honest{2};

    Bounds() {
        options.chain_id.bytes[0] = std::byte{1};
        options.times = {.initial = {1'700'000'000'000'000}, .interval_milliseconds = 500};
        options.node_key = key_of(1);
        options.verify = [](const PublicKey&, const Signature&, const base::Hash256&) {
            return true;
        };
        network = std::make_unique<Network>(options, base::Log(silence, "p2p"));
        chain::BlockHeader first;
        first.height = 1;
        final = block_on(*chain::make_block({first, {}}, {}, {}), 1);
        step(input::LedgerChanged{.head = point(), .finalized = point(), .branch = {}});
        const auto organisation = *chain::Name::from_string("orga");
        step(input::RegistryChanged{
            {{key_of(2), organisation, kObserver}, {key_of(3), organisation, kValidator}}});
        greet(liar, 2);
        greet(honest, 3);
    }
    [[nodiscard]] BlockPoint point() const { return {final->header.height, final->id}; }
    void step(const Input& input) { network->step(now, input, out); }
    void say(ChannelId channel, const Body& body, Mark mark = {}) {
        step(input::Message{channel, *pack_message(body, mark)});
    }
    void greet(ChannelId channel, std::uint8_t number) {
        step(input::ChannelUp{channel, key_of(number), "a:1", false, {}, {}});
        Hello hello{.finalized = point(), .head = point()};
        hello.chain_id = options.chain_id;
        say(channel, hello);
        say(channel, Notice{.finalized = point(), .head = point()});
        out.clear();
    }
    // It names blocks, and is asked for them.
    void name(std::vector<chain::BlockId> ids) {
        Notice notice{.finalized = point(), .head = point()};
        const auto count = static_cast<std::uint32_t>(ids.size());
        notice.blocks = {SyncMode::normal, count, std::move(ids)};
        say(liar, notice);
    }
    // Its correlation; 0: none was sent.
    [[nodiscard]] std::uint64_t asked() const {
        std::uint64_t correlation = 0;
        each_sent(liar, MessageType::request, [&](const Envelope& envelope, const SharedBytes&) {
            correlation = envelope.correlation;
        });
        return correlation;
    }
    template <class Visit>
    void each_sent(ChannelId channel, MessageType type, const Visit& visit) const {
        for (const Effect& effect : out) {
            const auto* send = std::get_if<effect::Send>(&effect);
            if (send == nullptr || send->channel != channel) continue;
            const auto envelope = read_envelope(*send->bytes);
            if (envelope->type == type) visit(*envelope, send->bytes);
        }
    }
    [[nodiscard]] bool is_closed(ChannelId channel) const {
        for (const Effect& effect : out) {
            const auto* close = std::get_if<effect::Close>(&effect);
            if (close != nullptr && close->channel == channel) return true;
        }
        return false;
    }
    // The ledger answers so what came; how many votes.
    std::size_t judge_votes(Verdict verdict) {
        std::vector<base::Hash256> ids;
        for (const Effect& effect : out) {
            const auto* arrived = std::get_if<effect::VoteArrived>(&effect);
            if (arrived != nullptr) ids.push_back(arrived->id);
        }
        for (const base::Hash256& id : ids)
            step(input::Judged{Item::vote, id, liar, verdict, {}});
        return ids.size();
    }
    [[nodiscard]] chain::Vote vote(chain::Slot slot, std::uint8_t block, std::uint8_t nonce) const {
        chain::Vote vote{{.kind = chain::VoteKind::commit,
                          .slot = slot,
                          .height = final->header.height,
                          .block_id = final->id},
                         key_of(9, base::crypto::KeyType::k1),
                         {}};
        vote.data.block_id.bytes[31] = std::byte{block};
        vote.signature.compact[0] = std::byte{31};
        vote.signature.compact[64] = std::byte{nonce};
        return vote;
    }
    [[nodiscard]] chain::BlockId unknown(std::uint8_t number) const {
        chain::BlockId id = final->id;
        id.bytes[3] = std::byte{3};  // The next height.
        id.bytes[30] = std::byte{number};
        return id;
    }
};

}  // namespace

// An observer names a block that does not exist and is asked for it. With that correlation it may
// say whatever it likes, as often as it likes.
TEST_CASE("what is asked for by id lets no votes past their budget", "[bounds]") {
    Bounds test;
    test.name({test.unknown(1)});
    const std::uint64_t correlation = test.asked();
    REQUIRE(correlation != 0);
    std::size_t reached = 0;
    for (chain::Slot slot = 1; slot <= 12'000; ++slot) {
        test.out.clear();
        test.say(test.liar, test.vote(slot, 0, 0), {.correlation = correlation});
        reached += test.judge_votes(Verdict::unsure);
        if (test.is_closed(test.liar)) break;
    }
    CHECK(reached <= 8'200);  // 8,000 at once may come.
}

TEST_CASE("what is asked for by id lets no notices past their budget", "[bounds]") {
    Bounds test;
    test.name({test.unknown(1)});
    const std::uint64_t correlation = test.asked();
    REQUIRE(correlation != 0);
    std::size_t answered = 0;
    for (int i = 0; i < 2'000; ++i) {
        test.out.clear();
        const Notice notice{.finalized = test.point(), .head = test.point()};
        test.say(test.liar, notice, {.correlation = correlation, .flags = kFlagAnswer});
        test.each_sent(
            test.liar, MessageType::notice, [&](const auto&, const auto&) { ++answered; });
        if (test.is_closed(test.liar)) break;
    }
    CHECK(answered <= 300);  // 104 at once may come.
}

TEST_CASE("whoever is asked again and again runs out of budget", "[bounds]") {
    Bounds test;
    std::size_t reached = 0;
    constexpr int kSeconds = 5;
    bool is_closed = false;
    for (int second = 1; second <= kSeconds && !is_closed; ++second) {
        test.out.clear();
        test.name({test.unknown(static_cast<std::uint8_t>(second))});
        const std::uint64_t correlation = test.asked();
        REQUIRE(correlation != 0);
        for (chain::Slot i = 1; i <= 8'000 && !is_closed; ++i) {
            test.out.clear();
            const std::uint8_t flags = i == 8'000 ? kFlagLast : std::uint8_t{0};
            test.say(test.liar,
                     test.vote(static_cast<chain::Slot>(second) * 10'000 + i, 0, 0),
                     {.correlation = correlation, .flags = flags});
            reached += test.judge_votes(Verdict::unsure);
            is_closed = test.is_closed(test.liar);
        }
        test.now += seconds(1);
        test.step(input::Tick{});
    }
    CHECK(is_closed);
    CHECK(reached <= kSeconds * 4'000 + 8'200);
}

// A key may sign one thing as often as it likes, each time with another signature. Two of these
// take the places of the slot, and the vote that convicts it is looked at by nobody.
TEST_CASE("of a key and slot two votes for different blocks are looked at", "[bounds]") {
    Bounds test;
    test.say(test.liar, test.vote(500, 1, 1));
    CHECK(test.judge_votes(Verdict::good) == 1);
    test.out.clear();
    test.say(test.liar, test.vote(500, 1, 2));
    (void)test.judge_votes(Verdict::good);
    test.out.clear();
    test.say(test.honest, test.vote(500, 2, 1));
    CHECK(test.judge_votes(Verdict::good) == 1);
}

// Whoever is registered may say that far more is final. It leaves the first range unanswered, so
// that nothing of the second is looked at, and fills that: an answer has no bound in bytes.
TEST_CASE("the answer to a range takes no more memory than was asked for", "[bounds]") {
    constexpr PeerSlot kLiar = 1;
    constexpr chain::Height kFinal = 10;
    constexpr chain::Height kClaimed = 1'000'000;
    constexpr std::uint32_t kMessage = 8U << 20U;  // With one block of junk.
    const base::Timestamp now(seconds(1'000));
    SyncManager sync{std::optional<Checkpoint>()};
    sync.start(now, {kFinal, {}});
    const auto asks =
        sync.plan(now,
                  {{.slot = kLiar, .first = 1, .last = kClaimed, .round_trip = milliseconds(1)}},
                  kClaimed);
    REQUIRE(asks.size() == 2);
    const SyncManager::Ask& second = asks[1];
    chain::BlockHeader header;
    header.height = second.request.from;
    std::uint64_t taken = 0;
    for (; header.height <= second.request.to; ++header.height) {
        if (!sync.is_asked(kLiar, second.correlation)) break;
        const auto block = chain::make_block({header, {}}, {}, {});
        const Envelope envelope{
            .type = MessageType::blocks, .length = kMessage, .correlation = second.correlation};
        if (sync.on_blocks(now, kLiar, envelope, Blocks{{block}})) break;
        taken += kMessage;
        header.previous = block->id;
    }
    INFO((taken >> 20U) << " MiB were taken");
    CHECK(taken <= kRangeBytesMax + kMessage);
}
