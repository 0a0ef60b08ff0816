#include "chain/meta_keys.hpp"
#include "node/core/range_proof.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/observer.hpp"

// A node with trust = certified: blocks of a sync that come with a proof of the last one are
// executed without their signatures, which are looked at once they are stored (spec 05).

namespace {

using p2p::Verdict;
using support::Cluster;

const transport::ChannelId kSender = support::Observer::kSender;
const transport::ChannelId kOther{6};

// A chain of four validators, and an observer that has nothing of it.
struct Play {
    // In slot `unheard` no node hears another.
    explicit Play(std::uint64_t repetitions = 1, chain::Slot unheard = 0)
        : cluster(4, 0, 120, 500, repetitions) {
        cluster.tick_at(1);
        for (chain::Slot slot = 2; slot <= 40; ++slot) {
            if (slot % 3 == 0) {
                const auto name = "user" + std::string(1, static_cast<char>('a' + slot / 3));
                (void)cluster[0].submit(cluster[0].new_account("bank", name));
            }
            if (slot == unheard) cluster.drops = [](std::size_t, std::size_t) { return true; };
            cluster.tick_at(slot);
            cluster.drops = nullptr;
        }
        const auto& source = cluster[0].view();
        last = static_cast<chain::Height>(chain::ids_below(source.finalized->header));
        observer.start_at(source.head->header.slot);
    }
    [[nodiscard]] p2p::effect::RangeArrived range(chain::Height from, chain::Height to) {
        return support::Observer::range(
            cluster[0].storage(), from, to, cluster[0].genesis().schedule.version);
    }
    void give(p2p::Effect content) { observer.give(std::move(content)); }
    [[nodiscard]] std::optional<Verdict> verdict_on(const chain::BlockId& id,
                                                    transport::ChannelId channel = kSender) const {
        for (const auto& answer : observer.answers) {
            if (answer.id == id && answer.channel == channel) return answer.verdict;
        }
        return std::nullopt;
    }
    [[nodiscard]] chain::Height final_height() const {
        return observer.view().finalized->header.height;
    }
    [[nodiscard]] std::size_t rows() {
        std::size_t count = 0;
        const base::Bytes prefix = chain::meta_key(chain::kMetaUnchecked);
        const auto read = observer.storage().scan(
            base::Family::meta, prefix, [&](base::ByteView key, base::ByteView) {
                if (!base::equal(key.first(std::min(key.size(), prefix.size())), prefix))
                    return false;
                ++count;
                return true;
            });
        REQUIRE(read.has_value());
        return count;
    }
    [[nodiscard]] chain::BlockPtr stored(chain::Height height) {
        return chain::BlockReader(observer.storage()).at(height).value();
    }

    Cluster cluster;
    chain::Height last = 0;  // That can be proved: below the newest final block.
    support::Observer observer{cluster[0].genesis()};
};

// The same block, by its id, with another signature.
chain::BlockPtr signed_wrongly(const chain::Block& block) {
    return chain::make_block({block.header, support::key_of(50).sign(block.header.state_digest)},
                             block.transactions,
                             block.witness);
}

// The same block, by its id, with a certificate of which a signature is another.
chain::BlockPtr witnessed_wrongly(const chain::Block& block) {
    chain::Witness witness = block.witness;
    REQUIRE(witness.finalized.has_value());
    witness.finalized->signatures.front() = support::key_of(50).sign(block.header.state_digest);
    return chain::make_block({block.header, block.signature}, block.transactions, witness);
}

// So that of the block that it builds on.
chain::BlockPtr justified_wrongly(const chain::Block& block) {
    chain::Witness witness = block.witness;
    REQUIRE(witness.justify.has_value());
    witness.justify->signatures.front() = support::key_of(50).sign(block.header.state_digest);
    return chain::make_block({block.header, block.signature}, block.transactions, witness);
}

// The same block, by its id, with the digest of a transaction in the place of the transaction.
chain::BlockPtr hollow(const chain::Block& block) {
    REQUIRE_FALSE(block.transactions.empty());
    auto receipts = block.transactions;
    auto& transaction = receipts.front().transaction;
    transaction = std::get<chain::PackedTransaction>(transaction).packed_digest();
    REQUIRE(receipts.front().digest() == block.transactions.front().digest());
    return chain::make_block({block.header, block.signature}, receipts, block.witness);
}

// The place of the first of these blocks, from this one on, that has a transaction.
std::size_t with_transaction(const std::vector<chain::BlockPtr>& blocks, std::size_t from) {
    while (blocks.at(from)->transactions.empty())
        ++from;
    return from;
}

}  // namespace

