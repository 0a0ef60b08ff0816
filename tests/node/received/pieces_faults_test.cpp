#include "base/crypto/hash.hpp"
#include "genesis/snapshot_agreement.hpp"
#include "genesis/snapshot_chunk.hpp"
#include "node/snapshots/packing.hpp"
#include "tests/node/received/join.hpp"

#include <zstd.h>

// What peers may give instead of a snapshot, the whole way: the new node's log names who gave what,
// those alone pay, and the rest comes from others (tests/node/snapshots/FAULTS.md).

namespace {

using node::SnapshotFolder;
using p2p::SnapshotChunk;
using p2p::SnapshotPart;
using test::Forgery;
using test::Join;
using Peers = std::set<std::size_t>;

std::string hex(const base::Hash256& hash) {
    return base::to_hex(hash.view());
}

// Where the new node puts together what it is given.
std::string file(Join& test, const p2p::SnapshotPoint& snapshot, std::string_view name) {
    return (test.joiner.receiver->path_of(snapshot) / name).string();
}

// All of these were named, with their reason, and closed; nobody else paid; the node has joined.
void check_closed(Join& test, const Peers& liars, const std::string& text) {
    INFO(test.log());
    for (const std::size_t liar : liars)
        CHECK(test.says(liar, text));
    CHECK(test.closed() == liars);
    for (std::size_t i = 1; i < test.shelves.size(); ++i)
        if (!liars.contains(i)) CHECK(test.score(i) == 100);
    CHECK(test.has_joined());
}

std::function<void(SnapshotChunk&)> lie_about(SnapshotPart part,
                                              const std::function<void(base::Bytes&)>& change) {
    return [part, change](SnapshotChunk& chunk) {
        if (chunk.piece.part == part) change(chunk.bytes);
    };
}

// The peers 1 and 2 name this forgery; peer 3 alone has the right one.
void give_forgery(Join& test, Forgery& forgery) {
    test.give(1, forgery.store());
    test.give(2, forgery.store());
}

// A chunk in the place of another: its file, and what the manifest says of it. Not its lanes.
void put_chunk(genesis::Manifest& manifest,
               const test::fs::path& folder,
               std::size_t index,
               base::ByteView rows,
               std::uint32_t entries) {
    genesis::ChunkInfo& info = manifest.chunks.at(index);
    manifest.head.rows += entries - std::uint64_t{info.entries};
    manifest.head.bytes += rows.size() - std::uint64_t{info.bytes};
    info.entries = entries;
    info.bytes = static_cast<std::uint32_t>(rows.size());
    info.sha256 = base::crypto::sha256(rows);
    const auto path = folder / SnapshotFolder::kChunks / node::chunk_file_name(info.sha256);
    REQUIRE(node::write_file_atomically(path.string(), node::pack_chunk(rows), 0644));
}

// One with several rows.
std::size_t large_chunk(const SnapshotFolder& folder) {
    const auto& chunks = folder.manifest().chunks;
    const auto large = std::ranges::max_element(chunks, {}, &genesis::ChunkInfo::entries);
    REQUIRE(large->entries > 2);
    return static_cast<std::size_t>(large - chunks.begin());
}

base::Bytes packed_rows(const std::vector<genesis::ChunkRow>& rows) {
    base::Writer out;
    for (const genesis::ChunkRow& row : rows) {
        out.bytes(row.key);
        out.bytes(row.value);
    }
    return out.take();
}

}  // namespace

