#include "node/bps/core/batch.hpp"

#include "base/crc32c.hpp"
#include "node/bps/core/codec/requests.hpp"
#include "node/bps/core/records.hpp"
#include "tests/node/bps/core/batches.hpp"
#include "tests/node/bps/core/message_description.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <string>

namespace {

using bps::ErrorCode;

ErrorCode code_of(const base::Bytes& batch, const bps::BatchRules& rules = {}) {
    const auto checked = bps::check_produced(batch, rules);
    return checked ? ErrorCode::none : checked.error().code;
}

// The batch of `spec` after `change`, its CRC set anew.
ErrorCode code_after(const support::BatchSpec& spec, std::size_t at, const std::string& bytes) {
    base::Bytes batch = support::make_batch(spec);
    const base::Bytes changed = base::from_hex(bytes).value();
    std::copy(changed.begin(), changed.end(), batch.begin() + static_cast<std::ptrdiff_t>(at));
    support::set_crc(batch);
    return code_of(batch);
}

}  // namespace

TEST_CASE("a batch is read as Kafka's message format has it", "[bps][batch]") {
    const base::Bytes batch = support::make_batch({.records = {{"k", "v", 5}, {"l", "w", 9}},
                                                   .base_timestamp = 1'000,
                                                   .producer_id = 7,
                                                   .producer_epoch = 3,
                                                   .base_sequence = 11});
    const auto header = bps::check_produced(batch, {});
    REQUIRE(header.has_value());
    CHECK(header->bytes() == batch.size());
    CHECK(header->records_count == 2);
    CHECK(header->last_offset_delta == 1);
    CHECK(header->max_timestamp == 1'009);
    CHECK(header->producer_id == 7);
    CHECK(header->producer_epoch == 3);
    CHECK(header->base_sequence == 11);
    CHECK(header->last_sequence() == 12);
    CHECK(header->compression() == bps::Compression::none);
    bps::RecordWalk walk(*header, base::ByteView(batch).subspan(bps::kBatchHeaderBytes));
    const auto first = walk.next();
    REQUIRE(first.has_value());
    CHECK((*first)->timestamp == 1'005);
    CHECK(base::as_text(*(*first)->key) == "k");
    CHECK(base::as_text(*(*first)->value) == "v");
    const auto second = walk.next();
    CHECK((*second)->offset_delta == 1);
    CHECK((*second)->timestamp == 1'009);
    CHECK_FALSE(walk.next()->has_value());
}

TEST_CASE("batches of real clients are taken, with each compression", "[bps][batch]") {
    std::ifstream in(description::data_file("kafka/requests.txt"));
    std::map<bps::Compression, int> seen;
    int idempotent = 0;
    for (std::string text; std::getline(in, text);) {
        std::istringstream line(text);
        std::string client;
        std::string name;
        std::string version;
        std::string hex;
        line >> client >> name >> version >> hex;
        if (name != "Produce") continue;
        const base::Bytes bytes = base::from_hex(hex).value();
        const auto frame = bps::read_request_frame(bytes);
        const auto request = bps::decode_request(*frame);
        for (const auto& topic : std::get<bps::ProduceRequest>(*request).topic_data) {
            for (const auto& partition : topic.partition_data) {
                const auto header = bps::check_produced(*partition.records, {});
                if (!header) FAIL(client << ": " << header.error().reason);
                ++seen[header->compression()];
                if (header->is_idempotent()) ++idempotent;
            }
        }
    }
    CHECK(seen.size() == 5);
    CHECK(idempotent > 2);
}

TEST_CASE("each first part of a batch is refused", "[bps][batch]") {
    const base::Bytes batch = support::make_batch({.records = {{"k", "v", 0}}});
    CHECK(code_of(batch) == ErrorCode::none);
    for (std::size_t size = 0; size < batch.size(); ++size) {
        const base::Bytes part(batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(size));
        INFO(size);
        CHECK(code_of(part) ==
              (size <= 16 ? ErrorCode::invalid_record : ErrorCode::corrupt_message));
        CHECK_FALSE(bps::read_stored_batch(part, 0).has_value());
    }
}

TEST_CASE("each flipped bit of a batch is seen", "[bps][batch]") {
    const base::Bytes batch = support::make_batch({.records = {{"k", "v", 0}}});
    for (std::size_t bit = 0; bit < 8 * batch.size(); ++bit) {
        const std::size_t at = bit / 8;
        if (at >= 12 && at < 16) continue;  // The leader epoch is the broker's to set.
        base::Bytes flipped = batch;
        flipped[at] ^= static_cast<std::byte>(1U << (bit % 8));
        INFO(bit);
        CHECK(code_of(flipped) != ErrorCode::none);
    }
}

TEST_CASE("a batch that breaks a rule is refused with Kafka's code for it", "[bps][batch]") {
    const support::BatchSpec plain{.records = {{"k", "v", 0}, {"l", "w", 1}}};
    CHECK(code_after(plain, 0, "0000000000000001") == ErrorCode::invalid_record);
    CHECK(code_after(plain, 16, "00") == ErrorCode::unsupported_for_message_format);
    CHECK(code_after(plain, 16, "01") == ErrorCode::unsupported_for_message_format);
    CHECK(code_after(plain, 16, "03") == ErrorCode::corrupt_message);
    CHECK(code_after(plain, 21, "0005") == ErrorCode::unsupported_compression_type);
    CHECK(code_after(plain, 21, "0008") == ErrorCode::invalid_timestamp);
    CHECK(code_after(plain, 21, "0010") == ErrorCode::transactional_id_authorization_failed);
    CHECK(code_after(plain, 21, "0020") == ErrorCode::invalid_record);
    CHECK(code_after(plain, 21, "0040") == ErrorCode::invalid_record);
    CHECK(code_after(plain, 21, "8000") == ErrorCode::invalid_record);
    CHECK(code_after(plain, 23, "00000002") == ErrorCode::invalid_record);
    CHECK(code_after(plain, 23, "ffffffff") == ErrorCode::invalid_record);
    CHECK(code_after(plain, 35, "fffffffffffffffe") == ErrorCode::invalid_timestamp);
    CHECK(code_after(plain, 43, "fffffffffffffffe") == ErrorCode::invalid_record);
    // A producer without epoch and sequence.
    CHECK(code_after(plain, 43, "0000000000000001") == ErrorCode::invalid_record);
    CHECK(code_after(plain, 57, "00000000") == ErrorCode::invalid_record);
    CHECK(code_after(plain, 57, "00000003") == ErrorCode::invalid_record);
    CHECK(code_after(plain, 57, "ffffffff") == ErrorCode::invalid_record);
    base::Bytes twice = support::make_batch(plain);
    twice.insert(twice.end(), twice.begin(), twice.end());
    CHECK(code_of(twice) == ErrorCode::invalid_record);
    CHECK(code_of(support::make_batch(plain), {.bytes_max = 70}) == ErrorCode::message_too_large);
}

TEST_CASE("the records of a batch are looked at one by one", "[bps][batch]") {
    // A record of 7 bytes: length, attributes, time, offset, key, value, headers.
    const auto code = [](const std::string& records) {
        return code_of(support::make_raw_batch(base::from_hex(records).value(), 1));
    };
    CHECK(code("0c000000010100") == ErrorCode::none);
    CHECK(code("0c000000010100"
               "00") == ErrorCode::invalid_record);                  // A byte is left.
    CHECK(code("0c000002010100") == ErrorCode::invalid_record);      // Offset 1, not 0.
    CHECK(code("0c000000030100") == ErrorCode::invalid_record);      // A key of -2 bytes.
    CHECK(code("0c000000010103") == ErrorCode::invalid_record);      // -2 headers.
    CHECK(code("0c000000018001") == ErrorCode::invalid_record);      // A value beyond the end.
    CHECK(code("0d000000010100") == ErrorCode::invalid_record);      // A length of -7.
    CHECK(code("0e000000010100") == ErrorCode::invalid_record);      // Longer than what is left.
    CHECK(code("0a0000000101") == ErrorCode::invalid_record);        // No count of headers.
    CHECK(code("100000000101020101") == ErrorCode::invalid_record);  // A header without key.
    CHECK(code("fcffffff0f000000010100") == ErrorCode::invalid_record);
}

TEST_CASE("a compacted topic takes no record without a key", "[bps][batch]") {
    const base::Bytes batch = support::make_batch({.records = {{"k", "v", 0}, {{}, "w", 0}}});
    CHECK(code_of(batch) == ErrorCode::none);
    CHECK(code_of(batch, {.needs_keys = true}) == ErrorCode::invalid_record);
}

TEST_CASE("zstd is refused where the version of Produce does not know it", "[bps][batch]") {
    const base::Bytes batch = support::make_batch({.records = {{"k", "v", 0}}, .attributes = 4});
    CHECK(code_of(batch) == ErrorCode::none);
    CHECK(code_of(batch, {.allows_zstd = false}) == ErrorCode::unsupported_compression_type);
}

TEST_CASE("a batch gets its place without a new CRC", "[bps][batch]") {
    base::Bytes batch = support::make_batch({.records = {{"k", "v", 0}}});
    bps::set_place(batch, 0x0102030405060708, 9);
    const auto header = bps::read_stored_batch(batch, 0x0102030405060708);
    REQUIRE(header.has_value());
    CHECK(header->base_offset == 0x0102030405060708);
    CHECK(header->leader_epoch == 9);
    CHECK(header->next_offset() == 0x0102030405060709);
    CHECK_FALSE(bps::read_stored_batch(batch, 0x0102030405060709).has_value());
}

TEST_CASE("the time of appending becomes that of every record", "[bps][batch]") {
    base::Bytes batch = support::make_batch({.records = {{"k", "v", 3}, {"l", "w", 7}}});
    bps::set_append_time(batch, 123'456);
    const auto header = bps::read_stored_batch(batch, 0);
    REQUIRE(header.has_value());
    CHECK(header->has_append_time());
    CHECK(header->max_timestamp == 123'456);
    bps::RecordWalk walk(*header, base::ByteView(batch).subspan(bps::kBatchHeaderBytes));
    CHECK((*walk.next())->timestamp == 123'456);
    CHECK((*walk.next())->timestamp == 123'456);
}

TEST_CASE("sequences go on with 0 after the greatest", "[bps][batch]") {
    bps::BatchHeader header;
    header.base_sequence = std::numeric_limits<std::int32_t>::max() - 1;
    header.last_offset_delta = 1;
    CHECK(header.last_sequence() == std::numeric_limits<std::int32_t>::max());
    header.last_offset_delta = 2;
    CHECK(header.last_sequence() == 0);
    header.last_offset_delta = 4;
    CHECK(header.last_sequence() == 2);
}

TEST_CASE("compressed records are opened on demand, up to a limit", "[bps][batch]") {
    struct Reversed final : bps::Decompressor {
        [[nodiscard]] base::Result<base::Bytes> decompress(bps::Compression compression,
                                                           base::ByteView bytes,
                                                           std::size_t bytes_max) const override {
            CHECK(compression == bps::Compression::lz4);
            CHECK(bytes_max == bps::kOpenedBytesMax);
            return base::Bytes(bytes.rbegin(), bytes.rend());
        }
        [[nodiscard]] base::Bytes compress_again(bps::Compression /*compression*/,
                                                 base::ByteView bytes) const override {
            return base::Bytes(bytes.rbegin(), bytes.rend());
        }
    };
    base::Bytes records = base::from_hex("0c000000010100").value();
    std::reverse(records.begin(), records.end());
    base::Bytes batch = support::make_raw_batch(records, 1);
    batch[22] = std::byte{3};
    support::set_crc(batch);
    const auto header = bps::check_produced(batch, {});
    REQUIRE(header.has_value());
    base::Bytes opened;
    auto walk = bps::open_records(batch, *header, Reversed(), opened);
    REQUIRE(walk.has_value());
    CHECK((*walk->next())->offset_delta == 0);
    CHECK_FALSE(walk->next()->has_value());
}
