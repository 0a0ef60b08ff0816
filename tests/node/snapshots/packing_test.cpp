#include "node/snapshots/packing.hpp"

#include "base/rng.hpp"

#include <catch2/catch.hpp>

#include <zstd.h>

// A chunk's file holds one zstd frame with the length of its content; anything else is refused, and
// nothing is unpacked that is longer than it should be.

namespace {

base::Bytes content(std::size_t size) {
    base::Rng rng(3);
    base::Bytes bytes(size);
    for (std::byte& each : bytes)
        each = static_cast<std::byte>(rng.below(5));
    return bytes;
}

void check_refused(base::ByteView packed, std::size_t size, std::string_view why) {
    const auto bytes = node::unpack_chunk(packed, size);
    REQUIRE_FALSE(bytes);
    CHECK(bytes.error().code == base::Errc::malformed);
    CHECK(bytes.error().detail.find(why) != std::string::npos);
}

}  // namespace

TEST_CASE("a chunk is unpacked to what was packed") {
    const std::size_t size = GENERATE(0U, 1U, 1000U, 4'194'304U);
    const base::Bytes bytes = content(size);
    const base::Bytes packed = node::pack_chunk(bytes);
    CHECK(packed.size() <= node::packed_bytes_max(size));
    CHECK(node::unpack_chunk(packed, size).value() == bytes);
}

TEST_CASE("a chunk of another length than the manifest says is not unpacked") {
    const base::Bytes packed = node::pack_chunk(content(1000));
    check_refused(packed, 999, "has 1000 bytes, 999 were announced");
    check_refused(packed, 1001, "has 1000 bytes, 1001 were announced");
}

TEST_CASE("a frame that does not say how long it is is refused") {
    const base::Bytes bytes = content(1000);
    base::Bytes packed(ZSTD_compressBound(bytes.size()));
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
    const std::size_t size =
        ZSTD_compress2(context, packed.data(), packed.size(), bytes.data(), bytes.size());
    ZSTD_freeCCtx(context);
    REQUIRE(ZSTD_isError(size) == 0);
    packed.resize(size);
    check_refused(packed, bytes.size(), "does not say that it has 1000 bytes");
}

TEST_CASE("a chunk that is cut short, goes on or is damaged is refused") {
    const base::Bytes bytes = content(10'000);
    const base::Bytes packed = node::pack_chunk(bytes);
    for (std::size_t size = 0; size < packed.size(); ++size)
        CHECK_FALSE(node::unpack_chunk(base::ByteView(packed).first(size), bytes.size()));
    base::Bytes longer = packed;
    longer.push_back(std::byte{0});
    check_refused(longer, bytes.size(), "something follows");
    base::Bytes twice = packed;
    twice.insert(twice.end(), packed.begin(), packed.end());
    check_refused(twice, bytes.size(), "something follows");
    // What zstd does not notice, the SHA-256 does.
    for (std::size_t at = 0; at < packed.size(); ++at) {
        base::Bytes damaged = packed;
        damaged[at] ^= std::byte{0x10};
        const auto read = node::unpack_chunk(damaged, bytes.size());
        if (read) CHECK(read->size() == bytes.size());
    }
}

TEST_CASE("a frame that unpacks to gigabytes is refused by what it says") {
    // 4 GiB of zeros, as a frame of one run-length block would begin: magic, descriptor, 8 bytes of
    // content size.
    const base::Bytes bomb = base::from_hex("28b52ffde00000000001000000").value();
    check_refused(bomb, 4096, "has 4294967296 bytes, 4096 were announced");
}