TEST_CASE("fault: a forged proof", "[faults]") {
    Join test(3);
    std::string text;
    std::string name = "proof.bin";
    const std::string by = test.source.genesis().schedule.entries[0].vote_key.to_string();
    SECTION("a certificate that nobody has signed") {
        test.shelf(1).lie = lie_about(SnapshotPart::proof, [](base::Bytes& bytes) {
            auto part = genesis::decode_proof_part(bytes).value();
            part.proof.finality.certificate.signatures.at(0).compact[40] ^= std::byte{1};
            bytes = genesis::encode_proof_part(part);
        });
        text = "certificate signature 0 is not by " + by;
    }
    SECTION("another state of the block") {
        test.shelf(1).lie = lie_about(SnapshotPart::proof, [](base::Bytes& bytes) {
            auto part = genesis::decode_proof_part(bytes).value();
            part.proof.header.state_digest.bytes[3] ^= std::byte{1};
            bytes = genesis::encode_proof_part(part);
        });
        text = "proof, block 8: no path leads to the certified block's finality_root";
    }
    SECTION("a witness in the agreement part") {
        test.shelf(1).lie = lie_about(SnapshotPart::proof, [](base::Bytes& bytes) {
            auto part = genesis::decode_proof_part(bytes).value();
            auto block = std::make_shared<chain::Block>(*part.agreement.blocks.back());
            block->witness.justify->signatures.at(0).compact[40] ^= std::byte{1};
            part.agreement.blocks.back() = block;
            bytes = genesis::encode_proof_part(part);
        });
        text =
            "agreement part, block 8: its witness has a wrong certificate of block 7: certificate "
            "signature 0 is not by " +
            by;
    }
    SECTION("cut short") {
        test.shelf(1).lie =
            lie_about(SnapshotPart::proof, [](base::Bytes& bytes) { bytes.resize(100); });
        text = "proof: action_root at offset 88: needs 32 bytes, 12 are left";
    }
    SECTION("links where there are none") {
        test.shelf(1).lie = [](SnapshotChunk& chunk) {
            if (chunk.piece.part != SnapshotPart::links) return;
            chunk.count = 1;
            chunk.bytes.assign(50, std::byte{7});
        };
        name = "links-0.bin";
        text = "links: link at offset 1: is neither 0 nor 1";
    }
    test.run();
    check_closed(test, {1}, file(test, test.snapshot, name) + ": " + text);
}

TEST_CASE("fault: a snapshot of another chain, height or rules", "[faults]") {
    Join test(3);
    SECTION("chain") {
        Forgery forgery(test.source, test.folder(), "forged", [](auto& manifest, const auto&) {
            manifest.head.chain_id.bytes[0] ^= std::byte{1};
        });
        const auto& ours = test.joiner.how.trust.chain.chain_id;
        base::Hash256 theirs = ours;
        theirs.bytes[0] ^= std::byte{1};
        give_forgery(test, forgery);
        test.run();
        check_closed(
            test,
            {1, 2},
            fmt::format("{}: the snapshot is of chain {}, the genesis file makes chain {}; take a "
                        "snapshot of this chain, or the other genesis file",
                        file(test, forgery.point(), "manifest.bin"),
                        hex(theirs),
                        hex(ours)));
    }
    SECTION("height: another than the peer named") {
        p2p::SnapshotPoint named = test.snapshot;
        named.height += 1;
        test.name(1, {named});
        test.name(2, {named});
        test.run();
        check_closed(
            test, {1, 2}, fmt::format("its manifest is that of block 8, {}", hex(named.manifest)));
    }
    SECTION("rules that this release does not know: who gave it is asked for no more of it") {
        Forgery forgery(test.source, test.folder(), "forged", [](auto& manifest, const auto&) {
            manifest.head.rules_version = chain::kRulesKnown + 1;
        });
        give_forgery(test, forgery);
        test.run();
        INFO(test.log());
        const std::string text = fmt::format(
            "{}: manifest: the chain has rules_version {}, this release knows {}: install a newer "
            "one",
            file(test, forgery.point(), "manifest.bin"),
            chain::kRulesKnown + 1,
            chain::kRulesKnown);
        CHECK(test.says(1, text));
        CHECK(test.closed().empty());
        CHECK(test.shelf(1).count(SnapshotPart::manifest) == 1);
        CHECK(test.has_joined());
    }
}

