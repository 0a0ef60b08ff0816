#include "p2p/assemblies.hpp"
#include "p2p/budget.hpp"
#include "p2p/network.hpp"
#include "p2p/orphans.hpp"
#include "p2p/seen.hpp"
#include "p2p/sync.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

// What one peer may send, what a question lets through, what goes on of blocks, and what a peer's
// end costs.

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

chain::BlockPtr block_on(const chain::Block& parent, chain::Slot slots, std::uint8_t variant = 0) {
    chain::BlockHeader header;
    header.state_digest.bytes[0] = std::byte{variant};
    header.slot = parent.header.slot + slots;
    header.height = parent.header.height + 1;
    header.previous = parent.id;
    Signature signature;
    signature.compact[0] = std::byte{31};
    return chain::make_block({header, signature}, {}, {});
}

// Transactions of so many bytes together.
std::vector<chain::TransactionReceipt> receipts_of(std::size_t bytes) {
    constexpr std::size_t kEach = std::size_t{128} << 10U;
    std::vector<chain::TransactionReceipt> receipts(bytes / kEach);
    for (chain::TransactionReceipt& receipt : receipts) {
        chain::PackedTransaction packed;
        packed.signatures.resize(1);
        packed.signatures[0].compact[0] = std::byte{31};
        packed.packed_trx.resize(kEach);
        receipt.transaction = std::move(packed);
    }
    return receipts;
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
    void name(std::vector<chain::BlockId> ids) { name(liar, std::move(ids)); }
    void name(ChannelId who, std::vector<chain::BlockId> ids) {
        Notice notice{.finalized = point(), .head = point()};
        const auto count = static_cast<std::uint32_t>(ids.size());
        notice.blocks = {SyncMode::normal, count, std::move(ids)};
        say(who, notice);
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
    // All blocks that came are good, and what then goes on has gone.
    void judge_blocks() {
        std::vector<chain::BlockId> ids;
        for (const Effect& effect : out) {
            const auto* arrived = std::get_if<effect::BlockArrived>(&effect);
            if (arrived != nullptr) ids.push_back(arrived->block->id);
        }
        for (const chain::BlockId& id : ids)
            step(input::Judged{Item::block, id, liar, Verdict::good, {}});
        now += milliseconds(10);
        step(input::Tick{});
    }
    [[nodiscard]] std::size_t count_sent(ChannelId channel, MessageType type) const {
        std::size_t count = 0;
        each_sent(channel, type, [&](const auto&, const auto&) { ++count; });
        return count;
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

// After an outage of some minutes, a member has many past slots of its own above the final block:
// 150 in five minutes with four members, and two good blocks of each.
TEST_CASE("of old blocks an honest node pushes on no more than its peers let pass", "[bounds]") {
    Bounds test;
    std::map<chain::BlockId, chain::BlockPtr> blocks;
    std::vector<chain::BlockId> ids;
    for (chain::Slot slot = 1; slot <= 300; ++slot) {
        const auto block = block_on(*test.final, slot);
        blocks[block->id] = block;
        ids.push_back(block->id);
    }
    Budget budget(500);  // Of the honest peer, for what this node sends.
    std::size_t headers = 0;
    std::size_t over = 0;
    test.name(ids);
    for (int i = 0; i < 400; ++i) {
        test.judge_blocks();
        for (const MessageType type : {MessageType::blocks, MessageType::header}) {
            const std::size_t sent = test.count_sent(test.honest, type);
            if (type == MessageType::header) headers += sent;
            for (std::size_t each = 0; each < sent; ++each)
                over += budget.take_message(test.now, type) ? 0U : 1U;
        }
        for (const Effect& effect : std::exchange(test.out, {})) {
            const auto* send = std::get_if<effect::Send>(&effect);
            if (send == nullptr || send->channel != test.liar) continue;
            const auto envelope = read_envelope(*send->bytes);
            if (envelope->type != MessageType::request) continue;
            const auto body = read_body(*envelope, *send->bytes);
            Blocks answer;
            for (const chain::BlockId& id : std::get<Request>(*body).ids)
                answer.blocks.push_back(blocks.at(id));
            test.say(test.liar, answer, {.correlation = envelope->correlation, .flags = kFlagLast});
        }
    }
    CHECK(over == 0);
    CHECK(headers >= 64);  // By which the others know whom to ask.
    // What comes of this slot goes on at once, whatever came before.
    test.say(test.liar, Blocks{{block_on(*test.final, 301)}});
    test.judge_blocks();
    CHECK(test.count_sent(test.honest, MessageType::blocks) == 1);
}

// It answers each question at once, a millisecond later: with nothing, or with one block of those
// that it named, whose parent does not exist.
TEST_CASE("who names blocks without end is asked for so many a second, and so many bytes",
          "[bounds]") {
    Bounds test;
    const std::size_t bytes = GENERATE(std::size_t{0}, std::size_t{2} << 20U);
    std::map<chain::BlockId, chain::BlockHeader> headers;
    chain::BlockHeader header = block_on(*test.final, 1)->header;
    header.previous = test.unknown(1);
    Budget honest(500);  // Of a peer, for what this node sends.
    std::size_t requests = 0;
    std::size_t over = 0;
    std::size_t answered = 0;
    for (std::uint32_t step = 0; step < 1'000; ++step) {
        test.now += milliseconds(1);
        test.step(input::Tick{});
        if (step % 50 == 0) {
            std::vector<chain::BlockId> ids;
            for (std::uint32_t i = 0; i < 1'024; ++i) {
                const std::uint32_t number = step * 1'024 + i;
                std::memcpy(header.state_digest.bytes.data(), &number, sizeof number);
                ids.push_back(header.id());
                headers[ids.back()] = header;
            }
            test.name(std::move(ids));
        }
        for (const Effect& effect : std::exchange(test.out, {})) {
            const auto* send = std::get_if<effect::Send>(&effect);
            if (send == nullptr || send->channel != test.liar) continue;
            const auto envelope = read_envelope(*send->bytes);
            if (envelope->type != MessageType::request) continue;
            ++requests;
            over += honest.take_message(test.now, MessageType::request) ? 0U : 1U;
            const auto body = read_body(*envelope, *send->bytes);
            Blocks answer;
            for (const chain::BlockId& id : std::get<Request>(*body).ids) {
                if (bytes == 0 || !headers.contains(id)) continue;
                answer.blocks = {chain::make_block({headers.at(id), {}}, receipts_of(bytes), {})};
                break;
            }
            answered += bytes;
            test.say(test.liar, answer, {.correlation = envelope->correlation, .flags = kFlagLast});
        }
    }
    CHECK(requests >= 20);
    CHECK(requests <= 120);
    CHECK(over == 0);
    CHECK(answered <= std::size_t{68} << 20U);
    CHECK_FALSE(test.is_closed(test.liar));
}

TEST_CASE("an answer by id ends after as many bytes as are sent at most", "[bounds]") {
    Bounds test;
    std::vector<chain::BlockId> ids;
    for (std::uint8_t i = 0; i < 40; ++i)
        ids.push_back(block_on(*test.final, 5, i)->id);
    test.name(ids);
    const std::uint64_t correlation = test.asked();
    REQUIRE(correlation != 0);
    const auto receipts = receipts_of(2U << 20U);
    std::size_t arrived = 0;
    for (std::uint8_t i = 0; i < 40; ++i) {
        const chain::Block header = *block_on(*test.final, 5, i);
        const auto block = chain::make_block({header.header, header.signature}, receipts, {});
        test.out.clear();
        test.say(test.liar, Blocks{{block}}, {.correlation = correlation});
        for (const Effect& effect : test.out)
            arrived += std::holds_alternative<effect::BlockArrived>(effect) ? 1U : 0U;
    }
    CHECK(arrived >= 2);
    CHECK(arrived <= 6);
    CHECK_FALSE(test.is_closed(test.liar));
}

TEST_CASE("of a producer and slot two blocks are pushed on", "[bounds]") {
    Bounds test;
    for (std::uint8_t variant = 0; variant < 9; ++variant)
        test.say(test.liar, Blocks{{block_on(*test.final, 5, variant)}});
    test.judge_blocks();
    CHECK(test.count_sent(test.honest, MessageType::blocks) == 2);
    CHECK(test.count_sent(test.honest, MessageType::header) == 2);
}

TEST_CASE("the header of an old block goes on, and who lacks it asks for it", "[bounds]") {
    Bounds test;
    test.say(test.liar, Blocks{{block_on(*test.final, 100)}});
    test.judge_blocks();
    test.out.clear();
    const auto old = block_on(*test.final, 10);
    test.say(test.liar, Blocks{{old}});
    test.judge_blocks();
    CHECK(test.count_sent(test.honest, MessageType::blocks) == 0);
    CHECK(test.count_sent(test.honest, MessageType::header) == 1);
    test.out.clear();
    test.say(test.honest, Request{Wanted::blocks, {old->id}}, {.correlation = 7});
    std::vector<chain::BlockId> read;
    for (const Effect& effect : test.out) {
        if (const auto* wanted = std::get_if<effect::ReadBlocks>(&effect)) read = wanted->ids;
    }
    CHECK(read == std::vector{old->id});
}

TEST_CASE("who sent a child is asked for its parent, whoever else was asked before", "[bounds]") {
    Bounds test;
    const auto parent = block_on(*test.final, 1);
    const auto child = block_on(*parent, 1);
    const bool was_asked = GENERATE(false, true);
    test.say(test.liar, HeaderPush{{parent->header, parent->signature}, {}});
    if (was_asked) test.name({parent->id});
    if (was_asked) test.now += milliseconds(250);
    test.step(input::Tick{});
    CHECK(test.count_sent(test.liar, MessageType::request) == (was_asked ? 1 : 0));
    test.out.clear();
    test.say(test.honest, Blocks{{child}});
    CHECK(test.count_sent(test.honest, MessageType::request) == 1);
}

TEST_CASE("of those who name a block and do not send it twice as many are asked each time",
          "[bounds]") {
    Bounds test;
    const auto block = block_on(*test.final, 1);
    input::RegistryChanged registry;
    std::vector<ChannelId> liars;
    for (std::uint8_t number = 10; number < 25; ++number) {
        registry.nodes.push_back({key_of(number), *chain::Name::from_string("orga"), kObserver});
        liars.push_back(ChannelId{number});
    }
    test.step(registry);
    for (const ChannelId liar : liars)
        test.greet(liar, static_cast<std::uint8_t>(liar.value));
    // A question waits at most a second, however long their answers to heartbeats take.
    test.now += milliseconds(100);
    test.step(input::Tick{});
    const std::int64_t asked = test.now.time_since_epoch().count();
    test.now += milliseconds(900);
    for (const ChannelId liar : liars)
        test.say(liar, TimeStamps{.origin = asked, .receive = asked, .transmit = asked});
    test.out.clear();
    std::vector<std::size_t> rounds;
    for (const ChannelId liar : liars)
        test.say(liar, HeaderPush{{block->header, block->signature}, {}});
    test.now += milliseconds(200);  // For the block itself.
    test.step(input::Tick{});
    for (int round = 0; round < 5; ++round) {
        std::size_t count = 0;
        for (const ChannelId liar : liars)
            count += test.count_sent(liar, MessageType::request);
        rounds.push_back(count);
        test.out.clear();
        test.now += seconds(1);
        test.step(input::Tick{});
    }
    CHECK(rounds == std::vector<std::size_t>{1, 2, 4, 8, 0});
}

TEST_CASE("who names a block has it", "[bounds]") {
    Bounds test;
    const auto block = block_on(*test.final, 1);
    test.say(test.liar, HeaderPush{{block->header, block->signature}, {}});
    test.name(test.honest, {block->id});
    test.out.clear();
    test.say(test.liar, Blocks{{block}});
    test.judge_blocks();
    CHECK(test.count_sent(test.honest, MessageType::blocks) == 0);
    CHECK(test.count_sent(test.honest, MessageType::header) == 0);
}

// Many small parts take several times as much in memory as in a message.
TEST_CASE("blocks that wait take as much memory as is counted", "[bounds]") {
    const auto many = [](chain::Slot slots) {
        chain::Block block = *block_on(*block_on({}, 1), 1);
        chain::PackedTransaction small;
        small.signatures.resize(1);
        block.transactions.resize(10'000);
        for (chain::TransactionReceipt& receipt : block.transactions)
            receipt.transaction = small;
        block.header.slot += slots;
        block.id = block.header.id();
        return std::make_shared<const chain::Block>(std::move(block));
    };
    constexpr std::size_t kLeast = sizeof(chain::TransactionReceipt) + sizeof(chain::Signature);
    Orphans orphans;
    std::size_t kept = 0;
    for (chain::Slot i = 0; i < Orphans::kBlocksMax; ++i)
        kept += orphans.add(1, many(i), {}) ? 1U : 0U;
    CHECK(kept > 0);
    CHECK(kept * 10'000 * kLeast <= Orphans::kBytesMax);
}

// Nobody looks whose slot it is before all of it is there.
TEST_CASE("blocks that wait for transactions take bounded memory", "[bounds]") {
    const auto assembly_of = [](PeerSlot from, std::size_t bytes) {
        Assembly assembly{.from = from, .block = *block_on(*block_on({}, 1), 1)};
        chain::PackedTransaction filler;
        filler.packed_trx.resize(bytes);
        assembly.block.transactions.resize(2);
        assembly.block.transactions[0].transaction = std::move(filler);
        assembly.missing.emplace(base::Hash256{}, 1);
        return assembly;
    };
    const auto id_of = [](std::uint8_t number) {
        chain::BlockId id;
        id.bytes[31] = std::byte{number};
        return id;
    };
    constexpr std::size_t kMessage = 7U << 20U;
    Assemblies assemblies;
    std::vector<Assemblies::Gone> gone;
    std::size_t kept = 0;
    for (std::uint8_t i = 0; i < 16; ++i)
        kept += assemblies.add(id_of(i), assembly_of(1, kMessage), gone) ? 1U : 0U;
    CHECK(kept == Assemblies::kBytesMax / kMessage);
    CHECK(gone.empty());
    // Another peer's has room all the same, and what fills it is counted.
    REQUIRE(assemblies.add(id_of(99), assembly_of(2, kMessage), gone));
    REQUIRE(gone.size() == 1);
    CHECK(gone.front().from == 1);
    chain::PackedTransaction transaction;
    transaction.packed_trx.resize(kMessage);
    CHECK_FALSE(assemblies.fill(assemblies.entries().at(id_of(99)), 1, transaction));
    transaction.packed_trx.resize(1'000);
    CHECK(assemblies.fill(assemblies.entries().at(id_of(99)), 1, transaction));
    // What is gone leaves its room.
    assemblies.forget(1);
    assemblies.erase(id_of(99));
    kept = 0;
    for (std::uint8_t i = 0; i < 16; ++i)
        kept += assemblies.add(id_of(i), assembly_of(3, kMessage), gone) ? 1U : 0U;
    CHECK(kept == Assemblies::kBytesMax / kMessage);
}

TEST_CASE("a block that names one transaction without end is not made of it", "[bounds]") {
    Bounds test;
    chain::PackedTransaction transaction;
    transaction.packed_trx.resize(50'000);
    test.say(test.liar, transaction);
    chain::Block block = *block_on(*test.final, 1);
    block.transactions.resize(1'000);
    for (chain::TransactionReceipt& receipt : block.transactions)
        receipt.transaction = chain::TransactionId{transaction.packed_digest()};
    test.out.clear();
    test.say(test.liar, Blocks{{std::make_shared<const chain::Block>(block)}});
    for (const Effect& effect : test.out)
        CHECK_FALSE(std::holds_alternative<effect::BlockArrived>(effect));
    for (const PeerStatus& peer : test.network->status().peers)
        CHECK((peer.score < 100) == (peer.channel == test.liar));
}

TEST_CASE("of a peer that is gone nothing is left to the next one in its place", "[bounds]") {
    SeenTable<int> table({8, 100});
    const auto id_of = [](std::uint8_t number) {
        base::Hash256 id;
        id.bytes[0] = std::byte{number};
        return id;
    };
    for (std::uint8_t i = 0; i < 4; ++i) {
        auto& entry = table.insert(id_of(i), i);
        for (const PeerSlot slot : {3U, 4U}) {
            entry.holders.add(slot);
            entry.told.add(slot);
        }
    }
    table.forget(3);
    CHECK_FALSE(table.has(id_of(0), 3));
    CHECK(table.has(id_of(0), 4));
    auto* entry = table.find(id_of(0));
    CHECK_FALSE((entry->holders.has(3) || entry->told.has(3)));
    CHECK((entry->holders.has(4) && entry->told.has(4)));
    entry->holders.add(3);  // The next one has it.
    CHECK(table.has(id_of(0), 3));
    table.forget(4);
    CHECK(table.find(id_of(0))->holders.has(3));
    CHECK_FALSE(table.find(id_of(0))->holders.has(4));
    table.newest(
        8,
        [](const auto& each) { return each.holders.has(3) || each.holders.has(4); },
        [&](const base::Hash256& id, const auto&) { CHECK(id == id_of(0)); });
    CHECK(table.insert(id_of(9), 9).holders.empty());
}

// Whoever comes and goes without end must not stall a node whose tables are full.
TEST_CASE("that a peer goes takes no longer with full tables", "[bounds]") {
    constexpr std::size_t kEntries = 65'536;
    SeenTable<int> table({kEntries, ~std::size_t{0}});
    for (std::size_t i = 0; i < kEntries; ++i) {
        base::Hash256 id;
        for (std::size_t at = 0; at < 4; ++at)
            id.bytes[at] = static_cast<std::byte>(i * 2'654'435'761U >> (8 * at));
        table.insert(id, 0).holders.add(5);
    }
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 3'000; ++i)
        table.forget(5);
    CHECK(std::chrono::steady_clock::now() - begin < seconds(1));
}