TEST_CASE("what a proof binds becomes final, and is checked once it is stored", "[ranges]") {
    Play play;
    const auto range = play.range(2, play.last);
    play.give(range);
    CHECK(play.verdict_on(range.blocks.back()->id) == Verdict::good);
    CHECK(play.final_height() >= play.last - 3);
    CHECK(play.observer.view().trouble.empty());
    // Only of the last blocks, which the agreement believes after a restart, keys were recovered.
    CHECK(play.observer.recoveries <= 3);
    CHECK(play.observer.checks == 1);
    CHECK(play.rows() == 0);
    CHECK(play.observer.ledger.served_from == 1);
    CHECK(support::Machine::has_account("userb", *play.observer.view().final_state));
    // It goes on with what follows, without a proof.
    const auto& source = play.cluster[0].view();
    const chain::BlockReader reader(play.cluster[0].storage());
    for (chain::Height height = play.last + 1; height <= source.finalized->header.height; ++height)
        play.give(p2p::effect::BlockArrived{kSender, reader.at(height).value(), false});
    for (const auto& block : source.reversible)
        play.give(p2p::effect::BlockArrived{kSender, block->block, false});
    CHECK(play.observer.view().head->id == source.head->id);
}

TEST_CASE("no range that is proved reaches up to the newest certified block", "[ranges]") {
    Play play;
    base::Storage& storage = play.cluster[0].storage();
    const chain::Height newest = play.cluster[0].view().finalized->header.height;
    REQUIRE(play.last < newest);
    CHECK(node::prove_range(storage, 2, newest + 5, 0)->height() == play.last);
    CHECK_FALSE(node::prove_range(storage, newest, newest, 0).has_value());
}

TEST_CASE("ranges follow each other, and what is here already is passed over", "[ranges]") {
    Play play;
    const chain::Height middle = play.last / 2;
    play.give(play.range(2, middle));
    CHECK(play.final_height() >= middle - 3);
    play.give(play.range(middle - 4, play.last));
    CHECK(play.final_height() >= play.last - 3);
    CHECK(play.observer.view().trouble.empty());
    CHECK(play.rows() == 0);
    const auto again = play.range(2, middle);
    play.observer.answers.clear();
    play.give(again);
    CHECK(play.verdict_on(again.blocks.back()->id) == Verdict::duplicate);
}

TEST_CASE("a range whose proof, links or bodies are wrong costs its sender, and changes nothing",
          "[ranges]") {
    Play play;
    auto range = play.range(2, play.last - 4);
    SECTION("the path leads elsewhere") {
        REQUIRE(range.proof.finality.ancestor.has_value());
        range.proof.finality.ancestor->siblings.front().bytes[0] ^= std::byte{1};
    }
    SECTION("there is no path: votes for the certified block alone do not make it final") {
        const auto& newest = *play.cluster[0].view().finalized;
        REQUIRE(range.proof.finality.certified == newest.header);
        const chain::BlockReader reader(play.cluster[0].storage());
        for (auto height = range.proof.height() + 1; height <= newest.header.height; ++height)
            range.blocks.push_back(reader.at(height).value());
        range.proof.finality.ancestor.reset();
    }
    SECTION("the certificate has too few votes") {
        range.proof.finality.certificate.signatures.pop_back();
    }
    SECTION("the certified header is another") {
        range.proof.finality.certified.finality_root.bytes[3] ^= std::byte{1};
    }
    SECTION("it is of another block") {
        range.blocks.pop_back();
    }
    SECTION("a block is missing") {
        range.blocks.erase(range.blocks.begin() + 5);
    }
    SECTION("a body is another") {
        const chain::BlockPtr kept = range.blocks[6];
        const chain::Block& block = *kept;
        range.blocks[6] =
            chain::make_block({block.header, block.signature},
                              block.transactions.empty() ? range.blocks[7]->transactions
                                                         : std::vector<chain::TransactionReceipt>{},
                              block.witness);
        if (range.blocks[6]->transactions == block.transactions) {
            range.blocks[6] = chain::make_block(
                {block.header, block.signature}, range.blocks[8]->transactions, block.witness);
        }
    }
    SECTION("a witness is missing") {
        const chain::Block& block = *range.blocks[9];
        range.blocks[9] =
            chain::make_block({block.header, block.signature}, block.transactions, {});
    }
    play.give(range);
    CHECK(play.verdict_on(range.blocks.back()->id) == Verdict::bad);
    CHECK(play.final_height() == 1);
    CHECK(play.observer.view().trouble.empty());
    // Another peer has what is right.
    auto good = play.range(2, play.last);
    good.channel = kOther;
    play.give(good);
    CHECK(play.final_height() >= play.last - 3);
}

