#include "node/bps/disk/codecs.hpp"

#include "base/rng.hpp"
#include "node/bps/core/records.hpp"
#include "tests/support/paths.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <lz4frame.h>
#include <map>
#include <snappy.h>
#include <string>
#include <vector>
#include <zlib.h>
#include <zstd.h>

// What the libraries and Kafka's clients make is opened; what is damaged, cut, too long or not of
// the kind is refused.

namespace {

using bps::Codecs;
using bps::Compression;

constexpr std::size_t kMax = 4U << 20U;

base::Bytes bytes(std::string_view text) {
    return base::to_bytes(base::as_bytes(text));
}

base::Bytes joined(base::ByteView a, base::ByteView b) {
    base::Bytes both = base::to_bytes(a);
    both.insert(both.end(), b.begin(), b.end());
    return both;
}

base::Bytes noise(std::size_t size) {
    base::Rng rng(7);
    base::Bytes made(size);
    for (std::byte& byte : made)
        byte = std::byte(rng.below(256));
    return made;
}

std::vector<base::Bytes> contents() {
    base::Bytes mixed = noise(50'000);
    mixed.resize(200'000);
    return {bytes("x"),
            bytes("a record of a producer"),
            base::Bytes(1'000'000, std::byte{'r'}),
            noise(100'000),
            mixed};
}

Compression any_compression() {
    return GENERATE(Compression::gzip, Compression::snappy, Compression::lz4, Compression::zstd);
}

base::Result<base::Bytes> open(Compression compression,
                               base::ByteView packed,
                               std::size_t bytes_max = kMax) {
    auto opened = Codecs().decompress(compression, packed, bytes_max);
    if (opened) CHECK(opened->size() <= bytes_max);
    if (!opened) CHECK(opened.error().code == base::Errc::malformed);
    return opened;
}

// A bare block, as librdkafka sends it.
base::Bytes bare_snappy(base::ByteView content) {
    std::string made;
    const std::string_view text = base::as_text(content);
    snappy::Compress(text.data(), text.size(), &made);
    return bytes(made);
}

base::Bytes lz4_frame(base::ByteView content, const LZ4F_preferences_t& preferences) {
    base::Bytes made(LZ4F_compressFrameBound(content.size(), &preferences));
    made.resize(
        LZ4F_compressFrame(made.data(), made.size(), content.data(), content.size(), &preferences));
    return made;
}

// One that was made piece by piece, so that its frame does not say how long it is.
base::Bytes zstd_stream(base::ByteView content, int level, int window_log = 0) {
    ZSTD_CCtx* const context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
    base::Bytes made(ZSTD_compressBound(content.size()) + 100);
    ZSTD_outBuffer out{made.data(), made.size(), 0};
    const std::size_t half = content.size() / 2;
    ZSTD_inBuffer first{content.data(), half, 0};
    ZSTD_inBuffer second{content.data() + half, content.size() - half, 0};
    CHECK(ZSTD_isError(ZSTD_compressStream2(context, &out, &first, ZSTD_e_continue)) == 0);
    CHECK(ZSTD_compressStream2(context, &out, &second, ZSTD_e_end) == 0);
    ZSTD_freeCCtx(context);
    made.resize(out.pos);
    return made;
}

base::Bytes read_whole(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return bytes(std::string(std::istreambuf_iterator<char>(in), {}));
}

}  // namespace

TEST_CASE("what is compressed here is opened here", "[bps][codecs]") {
    const Compression compression = any_compression();
    for (const base::Bytes& content : contents()) {
        const auto opened = open(compression, Codecs::compress(compression, content));
        REQUIRE(opened.has_value());
        CHECK(*opened == content);
    }
    CHECK(Codecs::compress(Compression::none, bytes("as it is")) == bytes("as it is"));
    const base::Bytes repeated(1'000'000, std::byte{'r'});
    CHECK(Codecs::compress(compression, repeated).size() < repeated.size() / 15);
}

// The batches that librdkafka and kafkajs sent (tests/vectors/kafka/README.md).
TEST_CASE("batches of Kafka's clients are opened to as many records as they say", "[bps][codecs]") {
    std::map<Compression, int> seen;
    const std::filesystem::path corpus = tests::data_dir() + "/fuzz/corpus/bps_batch";
    for (const auto& file : std::filesystem::directory_iterator(corpus)) {
        INFO(file.path());
        const base::Bytes batch = read_whole(file.path());
        const auto header = bps::read_stored_batch(batch, 0);
        REQUIRE(header.has_value());
        base::Bytes opened;
        auto records = bps::open_records(batch, *header, Codecs(), opened);
        REQUIRE(records.has_value());
        for (std::int32_t i = 0; i < header->records_count; ++i) {
            const auto record = records->next();
            REQUIRE(record.has_value());
            REQUIRE(record->has_value());
            CHECK((*record)->offset_delta == i);
        }
        const auto end = records->next();
        REQUIRE(end.has_value());
        CHECK_FALSE(end->has_value());
        ++seen[header->compression()];
    }
    for (const Compression each :
         {Compression::gzip, Compression::snappy, Compression::lz4, Compression::zstd}) {
        CHECK(seen[each] > 0);
    }
}

TEST_CASE("every form that a client may send is opened", "[bps][codecs]") {
    for (const base::Bytes& content : contents()) {
        CHECK(open(Compression::snappy, bare_snappy(content)).value() == content);
        for (const int level : {-5, 1, 3, 19}) {
            CHECK(open(Compression::zstd, zstd_stream(content, level)).value() == content);
        }
        LZ4F_preferences_t preferences{};
        preferences.frameInfo.blockSizeID = LZ4F_max4MB;
        preferences.frameInfo.blockMode = LZ4F_blockLinked;
        preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
        preferences.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled;
        preferences.frameInfo.contentSize = content.size();
        CHECK(open(Compression::lz4, lz4_frame(content, preferences)).value() == content);
        preferences.compressionLevel = 9;
        CHECK(open(Compression::lz4, lz4_frame(content, preferences)).value() == content);
    }
    // A window of 128 MiB, which the highest level asks for, whatever comes.
    const base::Bytes wide = zstd_stream(bytes("a record"), 1, 27);
    CHECK(open(Compression::zstd, wide).value() == bytes("a record"));
}

TEST_CASE("what is made has the form that every client reads", "[bps][codecs]") {
    const base::Bytes content(100'000, std::byte{'r'});
    const base::Bytes snappy = Codecs::compress(Compression::snappy, content);
    const std::string_view head("\x82SNAPPY\0\0\0\0\1\0\0\0\1", 16);
    CHECK(base::as_text(base::ByteView(snappy).first(16)) == head);
    const base::Bytes lz4 = Codecs::compress(Compression::lz4, content);
    constexpr std::byte kIndependentBlocks{0x20};
    CHECK((lz4[4] & std::byte{0x3F}) == kIndependentBlocks);
    const base::Bytes zstd = Codecs::compress(Compression::zstd, content);
    CHECK(ZSTD_getFrameContentSize(zstd.data(), zstd.size()) == content.size());
}

TEST_CASE("members and frames one behind another are one content", "[bps][codecs]") {
    const Compression compression =
        GENERATE(Compression::gzip, Compression::lz4, Compression::zstd);
    const base::Bytes both = joined(Codecs::compress(compression, bytes("first ")),
                                    Codecs::compress(compression, bytes("second")));
    CHECK(open(compression, both).value() == bytes("first second"));
}

TEST_CASE("as much as allowed is opened, and not a byte more", "[bps][codecs]") {
    const Compression compression = any_compression();
    for (const base::Bytes& content : contents()) {
        const base::Bytes packed = Codecs::compress(compression, content);
        CHECK(open(compression, packed, content.size()).value() == content);
        if (content.size() == 1) continue;
        for (const std::size_t fewer : {std::size_t{1}, content.size() / 2, content.size() - 1}) {
            const auto refused = open(compression, packed, fewer);
            REQUIRE_FALSE(refused);
            CHECK_THAT(refused.error().detail,
                       Catch::Contains("more than " + std::to_string(fewer)) &&
                           Catch::Contains("smaller batches"));
        }
    }
}

TEST_CASE("what is cut short is refused, at whatever byte", "[bps][codecs]") {
    const Compression compression = any_compression();
    const base::Bytes packed = Codecs::compress(compression, bytes("a record, a record, a record"));
    // Of the Java library's form, the head alone is a stream without blocks.
    constexpr std::size_t kHeadOfJava = 16;
    for (std::size_t size = 0; size < packed.size(); ++size) {
        INFO(size);
        if (compression == Compression::snappy && size == kHeadOfJava) continue;
        CHECK_FALSE(open(compression, base::ByteView(packed).first(size)));
    }
    const base::Bytes bare = bare_snappy(bytes("a record, a record, a record"));
    for (std::size_t size = 0; size < bare.size(); ++size) {
        CHECK_FALSE(open(Compression::snappy, base::ByteView(bare).first(size)));
    }
}

TEST_CASE("what follows on the end is refused", "[bps][codecs]") {
    const Compression compression = any_compression();
    const base::Bytes packed = Codecs::compress(compression, bytes("a record"));
    CHECK_FALSE(open(compression, joined(packed, bytes("?"))));
    CHECK_FALSE(open(compression, joined(packed, bytes("some more that is none"))));
    CHECK_FALSE(open(Compression::snappy, joined(bare_snappy(bytes("a record")), bytes("?"))));
}

TEST_CASE("one kind is not taken for another", "[bps][codecs]") {
    const Compression made = any_compression();
    const base::Bytes packed = Codecs::compress(made, bytes("a record, a record, a record"));
    for (const Compression opened_as :
         {Compression::gzip, Compression::snappy, Compression::lz4, Compression::zstd}) {
        CHECK(open(opened_as, packed).has_value() == (opened_as == made));
    }
    // zlib's own header and none are not gzip's.
    base::Bytes zlib(100);
    uLongf size = zlib.size();
    REQUIRE(compress(reinterpret_cast<Bytef*>(zlib.data()),
                     &size,
                     reinterpret_cast<const Bytef*>("a record"),
                     8) == Z_OK);
    zlib.resize(size);
    CHECK_FALSE(open(Compression::gzip, zlib));
    CHECK_FALSE(open(Compression::none, packed));
    CHECK_FALSE(open(static_cast<Compression>(7), packed));
}

TEST_CASE("a flipped bit is seen where there is a sum, and harms nothing elsewhere",
          "[bps][codecs]") {
    const Compression compression = any_compression();
    const base::Bytes content = bytes("a record, a record, a record, and another one");
    const base::Bytes packed = Codecs::compress(compression, content);
    for (std::size_t bit = 0; bit < 8 * packed.size(); ++bit) {
        base::Bytes damaged = packed;
        damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        const auto opened = open(compression, damaged);
        // Of gzip the time, the level and the system are not covered.
        if (compression == Compression::gzip && opened) CHECK(*opened == content);
    }
}
