#pragma once

#include "chain/execution/schedule_rows.hpp"
#include "chain/state/row_scan.hpp"
#include "genesis/snapshot_agreement.hpp"
#include "tests/support/memory_storage.hpp"
#include "tests/support/snapshot_rows.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <vector>

namespace support {

// A snapshot as it lies in files, and how a node takes and loads it.
struct Snapshot {
    base::Bytes manifest;
    std::vector<base::Bytes> chunks;
    std::vector<base::Bytes> links;
    base::Bytes proof;
};

// All rows of a state.
inline StateRows rows_of(const chain::StateView& state) {
    StateRows rows;
    for (std::uint16_t number = 1; number <= chain::kTables; ++number) {
        const auto table = static_cast<chain::Table>(number);
        chain::RowScan scan(state, table, {});
        while (const auto row = scan.next()) {
            rows[chain::stored_key(table, row->key)] = *row->value;
        }
    }
    return rows;
}

inline genesis::Trust trust_of(const genesis::Genesis& genesis) {
    return {genesis.chain_id(), genesis.schedule, {}};
}

// To a proof that was made from this storage, as a snapshot has them.
inline base::Result<std::vector<base::Bytes>> link_parts(const base::StorageView& storage,
                                                         const genesis::SnapshotProof& proof) {
    std::vector<base::Bytes> parts;
    const auto made = genesis::make_links(
        storage, proof, [&](std::size_t part, base::ByteView bytes) -> base::Result<void> {
            if (part != parts.size()) return base::fail(base::Errc::invalid, "a part is left out");
            parts.push_back(base::to_bytes(bytes));
            return {};
        });
    if (!made) return base::fail(made.error());
    return parts;
}
inline base::Result<std::vector<chain::Link>> links_to(const base::StorageView& storage,
                                                       const genesis::SnapshotProof& proof) {
    const auto parts = link_parts(storage, proof);
    if (!parts) return base::fail(parts.error());
    std::vector<chain::Link> links;
    for (const base::Bytes& part : *parts) {
        auto some = genesis::unpack_links(part);
        if (!some) return some;
        links.insert(links.end(), some->begin(), some->end());
    }
    return links;
}

// Of the state after the final block of this height. `before`: when that block was not final yet,
// or was the final one.
inline base::Result<Snapshot> take_snapshot(const base::StorageView& before,
                                            const base::StorageView& now,
                                            const chain::StateView& state,
                                            const chain::ChainId& chain_id,
                                            chain::Height height) {
    auto made = genesis::make_proof(now, height);
    if (!made) return base::fail(made.error());
    auto agreement = genesis::make_agreement(before, now, height);
    if (!agreement) return base::fail(agreement.error());
    Snapshot snapshot;
    auto [manifest, chunks] = cut(rows_of(state), chain_id, made->header);
    snapshot.manifest = genesis::encode_manifest(manifest);
    snapshot.chunks = std::move(chunks);
    auto links = link_parts(now, *made);
    if (!links) return base::fail(links.error());
    snapshot.links = *std::move(links);
    snapshot.proof = genesis::encode_proof_part({*made, *std::move(agreement)});
    return snapshot;
}

// Step by step as a joining node does it, into an empty storage (spec 05, "Join").
inline base::Result<void> load_snapshot(const Snapshot& snapshot,
                                        const genesis::Trust& trust,
                                        base::Storage& storage) {
    genesis::LinkWalk walk(trust);
    base::Batch batch;
    for (const base::Bytes& part : snapshot.links) {
        auto links = genesis::unpack_links(part);
        if (!links) return base::fail(links.error());
        for (const chain::Link& link : *links) {
            if (auto good = walk.take(link); !good) return good;
        }
        genesis::append_links(batch, *links);
    }
    auto part = genesis::decode_proof_part(snapshot.proof);
    if (!part) return base::fail(part.error());
    if (auto good = genesis::check_proof(walk, part->proof); !good) return good;
    auto agreement = genesis::check_agreement(part->agreement, part->proof, walk, 1);
    if (!agreement) return base::fail(agreement.error());
    auto manifest = genesis::decode_manifest(snapshot.manifest);
    if (!manifest) return base::fail(manifest.error());
    auto good = genesis::check_manifest(*manifest, trust.chain_id, part->proof.header);
    if (!good) return good;
    base::Bytes last;
    for (std::size_t i = 0; i < manifest->chunks.size(); ++i) {
        auto rows = genesis::check_chunk(snapshot.chunks.at(i), manifest->chunks[i]);
        if (!rows) return base::fail(rows.error());
        if (i > 0) good = genesis::check_border(last, rows->front().key, i);
        if (!good) return good;
        last = base::to_bytes(rows->back().key);
        for (const genesis::ChunkRow& row : *rows) {
            batch.put(base::Family::state, base::to_bytes(row.key), base::to_bytes(row.value));
        }
    }
    if (auto done = storage.commit(batch, true); !done) return done;
    const chain::StoredView state(storage.snapshot(), [](const base::Error&) { FAIL("a fault"); });
    auto loaded = genesis::make_loaded(*manifest, part->proof, *agreement, state);
    if (!loaded) return base::fail(loaded.error());
    return storage.commit(*loaded, true);
}

// Takes everything from a storage.
inline void wipe(base::Storage& storage) {
    base::Batch batch;
    for (std::size_t i = 0; i < base::kFamilies; ++i) {
        const auto family = static_cast<base::Family>(i);
        const auto read = storage.scan(family, {}, [&](base::ByteView key, base::ByteView) {
            batch.erase(family, base::to_bytes(key));
            return true;
        });
        REQUIRE(read.has_value());
    }
    REQUIRE(storage.commit(batch, true).has_value());
}

}  // namespace support
