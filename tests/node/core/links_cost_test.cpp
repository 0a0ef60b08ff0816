#include "chain/state/proof_store.hpp"
#include "node/core/range_proof.hpp"

#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/certificates.hpp"
#include "tests/support/observer.hpp"

// What one peer's question for blocks costs on a chain whose schedule has changed often.

namespace {

using support::Cluster;

class CountingView final : public base::StorageView {
  public:
    explicit CountingView(const base::StorageView& below) : below_(below) {}
    base::Result<std::optional<base::Bytes>> get(base::Family family,
                                                 base::ByteView key) const override {
        ++reads;
        auto got = below_.get(family, key);
        if (got && got->has_value()) bytes += (*got)->size();
        return got;
    }
    base::Result<std::optional<base::StoredRow>> at_or_after(base::Family family,
                                                             base::ByteView key) const override {
        ++reads;
        return below_.at_or_after(family, key);
    }
    base::Result<std::optional<base::StoredRow>> before(base::Family family,
                                                        base::ByteView key) const override {
        ++reads;
        return below_.before(family, key);
    }
    base::Result<void> scan(base::Family family,
                            base::ByteView from,
                            const base::StorageView::Visit& visit) const override {
        return below_.scan(family, from, visit);
    }
    mutable std::size_t reads = 0;
    mutable std::size_t bytes = 0;

  private:
    const base::StorageView& below_;
};

chain::ScheduleLink link_of(const chain::Block& head,
                            std::uint32_t version,
                            unsigned members,
                            const chain::ChainId& chain_id) {
    chain::ScheduleLink link;
    link.proposing = head.header;
    chain::Schedule next{version, {}};
    for (unsigned i = 0; i < members; ++i) {
        next.entries.push_back(
            {chain::Name{i + 1}, support::key_of(7).public_key(), support::key_of(8).public_key()});
    }
    link.proposing.schedule_change = next;
    link.finality.certified = head.header;
    link.finality.certificate = support::certificate_of(head, chain::VoteKind::commit, chain_id);
    auto& signatures = link.finality.certificate.signatures;
    const auto one = signatures.front();
    signatures.assign(2 * members / 3 + 1, one);
    link.finality.certificate.bitmaps = {base::Bytes((members + 7) / 8)};
    // The path of a block among some millions.
    link.finality.ancestor = chain::MerkleProof{0, 4'000'000, std::vector<base::Hash256>(22)};
    return link;
}

}  // namespace

TEST_CASE("a question for one block costs little however often the schedule has changed",
          "[core][links]") {
    const std::uint32_t changes = GENERATE(900U, 1'100U);
    Cluster cluster(4, 0, 120, 500, 1);
    for (chain::Slot slot = 1; slot <= 40; ++slot)
        cluster.tick_at(slot);
    const auto chain_id = cluster[0].genesis().chain_id();
    const chain::Block& head = *cluster[0].view().finalized;
    base::Batch batch;
    for (std::uint32_t version = 2; version <= changes; ++version)
        chain::append_link(batch, link_of(head, version, 4, chain_id));
    chain::BlockHeader newest = head.header;
    newest.schedule_version = changes;
    const auto block = chain::make_block({newest, head.signature}, {}, {});
    batch.put(base::Family::meta,
              base::to_bytes(base::as_bytes(chain::kMetaFinalCertificate)),
              chain::pack(support::certificate_of(*block, chain::VoteKind::commit, chain_id)));
    chain::append_without_traces(batch, *block);
    REQUIRE(cluster[0].storage().commit(batch, true).has_value());
    const auto snapshot = cluster[0].storage().snapshot();
    const CountingView storage(*snapshot);
    const p2p::effect::ReadBlocks wanted{
        .ticket = 1, .from = 5, .to = 5, .ids = {}, .is_for_peer = true, .trusted = 1};
    const auto read = node::read_blocks(storage, wanted, [](auto, const auto&) {});
    INFO(changes << " changes: " << storage.reads << " reads of " << storage.bytes << " bytes");
    REQUIRE(read.blocks.size() == 1);
    CHECK(read.proof.has_value());
    CHECK(storage.reads < 100);
}
