#include "chain/meta_keys.hpp"
#include "chain/state/proof_store.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <utility>

// After Catch2, whose macros it uses.
#include "tests/support/cluster.hpp"

// Certificates that a node reads from its disk at a start are believed only if they prove what
// they say: who may change its files must not make it call something final (spec 10).

namespace {

using chain::VoteKind;
using support::Cluster;
using support::Machine;

constexpr std::size_t kNode = 3;

// It says this, but the first three of four validators have signed something else.
chain::Certificate forge(const chain::VoteData& data, const chain::ChainId& chain_id) {
    chain::Certificate made{data, {base::Bytes{std::byte{0b0111}}}, {}};
    chain::VoteData other = data;
    other.height += 1;
    for (unsigned char i = 0; i < 3; ++i) {
        const auto key = support::key_of(static_cast<unsigned char>(7 + i));
        made.signatures.push_back(key.sign(other.digest(chain_id)));
    }
    return made;
}

chain::Certificate forge(const chain::Block& block, VoteKind kind, const chain::ChainId& chain_id) {
    return forge({.kind = kind,
                  .schedule_version = block.header.schedule_version,
                  .slot = block.header.slot,
                  .height = block.header.height,
                  .block_id = block.id,
                  .justify_slot = block.header.justify.slot},
                 chain_id);
}

void put(Machine& node, const std::function<void(base::Batch&)>& fill) {
    base::Batch batch;
    fill(batch);
    REQUIRE(node.storage().commit(batch, true).has_value());
}

void put_meta(Machine& node, std::string_view name, const chain::Certificate& certificate) {
    put(node, [&](base::Batch& batch) {
        batch.put(base::Family::meta, chain::meta_key(name), chain::pack(certificate));
    });
}

// As a journal has it that was locked on this block.
void lock(Machine& node, const chain::Certificate& certificate) {
    const chain::VoteData& data = certificate.data;
    const consensus::SafetyRecord record{.kind = consensus::RecordKind::commit,
                                         .slot = data.slot,
                                         .lock_slot = data.slot,
                                         .block = data.block_id,
                                         .lock = data.block_id};
    auto journal =
        consensus::SafetyJournal::read(consensus::key_tag(node.public_key()), node.log());
    REQUIRE(journal.has_value());
    const auto page = journal->append(std::array{record},
                                      std::make_shared<const chain::Certificate>(certificate));
    node.log().insert(node.log().end(), page.bytes.begin(), page.bytes.end());
}

// Two of four are gone: what the other two make is not final, and nothing certifies it.
struct Halted {
    Cluster cluster{4};
    chain::ChainId chain_id = cluster[kNode].genesis().chain_id();
    chain::BlockPtr final;
    chain::BlockPtr above;  // Its child.
    chain::BlockPtr head;   // Above that.

    Halted() {
        cluster.run(1, 4);
        cluster.kill(0);
        cluster.kill(1);
        cluster.run(5, 12);
        const node::Published& view = node().view();
        REQUIRE(view.reversible.size() >= 3);
        final = view.finalized;
        above = view.reversible.front()->block;
        head = view.reversible.back()->block;
        REQUIRE(above->witness.justify.has_value());
        REQUIRE(above->witness.finalized.has_value());
        cluster.kill(kNode);
    }
    Machine& node() { return cluster[kNode]; }
};

chain::BlockPtr with_witness(const chain::Block& block, chain::Witness witness) {
    return chain::make_block(
        {block.header, block.signature}, block.transactions, std::move(witness));
}

}  // namespace

TEST_CASE("a stored certificate that proves nothing is refused by name at the start",
          "[core][journal]") {
    Halted halted;
    Machine& node = halted.node();
    const chain::ChainId& chain_id = halted.chain_id;
    chain::Height named = halted.above->header.height;
    std::string reason = "signature";
    SECTION("of the final block") {
        put_meta(
            node, chain::kMetaFinalCertificate, forge(*halted.final, VoteKind::commit, chain_id));
        named = halted.final->header.height;
    }
    SECTION("the newest NOTARIZE") {
        put_meta(node, chain::kMetaNotarize, forge(*halted.above, VoteKind::notarize, chain_id));
    }
    SECTION("a COMMIT in the place of a NOTARIZE") {
        const auto certificate =
            node.storage().get(base::Family::meta, chain::meta_key(chain::kMetaFinalCertificate));
        REQUIRE(certificate->has_value());
        put(node, [&](base::Batch& batch) {
            batch.put(base::Family::meta, chain::meta_key(chain::kMetaNotarize), **certificate);
        });
        named = halted.final->header.height;
        reason = "kind";
    }
    SECTION("in a witness, of its justify") {
        chain::Witness witness = halted.above->witness;
        named = witness.justify->data.height;
        witness.justify = forge(witness.justify->data, chain_id);
        put(node, [&](base::Batch& batch) {
            chain::append_reversible(batch, *with_witness(*halted.above, witness));
        });
    }
    SECTION("in a witness, of what it makes final") {
        chain::Witness witness = halted.above->witness;
        named = witness.finalized->data.height;
        witness.finalized = forge(witness.finalized->data, chain_id);
        put(node, [&](base::Batch& batch) {
            chain::append_reversible(batch, *with_witness(*halted.above, witness));
        });
    }
    SECTION("of a lock") {
        lock(node, forge(*halted.above, VoteKind::notarize, chain_id));
    }
    const auto opened = node.open();
    REQUIRE_FALSE(opened.has_value());
    CHECK(opened.error().code == base::Errc::corrupt);
    const std::string& said = opened.error().detail;
    INFO(said);
    CHECK(said.find(fmt::format("certificate of block {}, ", named)) != std::string::npos);
    CHECK(said.find(reason) != std::string::npos);
}

TEST_CASE("certificates that are good are taken from the disk again", "[core][journal]") {
    Halted halted;
    Machine& node = halted.node();
    REQUIRE(node.open().has_value());
    CHECK(node.view().finalized->id == halted.final->id);
    CHECK(node.view().certificate.has_value());
    CHECK(node.view().head->id == halted.head->id);
}

TEST_CASE("the certificate of a lock whose block comes later is checked when that comes",
          "[core][journal]") {
    Cluster cluster(4);
    cluster.run(1, 4);
    cluster.kill(kNode);
    cluster.run(5, 5);
    const chain::BlockPtr missing = cluster[0].view().head;
    REQUIRE(missing->header.slot == 5);
    for (const std::size_t other : {0U, 1U, 2U})
        cluster.cut(kNode, other);
    Machine& node = cluster[kNode];
    lock(node, forge(*missing, VoteKind::notarize, node.genesis().chain_id()));
    std::vector<chain::Certificate> passed;
    node.to_peers = [&](const p2p::Input& said) {
        const auto* one = std::get_if<p2p::input::PassCertificate>(&said);
        if (one != nullptr && one->certificate.data.block_id == missing->id)
            passed.push_back(one->certificate);
    };
    cluster.start(kNode);
    REQUIRE(node.view().keys[0].lock == 5);
    node.step(
        node::input::FromPeers{p2p::effect::BlockArrived{Cluster::channel(0), missing, false}});
    REQUIRE(node.view().head->id == missing->id);
    CHECK(passed.empty());
}