TEST_CASE("a wrong signature or witness is found in what is stored, and mended from another",
          "[ranges]") {
    Play play;
    auto range = play.range(2, play.last);
    const std::size_t place = with_transaction(range.blocks, 10);
    const chain::BlockPtr right = range.blocks[place];
    const bool is_signature = GENERATE(true, false);
    const chain::BlockPtr wrong = is_signature ? signed_wrongly(*right) : witnessed_wrongly(*right);
    REQUIRE(wrong->id == right->id);
    range.blocks[place] = wrong;
    play.give(range);
    REQUIRE(play.final_height() >= play.last - 3);
    CHECK(play.verdict_on(right->id) == Verdict::bad);
    CHECK(play.observer.wanted == std::vector<chain::BlockId>{right->id});
    CHECK(play.rows() == 1);
    // Until it is mended nobody gets what lies below.
    CHECK(play.observer.ledger.served_from == right->header.height + 1);
    play.observer.step(node::input::FromPeers{
        p2p::effect::ReadBlocks{.ticket = 9, .from = 3, .to = 20, .ids = {}, .is_for_peer = true}});
    REQUIRE(play.observer.reads.size() == 1);
    CHECK(play.observer.reads.front().blocks.empty());

    SECTION("a restart goes on with it") {
        play.observer.stop();
        play.observer.wanted.clear();
        play.observer.start();
        play.give(p2p::effect::PeerReady{kOther, {}, {}});
        CHECK(play.observer.wanted == std::vector<chain::BlockId>{right->id});
    }
    play.give(p2p::effect::MendArrived{kOther, wrong});
    CHECK(play.verdict_on(right->id, kOther) == Verdict::bad);
    CHECK(play.rows() == 1);
    play.observer.answers.clear();
    play.give(p2p::effect::MendArrived{kOther, hollow(*right)});
    CHECK(play.verdict_on(right->id, kOther) == Verdict::bad);
    CHECK(play.rows() == 1);
    play.observer.answers.clear();
    play.give(p2p::effect::MendArrived{kOther, right});
    CHECK(play.verdict_on(right->id, kOther) == Verdict::good);
    CHECK(play.rows() == 0);
    CHECK(play.stored(right->header.height)->signature == right->signature);
    CHECK(play.stored(right->header.height)->witness == right->witness);
    CHECK(play.observer.ledger.served_from == 1);
}

TEST_CASE("a block without one of its transactions costs its sender; another's copy is taken",
          "[ranges]") {
    Play play;
    const auto whole = play.range(2, play.last);
    const std::size_t place = with_transaction(whole.blocks, 0);
    for (std::size_t i = 0; i < place; ++i)
        play.give(p2p::effect::BlockArrived{kSender, whole.blocks[i], false});
    const chain::BlockPtr& right = whole.blocks[place];
    REQUIRE(play.observer.view().head->id == right->header.previous);
    play.give(p2p::effect::BlockArrived{kSender, hollow(*right), false});
    CHECK(play.verdict_on(right->id) == Verdict::bad);
    play.give(p2p::effect::BlockArrived{kOther, right, false});
    CHECK(play.verdict_on(right->id, kOther) == Verdict::good);
    CHECK(play.observer.view().head->id == right->id);
}

TEST_CASE("what the agreement believes after a restart is checked before it is stored",
          "[ranges]") {
    Play play;
    auto range = play.range(2, play.last);
    const std::size_t place = range.blocks.size() - 2;
    const chain::BlockPtr right = range.blocks[place];
    range.blocks[place] = witnessed_wrongly(*right);
    play.give(range);
    CHECK(play.verdict_on(right->id) == Verdict::bad);
    CHECK(play.final_height() < right->header.height);
    auto good = play.range(2, play.last);
    good.channel = kOther;
    play.give(good);
    CHECK(play.final_height() >= play.last - 3);
    CHECK(play.observer.view().trouble.empty());
}