TEST_CASE("fault: a snapshot below the checkpoint costs its sender score", "[faults]") {
    Join test(2);
    test.joiner.how.trust.checkpoint = test.source.block(9);
    test.joiner.restart();
    test.run(std::chrono::seconds(2));
    INFO(test.log());
    const std::string text =
        file(test, test.snapshot, "proof.bin") + ": checkpoint 9 is above block 8";
    for (const std::size_t i : {1U, 2U}) {
        CHECK(test.says(i, text));
        CHECK(test.score(i) < 90);
    }
    CHECK(test.closed().empty());
    // Until there is one above it.
    const auto next = test.source.written(9);
    test.name(1, test.shelf(1).names());
    test.world.run(std::chrono::seconds(2));
    CHECK(test.intake.loaded == next);
}

TEST_CASE("fault: lanes whose sum is not the digest, before any chunk is asked for", "[faults]") {
    Join test(3);
    Forgery forgery(test.source, test.folder(), "forged", [](auto& manifest, const auto&) {
        manifest.chunks[0].lanes += manifest.chunks[1].lanes;
    });
    const auto header =
        genesis::decode_proof_part(
            test.shelf(3).read({test.snapshot.manifest, SnapshotPart::proof, 0})->bytes)
            .value()
            .proof.header;
    genesis::Manifest wrong = test.folder().manifest();
    wrong.chunks[0].lanes += wrong.chunks[1].lanes;
    // Of two manifests of one block that of more organisations is looked at first.
    give_forgery(test, forgery);
    test.run();
    check_closed(test,
                 {1, 2},
                 fmt::format("{}: manifest: its lanes give the state digest {}, block 8 has {}",
                             file(test, forgery.point(), "manifest.bin"),
                             hex(genesis::lanes_of(wrong).digest()),
                             hex(header.state_digest)));
    CHECK(test.shelf(1).count(SnapshotPart::chunk) == 0);
}

TEST_CASE("fault: of two manifests of one block that of fewer organisations is not asked for",
          "[faults]") {
    Join test(3);
    Forgery forgery(test.source, test.folder(), "forged", [](auto& manifest, const auto&) {
        manifest.chunks[0].lanes += manifest.chunks[1].lanes;
    });
    test.give(1, forgery.store());
    test.run();
    INFO(test.log());
    CHECK(test.has_joined());
    CHECK(test.shelf(1).asked.empty());
    CHECK(test.closed().empty());
}

TEST_CASE("fault: links, proof or manifest larger than may be", "[faults]") {
    for (const auto part : {SnapshotPart::links, SnapshotPart::proof, SnapshotPart::manifest}) {
        Join test(3);
        const std::uint32_t most = part == SnapshotPart::links ? 16'384 : 64;
        test.shelf(1).lie = [part, most](SnapshotChunk& chunk) {
            if (chunk.piece.part != part) return;
            chunk.count = most + 1;
            chunk.bytes.resize(100);
        };
        test.run();
        check_closed(test,
                     {1},
                     fmt::format("says that the {} of a snapshot has {} pieces; at most {} are "
                                 "allowed",
                                 p2p::to_string(part),
                                 most + 1,
                                 most));
    }
}

