#include "p2p/orphans.hpp"
#include "p2p/stranger.hpp"
#include "p2p/wants.hpp"

#include <catch2/catch.hpp>

// Bad input: every message cut short, too long, changed, said twice, out of order, before its
// time and at a thousand times the rate. It costs the sender, never the node.

namespace {

using namespace p2p;        // NOLINT(google-build-using-namespace): the tests are about it.
using namespace p2p::test;  // NOLINT(google-build-using-namespace): as above.

// One of each type, as an honest peer would say it.
std::vector<std::pair<Body, Mark>> one_of_each(const Stranger& test) {
    const auto block = block_on(*test.ledger.head, {.transactions = {transaction_of(3)}});
    Notice notice = test.notice();
    notice.transactions = {SyncMode::normal, 1, {transaction_of(9).packed_digest()}};
    notice.blocks = {SyncMode::normal, 1, {block->id}};
    chain::Certificate certificate = certificate_of(*block, chain::VoteKind::commit);
    return {{test.hello(), {}},
            {notice, {}},
            {GoAway{Reason::twin_key, "text", {vote_key_of(1), vote_key_of(2)}}, {}},
            {TimeStamps{.transmit = 5}, {}},
            {Request{Wanted::blocks, {block->id}}, {.correlation = 1}},
            {SyncRequest{.from = 2, .to = 5}, {.correlation = 2}},
            {SyncRequest{.from = 2, .to = 5, .trusted = 3},
             {.correlation = 2, .flags = kFlagCertified}},
            {HeaderPush{{block->header, block->signature}, {{}, certificate}}, {}},
            {Blocks{{block}}, {}},
            {transaction_of(4), {}},
            {vote_of(*block, 5), {}},
            {certificate, {}},
            {SnapshotRequest{.piece = {.part = SnapshotPart::chunk, .index = 1}}, {}},
            {SnapshotChunk{
                 .piece = {.index = 1}, .is_known = true, .count = 2, .bytes = base::Bytes(100)},
             {}},
            {Ack{.messages = 7}, {}},
            {ClockStatement{.key = test.options.vote_keys.front(), .life = 1, .shown = 5}, {}},
            {range_proof_of(*block, 4), {.correlation = 2}}};
}

TEST_CASE("every message is read as it was written, and its length is exact") {
    const Stranger test;
    for (const auto& [body, mark] : one_of_each(test)) {
        const SharedBytes bytes = pack_message(body, mark);
        const auto envelope = read_envelope(*bytes);
        REQUIRE(envelope.has_value());
        CHECK(envelope->type == type_of(body));
        CHECK(envelope->correlation == mark.correlation);
        const auto read = read_body(*envelope, *bytes);
        REQUIRE(read.has_value());
        CHECK(*pack_message(*read, mark) == *bytes);
    }
}

TEST_CASE("what is large travels beside what is urgent") {
    using transport::Lane;
    for (int i = 1; i < static_cast<int>(kMessageTypes); ++i) {
        const auto type = static_cast<MessageType>(i);
        const bool is_data = type == MessageType::blocks || type == MessageType::transaction ||
                             type == MessageType::snapshot_chunk ||
                             type == MessageType::range_proof;
        CHECK(carriage_of(type).lane == (is_data ? Lane::data : Lane::control));
        CHECK(kEnvelopeBytes + carriage_of(type).body_bytes_max <= transport::kMessageBytesMax);
    }
    CHECK(carriage_of(MessageType::vote).priority == 0);
    CHECK(carriage_of(MessageType::certificate).priority == 0);
    CHECK(carriage_of(MessageType::header).priority == 1);
    CHECK(carriage_of(MessageType::blocks).priority == 3);
    CHECK(carriage_of(MessageType::range_proof).priority == kSyncPriority);
}

TEST_CASE("every message cut short at every length is refused") {
    const Stranger test;
    for (const auto& [body, mark] : one_of_each(test)) {
        const SharedBytes bytes = pack_message(body, mark);
        for (std::size_t size = 0; size < bytes->size(); ++size) {
            base::Bytes cut(bytes->begin(), bytes->begin() + static_cast<std::ptrdiff_t>(size));
            CHECK_FALSE(read_envelope(cut).has_value());
            if (size < kEnvelopeBytes) continue;
            // With a length that agrees it is the body that does not decode.
            const std::size_t length = size - kEnvelopeBytes;
            for (std::size_t i = 0; i < 4; ++i) {
                cut[4 + i] = static_cast<std::byte>(length >> (8 * i) & 0xFFU);
            }
            const auto envelope = read_envelope(cut);
            REQUIRE(envelope.has_value());
            CHECK_FALSE(read_body(*envelope, cut).has_value());
        }
    }
}

TEST_CASE("every message with a byte too many, or beyond its type's limit, is refused") {
    const Stranger test;
    for (const auto& [body, mark] : one_of_each(test)) {
        base::Bytes bytes = *pack_message(body, mark);
        bytes.push_back(std::byte{0});
        CHECK_FALSE(read_envelope(bytes).has_value());
        const auto set_length = [&bytes] {
            const std::size_t length = bytes.size() - kEnvelopeBytes;
            for (std::size_t i = 0; i < 4; ++i) {
                bytes[4 + i] = static_cast<std::byte>(length >> (8 * i) & 0xFFU);
            }
        };
        set_length();
        const auto envelope = read_envelope(bytes);
        if (envelope) CHECK_FALSE(read_body(*envelope, bytes).has_value());
        bytes.resize(kEnvelopeBytes + carriage_of(type_of(body)).body_bytes_max + 1);
        set_length();
        CHECK_FALSE(read_envelope(bytes).has_value());
    }
}

TEST_CASE("envelopes of unknown types, versions and flags are refused by name") {
    base::Bytes bytes = *pack_message(Ack{});
    const auto detail = [&bytes] { return read_envelope(bytes).error().detail; };
    SECTION("type 0") {
        bytes[0] = std::byte{0};
        CHECK(detail().find("type") != std::string::npos);
    }
    SECTION("type 17") {
        bytes[0] = std::byte{17};
        CHECK(detail().find("type") != std::string::npos);
    }
    SECTION("flags") {
        bytes[1] = std::byte{0x80};
        CHECK(detail().find("flags") != std::string::npos);
    }
    SECTION("version") {
        bytes[2] = std::byte{2};
        CHECK(detail().find("version") != std::string::npos);
    }
}

TEST_CASE("the flag certified goes with the schedule that is trusted, and with nothing else") {
    const SyncRequest plain{.from = 2, .to = 5};
    const SyncRequest certified{.from = 2, .to = 5, .trusted = 3};
    const std::vector<std::pair<Body, std::uint8_t>> wrong{
        {plain, kFlagCertified}, {certified, 0}, {Ack{}, kFlagCertified}};
    for (const auto& [body, flags] : wrong) {
        const SharedBytes bytes = pack_message(body, {.flags = flags});
        const auto envelope = read_envelope(*bytes);
        REQUIRE(envelope.has_value());
        const auto read = read_body(*envelope, *bytes);
        REQUIRE_FALSE(read.has_value());
        CHECK(read.error().detail.find("flags") != std::string::npos);
    }
}

TEST_CASE("lists beyond their limits are refused before they are read") {
    base::Writer out;
    out.u8(1);
    out.varuint32(kIdsMax + 1);
    out.raw(base::Bytes((kIdsMax + 1) * 32));
    base::Bytes bytes = *pack_message(Request{Wanted::blocks, {base::Hash256{}}});
    bytes.resize(kEnvelopeBytes);
    bytes.insert(bytes.end(), out.view().begin(), out.view().end());
    const std::size_t length = out.view().size();
    for (std::size_t i = 0; i < 4; ++i) {
        bytes[4 + i] = static_cast<std::byte>(length >> (8 * i) & 0xFFU);
    }
    const auto envelope = read_envelope(bytes);
    REQUIRE(envelope.has_value());
    CHECK_FALSE(read_body(*envelope, bytes).has_value());
}

TEST_CASE("nothing but hello is heard before hello") {
    Stranger test;
    for (const auto& [body, mark] : one_of_each(test)) {
        const MessageType type = type_of(body);
        if (type == MessageType::hello || type == MessageType::go_away) continue;
        const ChannelId channel = test.come();
        test.say(channel, body, mark);
        CHECK(test.went(channel, Reason::wrong_version));
        CHECK(test.effects<effect::BlockArrived>().empty());
        CHECK(test.effects<effect::ReadBlocks>().empty());
        test.tick(seconds(31));  // Who did that is not talked to for a while.
    }
}

TEST_CASE("hello is said once") {
    Stranger test;
    const ChannelId channel = test.greet();
    test.say(channel, test.hello());
    // The budget lets one through a second; a second later it is out of order.
    CHECK(test.effects<effect::PeerReady>().empty());
    test.tick(seconds(2));
    test.say(channel, test.hello());
    CHECK(test.went(channel, Reason::wrong_version));
}

TEST_CASE("every message changed at every byte neither ends nor fools the node") {
    for (std::size_t which = 0; which < 14; ++which) {
        Stranger test;
        ChannelId channel = test.greet();
        const auto [body, mark] = one_of_each(test).at(which);
        const base::Bytes good = *pack_message(body, mark);
        for (std::size_t at = 0; at < good.size(); ++at) {
            for (const unsigned flip : {0x01U, 0x80U, 0xFFU}) {
                base::Bytes bytes = good;
                bytes[at] ^= std::byte{static_cast<unsigned char>(flip)};
                test.say_bytes(channel, bytes);
                if (!test.closed(channel)) continue;
                test.tick(seconds(31));
                channel = test.greet();
            }
        }
        CHECK(test.network->status().peers.size() <= 1);
    }
}

TEST_CASE("what is said twice reaches the ledger once") {
    Stranger test;
    const ChannelId channel = test.greet();
    const auto block = block_on(*test.ledger.head);
    for (int i = 0; i < 3; ++i) {
        test.say(channel, HeaderPush{{block->header, block->signature}, {}});
        test.say(channel, Blocks{{block}});
        test.say(channel, transaction_of(1));
        test.say(channel, vote_of(*block, 5));
        test.say(channel, certificate_of(*block, chain::VoteKind::commit));
    }
    CHECK(test.effects<effect::HeaderArrived>().size() == 1);
    CHECK(test.effects<effect::BlockArrived>().size() == 1);
    CHECK(test.effects<effect::TransactionArrived>().size() == 1);
    CHECK(test.effects<effect::VoteArrived>().size() == 1);
    CHECK(test.effects<effect::CertificateArrived>().size() == 1);
    CHECK(test.network->status().duplicates_dropped == 10);
    CHECK_FALSE(test.closed(channel));
}

TEST_CASE("a child that comes before its parent waits for it") {
    Stranger test;
    const ChannelId channel = test.greet();
    const auto parent = block_on(*test.ledger.head);
    const auto child = block_on(*parent);
    test.say(channel, Blocks{{child}});
    CHECK(test.effects<effect::BlockArrived>().empty());
    const auto heard = test.heard(channel);
    REQUIRE(!heard.empty());
    CHECK(std::get<Request>(heard.back()).ids == std::vector<chain::BlockId>{parent->id});
    test.say(channel, Blocks{{parent}});
    const auto arrived = test.effects<effect::BlockArrived>();
    REQUIRE(arrived.size() == 2);
    CHECK(arrived[0].block->id == parent->id);
    CHECK(arrived[1].block->id == child->id);
}

TEST_CASE("a false copy of a block does not keep the good one out") {
    Stranger test;
    const ChannelId liar = test.greet();
    const ChannelId honest = test.greet({.number = 6});
    const auto good = block_on(*test.ledger.head, {.transactions = {transaction_of(1)}});
    auto lie = std::make_shared<chain::Block>(*good);
    SECTION("another body") {
        lie->transactions.front().transaction = transaction_of(2);
        test.say(liar, Blocks{{lie}});
        test.say(honest, Blocks{{good}});  // It was dropped: one copy is with the ledger.
        test.out.clear();
        test.step(input::Judged{Item::block, good->id, liar, Verdict::bad, "wrong root"});
        CHECK(test.went(liar, Reason::bad_block));
        const auto heard = test.heard(honest);
        REQUIRE(heard.size() == 1);
        CHECK(std::get<Request>(heard.front()).ids == std::vector<chain::BlockId>{good->id});
    }
    SECTION("transactions that do not exist") {
        lie->transactions.front().transaction = chain::TransactionId{};
        test.say(liar, Blocks{{lie}});
        CHECK(test.effects<effect::BlockArrived>().empty());
        test.say(honest, Blocks{{good}});
        CHECK(test.effects<effect::BlockArrived>().size() == 1);
    }
}

TEST_CASE("a missing transaction of a pushed block is fetched, or the block is as a whole") {
    Stranger test;
    const ChannelId channel = test.greet();
    const auto block = block_on(*test.ledger.head, {.transactions = {transaction_of(1)}});
    auto push = std::make_shared<chain::Block>(*block);
    push->transactions.front().transaction = transaction_of(1).packed_digest();
    test.say(channel, Blocks{{push}});
    const auto heard = test.heard(channel);
    REQUIRE(heard.size() == 1);
    const auto request = std::get<Request>(heard.front());
    CHECK(request.wanted == Wanted::transactions);
    CHECK(request.ids == std::vector<base::Hash256>{transaction_of(1).packed_digest()});
    SECTION("it comes") {
        test.say(channel, transaction_of(1));
        const auto arrived = test.effects<effect::BlockArrived>();
        REQUIRE(arrived.size() == 1);
        CHECK(chain::encode_block(*arrived.front().block) == chain::encode_block(*block));
    }
    SECTION("it does not") {
        test.out.clear();
        test.tick(seconds(1));
        bool is_asked = false;
        for (const Body& body : test.heard(channel)) {
            const auto* asked = std::get_if<Request>(&body);
            is_asked |= asked != nullptr && asked->wanted == Wanted::blocks &&
                        asked->ids == std::vector<chain::BlockId>{block->id};
        }
        CHECK(is_asked);
    }
}

TEST_CASE(
    "who names transactions that do not exist keeps no block of others from being put together") {
    Stranger test;
    const ChannelId hostile = test.greet();
    const ChannelId honest = test.greet({.number = 6});
    const auto named = [&](std::uint32_t number) {
        BlockOptions options{.transactions = {transaction_of(number)}, .slots = number};
        auto block = std::make_shared<chain::Block>(*block_on(*test.ledger.head, options));
        block->transactions.front().transaction = transaction_of(number).packed_digest();
        return block;
    };
    for (std::uint32_t i = 1; i <= 40; ++i)
        test.say(hostile, Blocks{{named(i)}});
    REQUIRE_FALSE(test.closed(hostile));
    test.out.clear();
    test.say(honest, Blocks{{named(50)}});
    bool is_asked = false;
    for (const Body& body : test.heard(honest)) {
        const auto* asked = std::get_if<Request>(&body);
        is_asked |= asked != nullptr && asked->wanted == Wanted::transactions;
    }
    CHECK(is_asked);
}

TEST_CASE("a thousand times the rate costs the connection, and little else") {
    for (std::size_t which = 0; which < 14; ++which) {
        Stranger test;
        ChannelId channel = test.greet();
        const auto [body, mark] = one_of_each(test).at(which);
        const MessageType type = type_of(body);
        // Hello twice, and goodbye, end it anyway.
        if (type == MessageType::hello || type == MessageType::go_away) continue;
        const SharedBytes bytes = pack_message(body, mark);
        std::size_t said = 0;
        while (!test.closed(channel) && said < 200'000) {
            test.say_bytes(channel, *bytes);
            ++said;
        }
        INFO(to_string(type));
        CHECK(test.went(channel, Reason::flooding));
        // What reached the ledger or went out is bounded by the budget.
        CHECK(test.effects<effect::ReadBlocks>().size() <= 17);
        CHECK(test.effects<effect::Send>().size() <= 500);
    }
}

TEST_CASE("votes of one key take the place of its own alone, and of a slot two are looked at") {
    Stranger test;
    const ChannelId channel = test.greet();
    const auto say = [&](std::size_t key, chain::Slot slot, unsigned variant) {
        chain::Vote vote = vote_of(*test.ledger.head, key);
        vote.data.slot = slot;
        vote.data.block_id.bytes[31] = static_cast<std::byte>(variant);
        test.out.clear();
        test.say(channel, vote);
        const auto arrived = test.effects<effect::VoteArrived>();
        if (arrived.empty()) return false;
        test.step(input::Judged{Item::vote, arrived.front().id, channel, Verdict::good, {}});
        return true;
    };
    CHECK(say(4, 3, 0));
    CHECK(say(5, 10, 0));
    CHECK(say(5, 10, 1));
    CHECK_FALSE(say(5, 10, 2));
    CHECK_FALSE(say(5, 10, 0));  // It is known.
    for (unsigned i = 0; i < 100; ++i)
        CHECK(say(5, 1'000 + i, 0));
    CHECK_FALSE(say(5, 10, 3));  // Older than all that is kept of its key.
    CHECK_FALSE(say(4, 3, 0));   // Still known: the other key's votes are no concern of its.
}

TEST_CASE("keys that voted once keep out none that votes now") {
    Stranger test;
    const ChannelId channel = test.greet();
    constexpr std::size_t kKeys = 600;  // More than are kept.
    for (std::size_t key = 10; key < 10 + kKeys; ++key) {
        chain::Vote vote = vote_of(*test.ledger.head, key);
        vote.data.slot = key;
        test.out.clear();
        test.say(channel, vote);
        const auto arrived = test.effects<effect::VoteArrived>();
        REQUIRE(arrived.size() == 1);
        test.step(input::Judged{Item::vote, arrived.front().id, channel, Verdict::good, {}});
        test.tick(milliseconds(10));
    }
    const ChannelId voter = test.come({.number = 6});
    Hello hello = test.hello();
    test.claim(hello, voter, {.vote_key = 9 + kKeys}, 6);
    test.out.clear();
    test.say(voter, hello);
    std::vector<chain::Vote> told;
    for (const Body& body : test.heard(voter)) {
        const auto* notice = std::get_if<Notice>(&body);
        if (notice != nullptr) told = notice->newest_votes;
    }
    REQUIRE(told.size() == 1);
    CHECK(told.front().data.slot == 9 + kKeys);
}

TEST_CASE("different votes, transactions and blocks without end stay within bounds") {
    Stranger test;
    const ChannelId channel = test.greet();
    std::size_t said = 0;
    SECTION("transactions that the ledger has no time to judge") {
        for (std::uint32_t i = 0; i < 20'000; ++i, ++said)
            test.say(channel, transaction_of(i));
        CHECK(test.effects<effect::TransactionArrived>().size() == 8'192);
    }
    SECTION("votes") {
        for (std::uint32_t i = 0; i < 1'500; ++i, ++said) {
            chain::Vote vote = vote_of(*test.ledger.head, 5);
            vote.data.slot = i;
            test.say(channel, vote);
        }
        CHECK(test.effects<effect::VoteArrived>().size() == 1'500);
    }
    SECTION("headers far ahead") {
        auto header = block_on(*test.ledger.head)->header;
        header.height += 1'000;
        for (std::uint32_t i = 0; i < 60; ++i, ++said) {
            header.slot = 1'000 + i;
            test.say(channel, HeaderPush{{header, signature_of(1)}, {}});
        }
        CHECK(test.effects<effect::HeaderArrived>().empty());
    }
    SECTION("orphans") {
        for (std::uint32_t i = 0; i < 60; ++i, ++said) {
            auto orphan = *block_on(*test.ledger.head);
            orphan.header.previous.bytes[31] = static_cast<std::byte>(i);
            orphan.id = orphan.header.id();
            test.say(channel, Blocks{{std::make_shared<const chain::Block>(orphan)}});
        }
        CHECK(test.effects<effect::BlockArrived>().empty());
    }
    CHECK(said == test.network->status().peers.at(0).messages_received - 2);
}

// A block whose parent nobody has, with so many transactions of 256 KiB.
chain::BlockPtr orphan_of(const Stranger& test, unsigned number, std::size_t transactions) {
    BlockOptions options;
    for (unsigned i = 0; i < transactions; ++i)
        options.transactions.push_back(transaction_of(number * 100 + i, std::size_t{256} << 10U));
    auto orphan = *block_on(*test.ledger.head, options);
    orphan.header.previous.bytes[30] = static_cast<std::byte>(number >> 8U);
    orphan.header.previous.bytes[31] = static_cast<std::byte>(number);
    orphan.id = orphan.header.id();
    return std::make_shared<const chain::Block>(orphan);
}

TEST_CASE("who fills the place of blocks that wait for a parent keeps out nobody else's") {
    Stranger test;
    const ChannelId hostile = test.greet();
    const ChannelId honest = test.greet({.number = 6});
    const auto parent = block_on(*test.ledger.head);
    const auto child = block_on(*parent);
    const auto fill = [&](unsigned count, std::size_t transactions) {
        for (unsigned i = 0; i < count; ++i) {
            test.say(hostile, Blocks{{orphan_of(test, i, transactions)}});
            test.tick(milliseconds(40));
        }
    };
    SECTION("in number") {
        fill(100, 0);
    }
    SECTION("in bytes") {
        fill(40, 8);
    }
    REQUIRE_FALSE(test.closed(hostile));
    test.say(honest, Blocks{{child}});
    test.out.clear();
    test.say(honest, Blocks{{parent}});
    const auto arrived = test.effects<effect::BlockArrived>();
    REQUIRE(arrived.size() == 2);
    CHECK(arrived[1].block->id == child->id);
}

TEST_CASE("blocks that wait for a parent are bounded in number and bytes") {
    Orphans orphans;
    const auto parent = genesis();
    std::size_t kept = 0;
    const std::size_t bytes = GENERATE(std::size_t{0}, std::size_t{1} << 20U);
    for (unsigned i = 0; i < 100; ++i) {
        BlockOptions options;
        if (bytes > 0) options.transactions = {transaction_of(i, bytes)};
        options.slots = i + 1;
        if (orphans.add(1, block_on(*parent, options), {})) ++kept;
    }
    CHECK(kept == (bytes == 0 ? Orphans::kBlocksMax : 63));
    CHECK(orphans.take_children(parent->id).size() == kept);
    CHECK(orphans.add(1, block_on(*parent), {}));
}

TEST_CASE("who names blocks that do not exist keeps nobody from naming those that do") {
    Wants wants;
    chain::BlockId id;
    const auto name = [&](PeerSlot slot, std::size_t number) {
        id.bytes[1] = static_cast<std::byte>(slot);
        id.bytes[2] = static_cast<std::byte>(number >> 8U);
        id.bytes[3] = static_cast<std::byte>(number);
        wants.add(id, PeerSet::of(slot), {});
        return wants.entries().contains(id);
    };
    for (PeerSlot slot = 0; slot < 10; ++slot) {
        for (std::size_t i = 0; i < 2 * Wants::kOfPeerMax; ++i)
            (void)name(slot, i);
    }
    CHECK(wants.entries().size() == Wants::kMax);
    CHECK(name(20, 1));
    CHECK(wants.entries().size() == Wants::kMax);
    wants.forget(0);
    wants.forget(1);
    CHECK(name(0, 5'000));
    // Who comes to the place of one that is gone has named none of its blocks, and loses none.
    wants.forget(0);
    REQUIRE(name(0, 6'000));
    std::size_t named = 0;
    for (auto at = wants.entries().begin(); at != wants.entries().end();) {
        named += wants.current(at->second).candidates.has(0) ? 1U : 0U;
        at = at->second.candidates.empty() ? wants.erase(at) : std::next(at);
    }
    CHECK(named == 1);
    for (std::size_t i = 0; i < 1'000; ++i)
        REQUIRE(name(0, 7'000 + i));
}

TEST_CASE("ids that do not exist are asked for once, then forgotten") {
    Stranger test;
    const ChannelId channel = test.greet();
    Notice notice = test.notice();
    for (std::size_t i = 0; i < kIdsMax; ++i) {
        chain::BlockId id = test.ledger.head->id;
        id.bytes[30] = static_cast<std::byte>(i & 0xFFU);
        id.bytes[31] = static_cast<std::byte>(i >> 8U);
        id.bytes[29] = std::byte{77};
        notice.blocks.ids.push_back(id);
    }
    notice.blocks.pending = kIdsMax;
    test.say(channel, notice);
    std::size_t asked = 0;
    for (const Body& body : test.heard(channel)) {
        if (const auto* request = std::get_if<Request>(&body)) asked += request->ids.size();
    }
    CHECK(asked <= 128);
}

TEST_CASE(
    "a block is asked of another when a peer, which dates its round trip as it likes, has it not") {
    Stranger test;
    const ChannelId liar = test.greet();
    const ChannelId honest = test.greet({.number = 6});
    test.tick(seconds(2));
    std::int64_t asked = 0;
    for (const Body& body : test.heard(liar)) {
        if (const auto* stamps = std::get_if<TimeStamps>(&body)) asked = stamps->transmit;
    }
    test.say(liar, TimeStamps{.origin = asked, .receive = std::int64_t{1} << 60U});
    const auto parent = block_on(*test.ledger.head);
    const auto child = block_on(*parent);
    test.say(liar, Blocks{{child}});
    test.say(honest, HeaderPush{{parent->header, parent->signature}, {}});
    const auto is_asked = [&](ChannelId channel) {
        return std::ranges::any_of(test.heard(channel), [&](const Body& body) {
            const auto* request = std::get_if<Request>(&body);
            return request != nullptr && request->ids == std::vector{parent->id};
        });
    };
    REQUIRE(is_asked(liar));
    for (int i = 0; i < 4; ++i) {
        test.tick(seconds(1));
        test.say(liar, test.notice());
        test.say(honest, test.notice());
    }
    CHECK(is_asked(honest));
}

TEST_CASE("time stamps of a liar do no harm") {
    Stranger test;
    const ChannelId channel = test.greet();
    test.tick(seconds(2));
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    std::int64_t asked = 0;
    for (const Body& body : test.heard(channel)) {
        if (const auto* stamps = std::get_if<TimeStamps>(&body)) asked = stamps->transmit;
    }
    REQUIRE(asked != 0);
    for (const std::int64_t stamp : {most, -most, std::int64_t{0}}) {
        test.say(channel, TimeStamps{.origin = asked, .receive = stamp, .transmit = -stamp});
        test.say(channel, TimeStamps{.origin = most, .receive = most, .transmit = most});
    }
    CHECK_FALSE(test.closed(channel));
}

}  // namespace
