#include "genesis/snapshot_chunk.hpp"

#include "base/codec.hpp"
#include "base/crc32c.hpp"
#include "base/crypto/hash.hpp"
#include "tests/support/snapshot_rows.hpp"

#include <catch2/catch.hpp>

#include <string>

// Chunks are cut alike on every node. One that comes is refused unless its rows are those that the
// manifest adds up: also where somebody made hash, manifest and lanes fit.

namespace {

using Catch::Matchers::Contains;
using chain::Table;
using genesis::Chunk;
using genesis::ChunkInfo;
using support::state_key;
using support::StateRows;

base::Bytes text(std::string_view value) {
    return base::to_bytes(base::as_bytes(value));
}

std::vector<Chunk> chunks_of(const StateRows& rows) {
    auto [manifest, bytes] = support::cut(rows, {}, {});
    std::vector<Chunk> chunks;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        chunks.push_back({manifest.chunks[i], bytes[i]});
    }
    return chunks;
}

// What an attacker packs: any rows in any order, with what makes them fit.
Chunk forged(const std::vector<std::pair<base::Bytes, base::Bytes>>& rows) {
    Chunk chunk;
    base::Writer out;
    for (const auto& [key, value] : rows) {
        out.bytes(key);
        out.bytes(value);
        const auto table = static_cast<Table>(std::to_integer<unsigned>(key.at(1)));
        chunk.info.lanes.add(table, base::ByteView(key).subspan(2), value);
        ++chunk.info.entries;
    }
    chunk.bytes = out.take();
    chunk.info.bytes = static_cast<std::uint32_t>(chunk.bytes.size());
    chunk.info.sha256 = base::crypto::sha256(chunk.bytes);
    return chunk;
}

std::string refusal(const Chunk& chunk, base::Errc code) {
    const auto rows = genesis::check_chunk(chunk.bytes, chunk.info);
    REQUIRE_FALSE(rows.has_value());
    CHECK(rows.error().code == code);
    return rows.error().detail;
}

// Rows of one table.
StateRows many(std::size_t count, std::size_t value_bytes, std::size_t from = 0) {
    StateRows rows;
    for (std::size_t i = 0; i < count; ++i) {
        std::string number = std::to_string(from + i);
        number.insert(0, 8 - number.size(), '0');
        rows[state_key(Table::contract_row, number)] = base::Bytes(value_bytes, std::byte{7});
    }
    return rows;
}

bool cuts(const base::Bytes& key) {
    return (base::crc32c(base::ByteView(key).subspan(2)) & 0x3FFFU) == 0;
}

}  // namespace

TEST_CASE("a chunk has the rows that were put in") {
    const StateRows rows{{state_key(Table::account, "alice"), text("1")},
                         {state_key(Table::account, "bob"), {}},
                         {state_key(Table::account, ""), text(std::string(300, 'x'))}};
    const auto chunks = chunks_of(rows);
    REQUIRE(chunks.size() == 1);
    const auto read = genesis::check_chunk(chunks[0].bytes, chunks[0].info);
    REQUIRE(read.has_value());
    StateRows back;
    for (const genesis::ChunkRow& row : *read)
        back[base::to_bytes(row.key)] = base::to_bytes(row.value);
    CHECK(back == rows);
    CHECK(chunks[0].info.entries == 3);
    chain::StateLanes lanes;
    for (const auto& [key, value] : rows)
        lanes.add(Table::account, base::ByteView(key).subspan(2), value);
    CHECK(chunks[0].info.lanes == lanes);
}

TEST_CASE("a chunk ends before another table") {
    const auto chunks = chunks_of({{state_key(Table::account, "z"), text("1")},
                                   {state_key(Table::permission, "a"), text("2")},
                                   {state_key(Table::permission, "b"), text("3")}});
    REQUIRE(chunks.size() == 2);
    CHECK(chunks[0].info.entries == 1);
    CHECK(chunks[1].info.entries == 2);
}