TEST_CASE("fault: a chunk that is not what the manifest says", "[faults]") {
    Join test(3);
    const SnapshotFolder folder = test.folder();
    std::string why;
    std::optional<std::uint32_t> lied;
    std::function<void(base::Bytes & bytes, const genesis::ChunkInfo& info)> change;
    const auto sha = [&](const genesis::ChunkInfo& info) {
        why = "chunk: its SHA-256 is not that of the manifest, " + hex(info.sha256);
    };
    SECTION("truncated") {
        change = [&](auto& bytes, const auto&) {
            bytes.pop_back();
            why = "chunk: its zstd frame is cut short or damaged";
        };
    }
    SECTION("swapped") {
        change = [&](auto& bytes, const auto& info) {
            const std::uint32_t other = *lied == 0 ? 1 : 0;
            bytes = node::pack_chunk(*folder.chunk(other));
            why = fmt::format("chunk: its frame has {} bytes, {} were announced",
                              folder.manifest().chunks[other].bytes,
                              info.bytes);
        };
    }
    SECTION("bit-flipped") {
        change = [&](auto& bytes, const auto& info) {
            base::Bytes rows = *node::unpack_chunk(bytes, info.bytes);
            rows[rows.size() / 2] ^= std::byte{1};
            bytes = node::pack_chunk(rows);
            sha(info);
        };
    }
    SECTION("a zstd bomb: 4 GiB in 17 bytes") {
        change = [&](auto& bytes, const auto& info) {
            bytes = base::from_hex("28b52ffde00000000001000000").value();
            why =
                fmt::format("chunk: its frame has 4294967296 bytes, {} were announced", info.bytes);
        };
    }
    SECTION("a bomb that says the right length") {
        change = [&](auto& bytes, const auto& info) {
            // 5 MiB in blocks of one byte each, of a frame that says less.
            bytes = base::from_hex("28b52ffda0").value();
            for (unsigned shift = 0; shift < 32; shift += 8)
                bytes.push_back(static_cast<std::byte>(info.bytes >> shift & 0xFFU));
            for (int block = 40; block > 0; --block) {
                const std::uint32_t head = (128U << 10U) << 3U | 1U << 1U | (block == 1 ? 1U : 0U);
                for (unsigned shift = 0; shift < 24; shift += 8)
                    bytes.push_back(static_cast<std::byte>(head >> shift & 0xFFU));
                bytes.push_back(std::byte{0});
            }
            why = "chunk: its zstd frame is damaged";
        };
    }
    SECTION("a frame that does not say where it ends") {
        change = [&](auto& bytes, const auto& info) {
            const base::Bytes rows = *node::unpack_chunk(bytes, info.bytes);
            ZSTD_CCtx* context = ZSTD_createCCtx();
            ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
            bytes.resize(ZSTD_compressBound(rows.size()));
            bytes.resize(
                ZSTD_compress2(context, bytes.data(), bytes.size(), rows.data(), rows.size()));
            ZSTD_freeCCtx(context);
            why = fmt::format("chunk: its frame does not say that it has {} bytes", info.bytes);
        };
    }
    SECTION("something follows it") {
        change = [&](auto& bytes, const auto&) {
            bytes.push_back(std::byte{0});
            why = "chunk: something follows its zstd frame";
        };
    }
    test.shelf(2).lie = [&](SnapshotChunk& chunk) {
        if (chunk.piece.part != SnapshotPart::chunk || lied) return;
        lied = chunk.piece.index;
        change(chunk.bytes, folder.manifest().chunks[*lied]);
    };
    test.run();
    REQUIRE(lied);
    check_closed(test,
                 {2},
                 fmt::format("chunk {} of the snapshot of block 8: {}",
                             folder.chunk_path(*lied).filename().string(),
                             why));
    CHECK(test.intake.chunks_kept == folder.manifest().chunks.size());
}

TEST_CASE("fault: a piece without end, or another one than was asked for", "[faults]") {
    Join test(3);
    std::string text;
    SECTION("a piece that is larger than any") {
        constexpr std::size_t kMost = p2p::kSnapshotPageBytes + (64U << 10U);
        test.shelf(2).lie = [](SnapshotChunk& chunk) {
            if (chunk.piece.part == SnapshotPart::chunk) chunk.bytes.resize(kMost + 1);
        };
        text = fmt::format(
            "sends a piece of a snapshot of {} bytes, {} are allowed", kMost + 1, kMost);
    }
    SECTION("another chunk") {
        test.shelf(2).lie = [](SnapshotChunk& chunk) {
            if (chunk.piece.part == SnapshotPart::chunk) ++chunk.piece.index;
        };
        text = "answers with another piece of a snapshot than was asked for";
    }
    SECTION("another number of chunks") {
        test.shelf(2).lie = [](SnapshotChunk& chunk) {
            if (chunk.piece.part == SnapshotPart::chunk) ++chunk.count;
        };
        const std::size_t count = test.folder().manifest().chunks.size();
        text = fmt::format(
            "says that a snapshot has {} chunks, its manifest has {}", count + 1, count);
    }
    test.run();
    check_closed(test, {2}, text);
}

