// What compression.type of a topic makes of a batch, by the libraries themselves.
#include "node/bps/core/recompress.hpp"

#include "node/bps/core/partition.hpp"
#include "node/bps/disk/codecs.hpp"
#include "tests/node/bps/core/log_fixture.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace {

using bps::Codecs;
using bps::Compression;
using bps::ErrorCode;

const std::vector<Compression> kAll = {
    Compression::none, Compression::gzip, Compression::snappy, Compression::lz4, Compression::zstd};

support::BatchSpec three_records() {
    support::BatchSpec spec{.records = {{"a", std::string(500, 'x'), 0},
                                        {"b", std::nullopt, 7},
                                        {std::nullopt, "last", 9}},
                            .base_timestamp = 1'000};
    spec.producer_id = 5;
    spec.producer_epoch = 2;
    spec.base_sequence = 11;
    return spec;
}

// As a client that compresses makes it.
base::Bytes compressed(const support::BatchSpec& spec, Compression as) {
    const base::Bytes plain = support::make_batch(spec);
    auto header = bps::read_batch_header(plain).value();
    header.attributes = static_cast<std::int16_t>(as);
    return bps::pack_batch(
        header, Codecs::compress(as, base::ByteView(plain).subspan(bps::kBatchHeaderBytes)));
}

// Key, value and time of each record.
std::vector<std::string> records_of(base::ByteView batch) {
    const auto header = bps::read_batch_header(batch).value();
    const Codecs codecs;
    base::Bytes opened;
    auto walk = bps::open_records(batch, header, codecs, opened).value();
    std::vector<std::string> records;
    const auto text = [](const std::optional<base::ByteView>& bytes) {
        return bytes ? std::string(base::as_text(*bytes)) : std::string("-");
    };
    while (true) {
        const auto record = walk.next();
        REQUIRE(record.has_value());
        if (!*record) return records;
        records.push_back(text((*record)->key) + " " + text((*record)->value) + " " +
                          std::to_string((*record)->timestamp));
    }
}

}  // namespace

