#pragma once

#include "chain/state/views.hpp"
#include "genesis/snapshot_chunk.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace support {

// Rows of a state, by their stored keys.
using StateRows = std::map<base::Bytes, base::Bytes, base::BytesLess>;

inline base::Bytes state_key(chain::Table table, std::string_view key) {
    return chain::stored_key(table, base::as_bytes(key));
}

// Cuts rows into chunks; the manifest is of `header`.
inline std::pair<genesis::Manifest, std::vector<base::Bytes>> cut(
    const StateRows& rows, const chain::ChainId& chain_id, const chain::BlockHeader& header) {
    genesis::ChunkCutter cutter;
    genesis::Manifest manifest;
    manifest.head.chain_id = chain_id;
    manifest.head.rules_version = 1;
    manifest.head.height = header.height;
    manifest.head.block = header.id();
    std::vector<base::Bytes> chunks;
    const auto take = [&](std::optional<genesis::Chunk> chunk) {
        if (!chunk) return;
        manifest.head.rows += chunk->info.entries;
        manifest.head.bytes += chunk->info.bytes;
        manifest.chunks.push_back(chunk->info);
        chunks.push_back(std::move(chunk->bytes));
    };
    for (const auto& [key, value] : rows) {
        auto ended = cutter.add(key, value);
        REQUIRE(ended.has_value());
        take(*std::move(ended));
    }
    take(cutter.finish());
    return {std::move(manifest), std::move(chunks)};
}

}  // namespace support
