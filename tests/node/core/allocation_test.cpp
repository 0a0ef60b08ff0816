#include "node/core/networked_core.hpp"
#include "node/machine/machine.hpp"
#include "tests/allocations.hpp"
#include "tests/support/journals.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/alone.hpp"
#include "tests/support/observer.hpp"
#include "tests/support/one_node.hpp"

// The whole way of a vote, from its bytes to those that go to other peers, allocates nothing once
// the tables are full.

namespace {

using std::chrono::milliseconds;
using transport::ChannelId;

// Of one round: of three keys two kinds in each of two slots, which is what goes on at once.
constexpr std::size_t kVotes = 12;

base::crypto::PublicKey node_key(std::size_t number) {
    std::array<std::byte, 32> secret{};
    secret.fill(static_cast<std::byte>(number + 1));
    return base::crypto::PrivateKey(base::crypto::KeyType::r1, secret).public_key();
}

genesis::Genesis four_members() {
    genesis::Genesis genesis = support::genesis_of(4);
    for (std::size_t i = 0; i < 4; ++i) {
        const chain::Name name = genesis.schedule.entries[i].producer;
        genesis.nodes.push_back({name, name, node_key(i), p2p::kValidator});
    }
    return genesis;
}

// The first of four validators, which makes no blocks, and the others, which say votes to it.
class Listener {
  public:
    Listener() {
        const auto first = node::Core::first_batch(genesis_);
        REQUIRE(first.has_value());
        REQUIRE(storage_.commit(*first, true).has_value());
        node::Effects asked;
        auto core = open(asked);
        REQUIRE(core.has_value());
        p2p::Options network;
        network.chain_id = genesis_.chain_id();
        network.times = genesis_.times;
        network.node_key = node_key(0);
        network.boot_id = 1;
        network.roles = p2p::kValidator;
        network.vote_keys = signer_.keys();
        node_ = std::make_unique<node::NetworkedCore>(
            *std::move(core), network, signer_, base::Log(log_, "p2p"));
        node_->begin(now_, std::move(asked), out_);
        for (std::size_t i = 1; i < 4; ++i)
            greet(i);
    }
    // Returns how many allocations it took that votes came, were judged and went on.
    std::size_t round() {
        const ChannelId from{1 + rounds_++ % 3};
        // What is due every second is not counted.
        now_ += milliseconds(1'000);
        make_votes();
        node_->step(now_, node::Input(node::input::Tick{}), out_);
        forget();
        const std::size_t before = tests::allocations();
        for (const base::Bytes& bytes : votes_)
            node_->step(now_, p2p::Input(p2p::input::Message{from, bytes}), out_);
        now_ += milliseconds(60);
        node_->step(now_, p2p::Input(p2p::input::Written{from, 0}), out_);
        count_passed_on();
        forget();
        return tests::allocations() - before;
    }
    [[nodiscard]] std::size_t passed_on() const { return passed_on_; }
    [[nodiscard]] std::size_t signatures() const { return signer_.signatures(); }
    void knock(ChannelId channel, std::size_t number) {
        node_->step(
            now_,
            p2p::Input(p2p::input::ChannelUp{channel, node_key(number), "peer:1", false, {}, {}}),
            out_);
    }

  private:
    [[nodiscard]] base::Result<std::unique_ptr<node::Core>> open(node::Effects& asked) {
        chain::StateManager::Options state;
        state.on_fault = [](const base::Error&) {};
        node::Core::Options options{.genesis = genesis_};
        options.started = now_;
        options.has_peers = true;
        options.produce = false;
        return node::Core::open(options,
                                {storage_, executor_, signer_, {}, state, base::Log(log_, "core")},
                                test::fresh_journals({consensus::key_tag(signer_.keys().front())}),
                                asked);
    }
    void greet(std::size_t number) {
        const auto first = chain::BlockReader(storage_).at(1);
        REQUIRE(first.has_value());
        const p2p::BlockPoint genesis{1, (*first)->id};
        p2p::Hello hello{.finalized = genesis, .head = genesis};
        hello.chain_id = genesis_.chain_id();
        const ChannelId channel{number};
        knock(channel, number);
        for (const p2p::Body& body :
             {p2p::Body(hello), p2p::Body(p2p::Notice{.finalized = genesis, .head = genesis})}) {
            const auto bytes = p2p::pack_message(body);
            node_->step(now_, p2p::Input(p2p::input::Message{channel, *bytes}), out_);
        }
    }
    // Of blocks that are not here: all that can be done is to check and keep them.
    void make_votes() {
        const chain::Slot newest = genesis_.times.slot_at(chain::TimePoint::from_timestamp(now_));
        for (std::size_t i = 0; i < kVotes; ++i) {
            base::Bytes& bytes = votes_[i];
            const auto key = support::key_of(static_cast<unsigned char>(8 + i % 3));
            chain::VoteData data{.slot = newest - i / 6, .height = 9, .block_id = {}};
            data.justify_slot = data.slot - 1;  // So that no two convict their key.
            data.kind = i / 3 % 2 == 0 ? chain::VoteKind::notarize : chain::VoteKind::commit;
            data.block_id.bytes[5] = static_cast<std::byte>(1 + i % 3);  // No certificate is made.
            const auto digest = data.digest(genesis_.chain_id());
            bytes = *p2p::pack_message(chain::Vote{data, key.public_key(), key.sign(digest)});
        }
    }
    void count_passed_on() {
        for (const node::Effect& effect : out_) {
            const auto* asked = std::get_if<node::effect::ToTransport>(&effect);
            const auto* send =
                asked == nullptr ? nullptr : std::get_if<p2p::effect::Send>(&asked->asked);
            if (send == nullptr) continue;
            if (*send->bytes == votes_[passed_on_ % (2 * kVotes) / 2]) ++passed_on_;
        }
    }
    // All that was sent is written and let go of.
    void forget() {
        for (std::uint64_t i = 1; i < 4; ++i) {
            const p2p::input::Written all{ChannelId{i}, ~std::uint64_t{0}};
            node_->step(now_, p2p::Input(all), out_);
        }
        out_.clear();
    }

    genesis::Genesis genesis_ = four_members();
    support::KeySigner signer_{support::key_of(7)};
    support::SilentLog log_;
    support::MemoryStorage storage_;
    node::ContractMachine contract_machine_;
    chain::vm::Engine engine_{chain::host_table(), chain::vm::Engine::Options{}, contract_machine_};
    chain::Executor executor_{engine_, chain::host_table()};
    base::Timestamp now_ = genesis_.times.time_of(1).to_timestamp();
    std::unique_ptr<node::NetworkedCore> node_;
    node::Effects out_;
    std::size_t rounds_ = 0;
    std::vector<base::Bytes> votes_ = std::vector<base::Bytes>(kVotes);
    std::size_t passed_on_ = 0;
};

}  // namespace

TEST_CASE("a vote on its way through a node allocates nothing", "[allocation]") {
    constexpr std::size_t kTableEntries = 16'384;
    Listener listener;
    const tests::Rounds rounds =
        tests::run_rounds([&] { return listener.round(); }, kTableEntries / kVotes + 1, 5);
    CHECK(rounds.first > 0);
    CHECK(rounds.most == 0);
    CHECK(listener.passed_on() == 2 * kVotes * rounds.count);
}

TEST_CASE("who may not come in costs no signature of ours") {
    Listener listener;
    const std::size_t before = listener.signatures();
    for (std::size_t stranger = 10; stranger < 100; ++stranger)
        listener.knock(ChannelId{stranger}, stranger);
    CHECK(listener.signatures() == before);
    listener.knock(ChannelId{100}, 3);
    CHECK(listener.signatures() == before + 1);
}

TEST_CASE("a block that was dropped takes no memory", "[allocation]") {
    constexpr std::size_t kBytes = 100'000;
    // All are within the slots in which blocks have transactions.
    constexpr std::size_t kMost = 14;
    genesis::Genesis genesis = support::genesis_of(4);
    genesis.parameters.max_reversible = kMost;
    support::Alone member(genesis, 3);
    support::Observer observer(genesis);
    observer.start_at(15'000);
    std::vector<chain::BlockPtr> blocks;
    for (std::size_t i = 0; i < 2 * kMost; ++i)
        blocks.push_back(member.next_beside(kBytes));
    for (std::size_t i = 0; i < kMost; ++i)
        observer.give(blocks[i]);
    CHECK(observer.forgotten.empty());
    const std::size_t full = tests::allocated_bytes();
    for (std::size_t i = kMost; i < 2 * kMost; ++i)
        observer.give(blocks[i]);
    CHECK(observer.refusal().empty());
    CHECK(observer.forgotten.size() == kMost);
    // The storage of tests keeps the row of each block, with what takes it back.
    CHECK(tests::allocated_bytes() - full < 3 * kMost * kBytes);
}