TEST_CASE("a chunk ends at 4 MiB, and from 1 MiB on before a key that says so") {
    // Many small rows, of which some key cuts; and large ones, of which hardly any does.
    const bool is_small = GENERATE(true, false);
    StateRows rows = is_small ? many(200'000, 100) : many(12'000, 1'000);
    const auto chunks = chunks_of(rows);
    std::size_t cut_by_key = 0;
    std::size_t full = 0;
    auto row = rows.begin();
    for (const Chunk& chunk : chunks) {
        // Computed here from the rule alone: where must this chunk end?
        std::size_t bytes = 0;
        std::uint32_t entries = 0;
        for (; row != rows.end(); ++row, ++entries) {
            const std::size_t length = row->second.size();
            const std::size_t next = 1 + row->first.size() + (length < 128 ? 1 : 2) + length;
            if (bytes + next > genesis::kChunkBytesMax) {
                ++full;
                break;
            }
            if (bytes >= genesis::kChunkBytesMin && cuts(row->first)) {
                ++cut_by_key;
                break;
            }
            bytes += next;
        }
        CHECK(chunk.info.entries == entries);
        CHECK(chunk.info.bytes == bytes);
    }
    CHECK(row == rows.end());
    CHECK((is_small ? cut_by_key : full) >= 2);
}

TEST_CASE("a row that is inserted changes one chunk") {
    StateRows rows = many(200'000, 100);
    const auto before = chunks_of(rows);
    rows[state_key(Table::contract_row, "00000500x")] = text("new");
    const auto after = chunks_of(rows);
    std::size_t changed = 0;
    for (const Chunk& chunk : after) {
        const bool known = std::ranges::any_of(
            before, [&](const Chunk& old) { return old.info.sha256 == chunk.info.sha256; });
        if (!known) ++changed;
    }
    INFO(after.size() << " chunks");
    CHECK(after.size() >= 8);
    CHECK(changed == 1);
}

TEST_CASE("rows that are out of order, of no table, or too large are not cut") {
    genesis::ChunkCutter cutter;
    REQUIRE(cutter.add(state_key(Table::account, "b"), {}).has_value());
    const auto refused = [&](const base::Bytes& key, const base::Bytes& value = {}) {
        const auto added = cutter.add(key, value);
        REQUIRE_FALSE(added.has_value());
        CHECK(added.error().code == base::Errc::corrupt);
        return added.error().detail;
    };
    CHECK_THAT(refused(state_key(Table::account, "b")), Contains("does not come after row"));
    CHECK_THAT(refused(state_key(Table::account, "a")), Contains("does not come after row"));
    CHECK_THAT(refused(text("\x01")), Contains("no known table"));
    CHECK_THAT(refused(chain::stored_key(static_cast<Table>(27), {})), Contains("no known table"));
    CHECK_THAT(refused(state_key(Table::account, "c"), base::Bytes(genesis::kChunkBytesMax)),
               Contains("a chunk has at most 4194304"));
    CHECK(cutter.finish()->info.entries == 1);
    CHECK_FALSE(cutter.finish().has_value());
}

TEST_CASE("a chunk that is cut, swapped or has a bit flipped is its sender's fault") {
    StateRows rows = many(3, 1'000);
    Chunk chunk = chunks_of(rows)[0];
    SECTION("cut") {
        chunk.bytes.pop_back();
        CHECK_THAT(refusal(chunk, base::Errc::malformed), Contains("the manifest says"));
    }
    SECTION("bit flipped") {
        chunk.bytes[500] ^= std::byte{1};
        CHECK_THAT(refusal(chunk, base::Errc::malformed), Contains("its SHA-256"));
    }
    SECTION("swapped") {
        chunk.bytes = chunks_of(many(3, 1'000, 5))[0].bytes;
        CHECK_THAT(refusal(chunk, base::Errc::malformed), Contains("its SHA-256"));
    }
}

TEST_CASE("a chunk with hash and lanes made to fit is refused by the order of its rows") {
    const base::Bytes a = state_key(Table::account, "a");
    const base::Bytes b = state_key(Table::account, "b");
    SECTION("descending") {
        CHECK_THAT(refusal(forged({{b, text("1")}, {a, text("2")}}), base::Errc::invalid),
                   Contains("does not come after that of the row before"));
    }
    SECTION("one row 65,536 times, which the lanes do not see") {
        std::vector<std::pair<base::Bytes, base::Bytes>> rows(65'536, {a, text("rich")});
        Chunk chunk = forged(rows);
        REQUIRE(chunk.info.lanes == chain::StateLanes());
        CHECK_THAT(refusal(chunk, base::Errc::invalid), Contains("does not come after"));
    }
    SECTION("two tables in one") {
        const base::Bytes other = state_key(Table::permission, "a");
        CHECK_THAT(refusal(forged({{a, {}}, {other, {}}}), base::Errc::invalid),
                   Contains("another table"));
    }
    SECTION("a table that is none") {
        Chunk chunk = forged({{a, {}}});
        chunk.bytes[2] = std::byte{99};
        chunk.info.sha256 = base::crypto::sha256(chunk.bytes);
        CHECK_THAT(refusal(chunk, base::Errc::invalid), Contains("no known table"));
    }
    SECTION("over the border of two chunks") {
        CHECK(genesis::check_border(a, b, 3).has_value());
        const auto same = genesis::check_border(a, a, 3);
        REQUIRE_FALSE(same.has_value());
        CHECK_THAT(same.error().detail, Contains("chunk 3: its first row does not come after"));
        CHECK_FALSE(genesis::check_border(b, a, 3).has_value());
    }
}

TEST_CASE("a chunk with a hash made to fit is refused by its form or its lanes") {
    Chunk chunk = forged(
        {{state_key(Table::account, "a"), text("1")}, {state_key(Table::account, "b"), text("2")}});
    REQUIRE(genesis::check_chunk(chunk.bytes, chunk.info).has_value());
    SECTION("another value") {
        chunk.bytes.back() = std::byte{'9'};
        chunk.info.sha256 = base::crypto::sha256(chunk.bytes);
        CHECK_THAT(refusal(chunk, base::Errc::invalid), Contains("do not add up to the lanes"));
    }
    SECTION("fewer rows than it says, and more") {
        chunk.info.entries = 3;
        CHECK_THAT(refusal(chunk, base::Errc::invalid), Contains("are 2, the manifest says 3"));
        chunk.info.entries = 1;
        CHECK_THAT(refusal(chunk, base::Errc::invalid), Contains("6 trailing bytes"));
    }
    SECTION("a length that runs over its end") {
        chunk.bytes[chunk.bytes.size() - 2] = std::byte{9};
        chunk.info.sha256 = base::crypto::sha256(chunk.bytes);
        CHECK_THAT(refusal(chunk, base::Errc::invalid), Contains("value"));
    }
    SECTION("a length that is not in its shortest form") {
        base::Bytes longer{std::byte{0x83}, std::byte{0}};
        longer.insert(longer.end(), chunk.bytes.begin() + 1, chunk.bytes.end());
        chunk.bytes = longer;
        chunk.info.bytes = static_cast<std::uint32_t>(longer.size());
        chunk.info.sha256 = base::crypto::sha256(chunk.bytes);
        CHECK_THAT(refusal(chunk, base::Errc::invalid), Contains("key"));
    }
}