TEST_CASE("a restart does not believe what was not checked, where a range ended early",
          "[ranges]") {
    // Nobody hears of the first of a producer's two blocks before the second.
    Play play(2, 20);
    play.observer.holds_checks = true;
    const auto all = play.range(2, play.last);
    const auto final_of = [&](std::size_t place) {
        return chain::height_of(all.blocks[place]->header.finalized.id) - 2;
    };
    std::size_t checked = 3;
    while (final_of(checked) + 1 == checked)
        ++checked;
    const std::size_t base = final_of(checked);
    REQUIRE(base + 2 == checked);
    // The witness of the second is the first one that is checked.
    REQUIRE(final_of(checked + 1) == checked);
    auto range = play.range(2, all.blocks[checked + 2]->header.height);
    REQUIRE(final_of(final_of(checked + 2)) == checked);
    const chain::BlockPtr right = range.blocks[base + 1];
    REQUIRE(right->header.justify.id == range.blocks[base]->id);
    range.blocks[base + 1] = justified_wrongly(*right);
    range.blocks[checked + 2] = signed_wrongly(*range.blocks[checked + 2]);
    play.give(range);
    // The agreement's base is the block that the wrong certificate is of.
    REQUIRE(play.final_height() == range.blocks[checked]->header.height);
    CHECK(play.rows() == 1);
    play.observer.stop();
    play.observer.holds_checks = false;
    play.observer.start();
    CHECK(play.observer.view().trouble.empty());
    CHECK(play.final_height() == range.blocks[checked]->header.height);
    play.give(p2p::effect::PeerReady{kOther, {}, {}});
    CHECK(play.observer.wanted == std::vector<chain::BlockId>{right->id});
    play.give(p2p::effect::MendArrived{kOther, right});
    CHECK(play.rows() == 0);
    auto good = play.range(play.final_height() + 1, play.last);
    good.channel = kOther;
    play.give(good);
    CHECK(play.final_height() >= play.last - 3);
}

TEST_CASE("a restart before the check goes on with it; one before the end fetches again",
          "[ranges]") {
    Play play;
    play.observer.holds_checks = true;
    const chain::Height middle = play.last / 2;
    play.give(play.range(2, middle));
    CHECK(play.rows() == 1);
    CHECK(play.observer.ledger.served_from > middle / 2);
    SECTION("killed") {
        play.observer.stop();
        play.observer.holds_checks = false;
        play.observer.start();
    }
    SECTION("power cut") {
        play.observer.holds_checks = false;
        play.observer.cut_power_and_start();
    }
    SECTION("power cut in the middle of a range") {
        play.observer.is_disk_slow = true;
        play.give(play.range(middle + 1, play.last));
        play.observer.holds_checks = false;
        play.observer.is_disk_slow = false;
        play.observer.cut_power_and_start();
    }
    CHECK(play.rows() == 0);
    CHECK(play.final_height() >= middle - 3);
    play.give(play.range(play.final_height() + 1, play.last));
    CHECK(play.final_height() >= play.last - 3);
    CHECK(play.rows() == 0);
}

TEST_CASE("ranges of two liars do not keep out a third that is right", "[ranges]") {
    Play play;
    // What is bound by the proof is right, and executed; nothing of it becomes final by the rest.
    const auto spoiled = [&](chain::Height to, transport::ChannelId from) {
        p2p::effect::RangeArrived range = play.range(2, to);
        range.channel = from;
        for (std::size_t i = range.blocks.size() - 6; i < range.blocks.size(); ++i)
            range.blocks[i] = signed_wrongly(*range.blocks[i]);
        return range;
    };
    play.give(spoiled(16, kSender));
    play.give(spoiled(26, transport::ChannelId{7}));
    CHECK(play.final_height() == 1);
    p2p::effect::RangeArrived good = play.range(2, play.last);
    good.channel = kOther;
    play.give(good);
    CHECK(play.final_height() >= play.last - 3);
    // What the liars changed of it is found, once it is stored, and asked of others.
    CHECK(play.rows() == play.observer.wanted.size());
    const auto wanted = play.observer.wanted;
    CHECK_FALSE(wanted.empty());
    for (const chain::BlockId& id : wanted) {
        const auto& copy = good.blocks[chain::height_of(id) - 2];
        REQUIRE(copy->id == id);
        play.give(p2p::effect::MendArrived{kOther, copy});
    }
    CHECK(play.rows() == 0);
}

TEST_CASE("what a proof binds and is dated ahead waits for our clock, and costs nobody anything",
          "[ranges]") {
    Play play;
    support::Observer behind{play.cluster[0].genesis()};
    behind.start_at(20);
    const auto range = play.range(2, play.last);
    REQUIRE(range.blocks.back()->header.slot > 30);
    behind.give(range);
    CHECK(behind.answers.empty());
    CHECK(behind.view().finalized->header.height == 1);
    const chain::Slot last = range.blocks.back()->header.slot;
    behind.set_time(behind.genesis().times.time_of(last + 1).to_timestamp());
    behind.step(node::input::Tick{});
    REQUIRE_FALSE(behind.answers.empty());
    CHECK(behind.answers.back().id == range.blocks.back()->id);
    for (const auto& answer : behind.answers)
        CHECK(answer.verdict == Verdict::good);
    CHECK(behind.view().finalized->header.height >= play.last - 3);
}