TEST_CASE("records are the same however they are stored", "[bps][recompress]") {
    const auto expected = records_of(support::make_batch(three_records()));
    REQUIRE(expected.size() == 3);
    const Codecs codecs;
    for (const Compression from : kAll) {
        for (const Compression to : kAll) {
            const base::Bytes batch = compressed(three_records(), from);
            const auto made = bps::recompress(batch, {}, to, codecs);
            REQUIRE(made.has_value());
            const auto header = bps::check_produced(*made, {});
            REQUIRE(header.has_value());
            CHECK(header->compression() == to);
            CHECK(header->producer_id == 5);
            CHECK(header->producer_epoch == 2);
            CHECK(header->base_sequence == 11);
            CHECK(header->max_timestamp == 1'009);
            CHECK(records_of(*made) == expected);
        }
    }
}

TEST_CASE("what opens to more than a batch may have is refused", "[bps][recompress]") {
    support::BatchSpec spec = three_records();
    spec.records[0].value = std::string(100'000, 'x');
    const base::Bytes batch = compressed(spec, Compression::gzip);
    REQUIRE(batch.size() < 1'000);
    const auto made = bps::recompress(batch, {.bytes_max = 1'000}, Compression::zstd, Codecs());
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().code == ErrorCode::invalid_record);
    CHECK(made.error().reason.find("open to more than 1000; make smaller batches") !=
          std::string::npos);
}

TEST_CASE("a compressed batch that lies of its records is refused", "[bps][recompress]") {
    const auto refusal_of = [](const base::Bytes& batch, const bps::BatchRules& rules) {
        const auto made = bps::recompress(batch, rules, Compression::lz4, Codecs());
        REQUIRE_FALSE(made.has_value());
        return made.error().code;
    };
    base::Bytes more = compressed(three_records(), Compression::gzip);
    auto header = bps::read_batch_header(more).value();
    header.records_count = 4;
    const base::ByteView content = base::ByteView(more).subspan(bps::kBatchHeaderBytes);
    CHECK(refusal_of(bps::pack_batch(header, content), {}) == ErrorCode::invalid_record);
    CHECK(refusal_of(more, {.needs_keys = true}) == ErrorCode::invalid_record);
    header.records_count = 3;
    CHECK(refusal_of(bps::pack_batch(header, base::as_bytes("no gzip")), {}) ==
          ErrorCode::invalid_record);
    more.back() ^= std::byte{1};
    CHECK(refusal_of(more, {}) == ErrorCode::corrupt_message);
}

TEST_CASE("gzip is made as fast as it can be", "[bps][recompress]") {
    const std::string text(10'000, 'x');
    const base::Bytes made = Codecs::compress(Compression::gzip, base::as_bytes(text));
    constexpr std::size_t kExtraFlags = 8;  // RFC 1952: XFL.
    REQUIRE(made.size() > kExtraFlags);
    CHECK(std::to_integer<int>(made[kExtraFlags]) == 4);
}

TEST_CASE("what would cost more than a request may is stored as it came", "[bps][recompress]") {
    support::SimulatedFiles files;
    const Codecs codecs;
    bps::PartitionSettings settings;
    settings.stored_as = Compression::gzip;
    bps::Partition partition({1, 0}, support::open_log(files, settings.log), settings);
    REQUIRE(partition.lead(1, 1).has_value());
    // Of a request whose earlier parts have used up all of it; the second is another one's.
    const bps::LimitedOpener used_up(codecs, 0);
    const auto produce = [&](std::int32_t sequence, const bps::Decompressor& opener) {
        support::BatchSpec spec = three_records();
        spec.base_sequence = sequence;
        base::Bytes batch = compressed(spec, Compression::zstd);
        return partition.produce({.batch = batch, .acks = 1, .version = 9}, opener, 0);
    };
    REQUIRE(produce(0, used_up).has_value());
    REQUIRE(produce(3, codecs).has_value());
    support::sync(partition.log(), files);
    for (const auto& [offset, compression] :
         {std::pair(0, Compression::zstd), std::pair(3, Compression::gzip)}) {
        bps::FetchRequest::Partition want;
        want.fetch_offset = offset;
        const auto stored = partition.read(want, 10, 1);
        REQUIRE(stored.has_value());
        const base::Bytes bytes = support::fetched(files, *stored);
        CHECK(bps::read_batch_header(bytes)->compression() == compression);
        CHECK(records_of(bytes) == records_of(support::make_batch(three_records())));
    }
}

TEST_CASE("a partition stores as its topic says, and repeats are seen", "[bps][recompress]") {
    support::SimulatedFiles files;
    const Codecs codecs;
    bps::PartitionSettings settings;
    settings.stored_as = Compression::zstd;
    bps::Partition partition({1, 0}, support::open_log(files, settings.log), settings);
    REQUIRE(partition.lead(1, 1).has_value());
    const auto produce = [&](base::Bytes batch) {
        // Of a version that knows no zstd itself.
        return partition.produce({.batch = batch, .acks = 1, .version = 5}, codecs, 0);
    };
    REQUIRE(produce(compressed(three_records(), Compression::snappy)).has_value());
    const auto again = produce(compressed(three_records(), Compression::snappy));
    REQUIRE(again.has_value());
    CHECK(again->is_duplicate);
    CHECK(again->base_offset == 0);
    support::sync(partition.log(), files);

    bps::FetchRequest::Partition want;
    want.fetch_offset = 0;
    const auto stored = partition.read(want, 10, 10'000);
    REQUIRE(stored.has_value());
    const base::Bytes bytes = support::fetched(files, *stored);
    CHECK(bps::read_batch_header(bytes)->compression() == Compression::zstd);
    CHECK(records_of(bytes) == records_of(support::make_batch(three_records())));
    const auto old = partition.read(want, 9, 10'000);
    REQUIRE_FALSE(old.has_value());
    CHECK(old.error().code == ErrorCode::unsupported_compression_type);
}