TEST_CASE("fault: chunks that come late cost score, then the connection", "[faults]") {
    Join test(3);
    test.shelf(2).is_silent = [](const p2p::SnapshotPiece& piece) {
        return piece.part == SnapshotPart::chunk;
    };
    test.run(std::chrono::seconds(9));
    CHECK(test.has_joined());
    CHECK(test.closed().empty());
    test.world.run(std::chrono::seconds(3));
    check_closed(test, {2}, "gives pieces of snapshots too late");
}

TEST_CASE("fault: a chunk, its hash and the manifest made to fit", "[faults]") {
    Join test(3);
    const SnapshotFolder folder = test.folder();
    const std::size_t index = large_chunk(folder);
    const base::Bytes bytes = *folder.chunk(index);
    auto rows = *genesis::chunk_rows(bytes, folder.manifest().chunks[index].entries);
    std::string why;
    SECTION("another value: the lanes are others") {
        base::Bytes value = base::to_bytes(rows.back().value);
        value.push_back(std::byte{1});
        rows.back().value = value;
        const base::Bytes other = packed_rows(rows);
        Forgery forgery(test.source, folder, "forged", [&](auto& manifest, const auto& path) {
            put_chunk(manifest, path, index, other, static_cast<std::uint32_t>(rows.size()));
        });
        why = fmt::format("chunk {}: its rows do not add up to the lanes of the manifest",
                          hex(base::crypto::sha256(other)));
        give_forgery(test, forgery);
        test.run();
        check_closed(test,
                     {1, 2},
                     fmt::format("chunk {}.zst of the snapshot of block 8: {}",
                                 hex(base::crypto::sha256(other)),
                                 why));
    }
    SECTION("rows out of order: their lanes, and the digest, are the same") {
        std::swap(rows[0], rows[1]);
        const base::Bytes other = packed_rows(rows);
        Forgery forgery(test.source, folder, "forged", [&](auto& manifest, const auto& path) {
            put_chunk(manifest, path, index, other, static_cast<std::uint32_t>(rows.size()));
        });
        give_forgery(test, forgery);
        test.run();
        check_closed(test,
                     {1, 2},
                     fmt::format("chunk {}.zst of the snapshot of block 8: chunk: key at offset "
                                 "{}: does not come after that of the row before",
                                 hex(base::crypto::sha256(other)),
                                 packed_rows({rows[0], rows[1]}).size()));
    }
    SECTION("one row 65,536 times more: so are they") {
        // Of a table whose rows are small.
        const auto& chunks = folder.manifest().chunks;
        const auto small = std::ranges::min_element(
            chunks, {}, [](const genesis::ChunkInfo& info) { return info.bytes / info.entries; });
        const auto place = static_cast<std::size_t>(small - chunks.begin());
        const base::Bytes packed = *folder.chunk(place);
        auto many = *genesis::chunk_rows(packed, small->entries);
        many.insert(many.begin(), 65'536, many.front());
        const base::Bytes other = packed_rows(many);
        REQUIRE(other.size() <= genesis::kChunkBytesMax);
        Forgery forgery(test.source, folder, "forged", [&](auto& manifest, const auto& path) {
            put_chunk(manifest, path, place, other, static_cast<std::uint32_t>(many.size()));
        });
        give_forgery(test, forgery);
        test.run();
        check_closed(test,
                     {1, 2},
                     fmt::format("chunk {}.zst of the snapshot of block 8: chunk: key at offset "
                                 "{}: does not come after that of the row before",
                                 hex(base::crypto::sha256(other)),
                                 packed_rows({many[0], many[1]}).size()));
    }
    SECTION("chunks out of order: each is right, they are not") {
        Forgery forgery(test.source, folder, "forged", [](auto& manifest, const auto&) {
            std::swap(manifest.chunks.at(1), manifest.chunks.at(2));
        });
        give_forgery(test, forgery);
        test.run();
        const auto second = node::chunk_file_name(folder.manifest().chunks.at(1).sha256);
        check_closed(test,
                     {1, 2},
                     fmt::format("{}: chunk 2: its first row does not come after the last one of "
                                 "chunk 1",
                                 file(test, forgery.point(), "chunks/" + second)));
        // What the right manifest has, too, is not fetched again.
        CHECK(test.intake.chunks_kept == folder.manifest().chunks.size());
    }
}
