#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/cluster.hpp"

// What a node keeps of certificates on its disk.

namespace {

using support::Cluster;

// NOTARIZE of the first three of four validators.
chain::Certificate notarize(const chain::Block& block, const chain::ChainId& chain_id) {
    const chain::VoteData data{.kind = chain::VoteKind::notarize,
                               .schedule_version = block.header.schedule_version,
                               .slot = block.header.slot,
                               .height = block.header.height,
                               .block_id = block.id,
                               .justify_slot = block.header.justify.slot};
    chain::Certificate made{data, {base::Bytes{std::byte{0b0111}}}, {}};
    for (unsigned char i = 0; i < 3; ++i) {
        const auto key = support::key_of(static_cast<unsigned char>(7 + i));
        made.signatures.push_back(key.sign(data.digest(chain_id)));
    }
    return made;
}

}  // namespace

TEST_CASE("a NOTARIZE certificate that comes late does not take the place of a newer one",
          "[network]") {
    Cluster cluster(4);
    cluster.run(1, 4);
    cluster.kill(1);
    cluster.kill(2);
    // Blocks of the two that are left: nothing certifies them.
    cluster.run(5, 8);
    const auto blocks = cluster[3].view().reversible;
    REQUIRE(blocks.size() == 2);
    const chain::Block& older = *blocks[0]->block;
    const chain::Block& newer = *blocks[1]->block;
    REQUIRE(newer.header.previous == older.id);
    REQUIRE(newer.header.justify.slot < older.header.slot);
    const chain::ChainId chain_id = cluster[3].genesis().chain_id();
    for (const chain::Block* block : {&newer, &older}) {
        cluster.send(
            0,
            3,
            p2p::effect::CertificateArrived{Cluster::channel(0), {}, notarize(*block, chain_id)});
        cluster.deliver();
    }
    CHECK(cluster.refused.empty());

    // Its lock may be on the newer block: after a restart it must be able to show others why.
    cluster.kill(3);
    std::vector<chain::Slot> shown;
    cluster[3].to_peers = [&](const p2p::Input& said) {
        const auto* passed = std::get_if<p2p::input::PassCertificate>(&said);
        if (passed == nullptr) return;
        const chain::VoteData& data = passed->certificate.data;
        if (data.kind == chain::VoteKind::notarize) shown.push_back(data.slot);
    };
    cluster[3].start();
    cluster[3].step(node::input::FromPeers{p2p::effect::PeerReady{Cluster::channel(0), {}, {}}});
    REQUIRE(shown.size() == 1);
    CHECK(shown[0] == newer.header.slot);
}
