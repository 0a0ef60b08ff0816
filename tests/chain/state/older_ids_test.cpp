#include "chain/state/proof_store.hpp"
#include "tests/support/memory_storage.hpp"

#include <catch2/catch.hpp>

#include <map>

// The nodes over older ids are made from the newest to the oldest, and are then those that a node
// has which saw all.

namespace {

using base::Family;
using chain::BlockId;
using chain::Height;

BlockId id_at(Height height) {
    chain::BlockHeader header;
    header.height = height;
    header.slot = height * 3;
    return header.id();
}

std::map<base::Bytes, base::Bytes> nodes_of(const base::StorageView& storage) {
    std::map<base::Bytes, base::Bytes> nodes;
    REQUIRE(storage.scan(Family::index, {}, [&](base::ByteView key, base::ByteView value) {
        nodes[base::to_bytes(key)] = base::to_bytes(value);
        return true;
    }));
    return nodes;
}

void commit(support::MemoryStorage& storage, const base::Batch& batch) {
    REQUIRE(storage.commit(batch, true));
}

chain::MountainRange range_up_to(Height height) {
    chain::MountainRange range;
    for (Height each = 1; each <= height; ++each)
        range.append(id_at(each));
    return range;
}

// As a node writes them that has `range` at first.
void append_up_to(support::MemoryStorage& storage, chain::MountainRange range, Height last) {
    const auto first = static_cast<Height>(range.count() + 1);
    chain::ProofIndex index(std::move(range), std::nullopt);
    base::Batch batch;
    for (Height height = first; height <= last; ++height)
        index.append(id_at(height), batch);
    commit(storage, batch);
}

}  // namespace

TEST_CASE("older ids give the nodes of a node that saw all, whatever it began with") {
    for (const Height last : {1U, 2U, 7U, 16U, 37U}) {
        support::MemoryStorage whole;
        append_up_to(whole, {}, last);
        for (Height began = 1; began <= last; ++began) {
            CAPTURE(last, began);
            support::MemoryStorage storage;
            base::Batch batch;
            chain::append_peaks(batch, range_up_to(began));
            commit(storage, batch);
            append_up_to(storage, range_up_to(began), last);
            chain::OlderIds ids(storage);
            for (Height height = began; height >= 1; --height) {
                // Also what several batches hold.
                base::Batch next;
                if (height % 3 == 0) ids.begin_batch();
                REQUIRE(ids.add(id_at(height), next));
                commit(storage, next);
            }
            REQUIRE(nodes_of(storage) == nodes_of(whole));
        }
    }
}

TEST_CASE("where the nodes are, nothing is written") {
    support::MemoryStorage storage;
    append_up_to(storage, {}, 20);
    chain::OlderIds ids(storage);
    base::Batch batch;
    for (Height height = 20; height >= 1; --height)
        REQUIRE(ids.add(id_at(height), batch));
    CHECK(batch.changes.empty());
}

TEST_CASE("ids that do not give the stored peaks are refused") {
    support::MemoryStorage storage;
    base::Batch peaks;
    chain::append_peaks(peaks, range_up_to(8));
    commit(storage, peaks);
    chain::OlderIds ids(storage);
    base::Batch batch;
    for (Height height = 8; height >= 2; --height)
        REQUIRE(ids.add(id_at(height), batch));
    chain::BlockHeader other;
    other.height = 1;
    const auto added = ids.add(other.id(), batch);
    REQUIRE_FALSE(added);
    CHECK(added.error().code == base::Errc::corrupt);
}
