#include "node/bps/core/batch.hpp"

#include "base/check.hpp"
#include "base/crc32c.hpp"
#include "node/bps/core/codec/reader.hpp"
#include "node/bps/core/codec/writer.hpp"
#include "node/bps/core/records.hpp"

#include <fmt/format.h>

#include <concepts>
#include <limits>
#include <string>

namespace bps {

namespace {

// Where the fields lie.
constexpr std::size_t kLengthEnd = 12;
constexpr std::size_t kEpochAt = 12;
constexpr std::size_t kMagicAt = 16;
constexpr std::size_t kCrcAt = 17;
constexpr std::size_t kAttributesAt = 21;
constexpr std::size_t kMaxTimestampAt = 35;

constexpr std::int32_t kLengthMin = static_cast<std::int32_t>(kBatchHeaderBytes - kLengthEnd);
constexpr unsigned kKnownAttributes = 0x3F;

template <std::integral T>
void put(std::span<std::byte> batch, std::size_t at, T value) {
    const auto bits = static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<T>>(value));
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        batch[at + i] = static_cast<std::byte>((bits >> (8 * (sizeof(T) - 1 - i))) & 0xFFU);
    }
}

std::uint32_t crc_of(base::ByteView batch) {
    return base::crc32c(batch.subspan(kAttributesAt));
}

BatchHeader header_fields(base::ByteView bytes) {
    Reader in(bytes);
    BatchHeader header;
    header.base_offset = in.integer<std::int64_t>("baseOffset");
    header.length = in.integer<std::int32_t>("batchLength");
    header.leader_epoch = in.integer<std::int32_t>("partitionLeaderEpoch");
    header.magic = in.integer<std::int8_t>("magic");
    header.crc = in.integer<std::uint32_t>("crc");
    header.attributes = in.integer<std::int16_t>("attributes");
    header.last_offset_delta = in.integer<std::int32_t>("lastOffsetDelta");
    header.base_timestamp = in.integer<std::int64_t>("baseTimestamp");
    header.max_timestamp = in.integer<std::int64_t>("maxTimestamp");
    header.producer_id = in.integer<std::int64_t>("producerId");
    header.producer_epoch = in.integer<std::int16_t>("producerEpoch");
    header.base_sequence = in.integer<std::int32_t>("baseSequence");
    header.records_count = in.integer<std::int32_t>("recordsCount");
    return header;
}

Verdict<BatchHeader> check_frame(base::ByteView records, const BatchRules& rules) {
    if (records.size() <= kMagicAt) {
        return refuse(ErrorCode::invalid_record,
                      fmt::format("{} bytes are no record batch", records.size()));
    }
    // Older batches have their magic in the same place.
    const auto magic = std::to_integer<unsigned>(records[kMagicAt]);
    if (magic < 2) {
        return refuse(ErrorCode::unsupported_for_message_format,
                      fmt::format("message format {}; only 2 is taken: use a client of Kafka 0.11 "
                                  "or later, with api.version.request=true",
                                  magic));
    }
    const auto header = read_batch_header(records);
    if (!header) return refuse(ErrorCode::corrupt_message, header.error().detail);
    if (header->bytes() > rules.bytes_max) {
        return refuse(ErrorCode::message_too_large,
                      fmt::format("a batch of {} bytes; max.message.bytes of the topic is {}",
                                  header->bytes(),
                                  rules.bytes_max));
    }
    if (header->bytes() > records.size()) {
        return refuse(
            ErrorCode::corrupt_message,
            fmt::format("a batch of {} bytes, {} are there", header->bytes(), records.size()));
    }
    if (header->bytes() < records.size()) {
        return refuse(ErrorCode::invalid_record, "more than one batch for a partition");
    }
    if (const std::uint32_t crc = crc_of(records); crc != header->crc) {
        return refuse(ErrorCode::corrupt_message,
                      fmt::format("CRC {:08x}, the batch says {:08x}", crc, header->crc));
    }
    return *header;
}

Verdict<void> check_kind(const BatchHeader& header, const BatchRules& rules) {
    if (header.is_transactional()) {
        return refuse(ErrorCode::transactional_id_authorization_failed,
                      "transactions are not served");
    }
    if (header.is_control()) {
        return refuse(ErrorCode::invalid_record, "control batches are made by brokers only");
    }
    if ((header.bits() & ~kKnownAttributes) != 0) {
        return refuse(ErrorCode::invalid_record,
                      fmt::format("attributes {:#x}", header.attributes));
    }
    if (header.compression_bits() > static_cast<unsigned>(Compression::zstd)) {
        return refuse(ErrorCode::unsupported_compression_type,
                      fmt::format("compression {}", header.compression_bits()));
    }
    if (header.compression() == Compression::zstd && !rules.allows_zstd) {
        return refuse(ErrorCode::unsupported_compression_type,
                      "zstd needs version 7 of Produce or later");
    }
    if (header.has_append_time() || header.max_timestamp < -1) {
        return refuse(ErrorCode::invalid_timestamp,
                      fmt::format("greatest timestamp {}, attributes {:#x}",
                                  header.max_timestamp,
                                  header.attributes));
    }
    return {};
}

Verdict<void> check_counts(const BatchHeader& header) {
    if (header.base_offset != 0) {
        return refuse(ErrorCode::invalid_record,
                      fmt::format("base offset {} instead of 0", header.base_offset));
    }
    if (header.records_count < 1 || header.last_offset_delta != header.records_count - 1) {
        return refuse(ErrorCode::invalid_record,
                      fmt::format("{} records, but a last offset of {}",
                                  header.records_count,
                                  header.last_offset_delta));
    }
    const bool has_sequence = header.producer_epoch >= 0 && header.base_sequence >= 0;
    if (header.producer_id < -1 || (header.is_idempotent() && !has_sequence)) {
        return refuse(ErrorCode::invalid_record,
                      fmt::format("producer id {}, epoch {}, sequence {}",
                                  header.producer_id,
                                  header.producer_epoch,
                                  header.base_sequence));
    }
    return {};
}

// With the id of another account a producer could have that account's batches taken for duplicates,
// or for out of order.
Verdict<void> check_owner(const BatchHeader& header, const BatchRules& rules) {
    if (!header.is_idempotent() || header.id_space() == rules.id_space) return {};
    return refuse(ErrorCode::invalid_producer_id_mapping,
                  fmt::format("producer id {} was not given to this account: ask for one with "
                              "InitProducerId",
                              header.producer_id));
}

}  // namespace

std::size_t BatchHeader::bytes() const {
    return kLengthEnd + static_cast<std::size_t>(length);
}

std::int32_t BatchHeader::last_sequence() const {
    constexpr std::uint32_t kMask = std::numeric_limits<std::int32_t>::max();
    const auto sum =
        static_cast<std::uint32_t>(base_sequence) + static_cast<std::uint32_t>(last_offset_delta);
    return static_cast<std::int32_t>(sum & kMask);
}

base::Result<BatchHeader> read_batch_header(base::ByteView bytes) {
    if (bytes.size() < kBatchHeaderBytes) {
        return base::fail(
            base::Errc::malformed,
            fmt::format("{} bytes, the header of a batch has {}", bytes.size(), kBatchHeaderBytes));
    }
    const BatchHeader header = header_fields(bytes);
    if (header.magic != 2) {
        return base::fail(base::Errc::malformed,
                          fmt::format("a batch of magic {}, not 2", header.magic));
    }
    if (header.length < kLengthMin) {
        return base::fail(base::Errc::malformed,
                          fmt::format("a batch with a length of {}", header.length));
    }
    return header;
}

base::Result<BatchHeader> read_stored_batch(base::ByteView bytes, std::int64_t offset) {
    auto header = read_batch_header(bytes);
    if (!header) return header;
    const auto reject = [](std::string why) {
        return base::fail(base::Errc::malformed, std::move(why));
    };
    if (header->bytes() > bytes.size()) {
        return reject(
            fmt::format("a batch of {} bytes, {} are there", header->bytes(), bytes.size()));
    }
    const std::uint32_t crc = crc_of(bytes.first(header->bytes()));
    if (crc != header->crc) {
        return reject(fmt::format("CRC {:08x}, the batch says {:08x}", crc, header->crc));
    }
    constexpr std::int64_t kOffsetMax =
        std::numeric_limits<std::int64_t>::max() - std::numeric_limits<std::int32_t>::max() - 1;
    const bool fits = header->base_offset >= offset && header->base_offset < kOffsetMax &&
                      header->last_offset_delta >= 0;
    if (!fits) {
        return reject(fmt::format("offsets {} + {}, where those up to {} are there",
                                  header->base_offset,
                                  header->last_offset_delta,
                                  offset));
    }
    return header;
}

Verdict<void> check_records(base::ByteView records,
                            const BatchHeader& header,
                            const BatchRules& rules) {
    RecordWalk walk(header, records);
    for (std::int32_t i = 0;; ++i) {
        const auto record = walk.next();
        if (!record) return refuse(ErrorCode::invalid_record, record.error().detail);
        if (!*record) return {};
        if ((*record)->offset_delta != i) {
            return refuse(ErrorCode::invalid_record,
                          fmt::format("record {} has offset {}", i, (*record)->offset_delta));
        }
        if (rules.needs_keys && !(*record)->key) {
            return refuse(ErrorCode::invalid_record,
                          fmt::format("record {} has no key; the topic is compacted", i));
        }
    }
}

Verdict<BatchHeader> check_produced(base::ByteView records, const BatchRules& rules) {
    Verdict<BatchHeader> header = check_frame(records, rules);
    if (!header) return header;
    for (const Verdict<void>& part :
         {check_kind(*header, rules), check_counts(*header), check_owner(*header, rules)}) {
        if (!part) return refuse(part.error());
    }
    if (header->compression() == Compression::none) {
        const auto good = check_records(records.subspan(kBatchHeaderBytes), *header, rules);
        if (!good) return refuse(good.error());
    }
    return header;
}

base::Bytes pack_batch(BatchHeader header, base::ByteView records) {
    header.last_offset_delta = header.records_count - 1;
    return pack_rest(header, records);
}

base::Bytes pack_rest(const BatchHeader& header, base::ByteView records) {
    Writer out;
    out.integer(header.base_offset);
    out.integer(static_cast<std::int32_t>(kBatchHeaderBytes - kLengthEnd + records.size()));
    out.integer(header.leader_epoch);
    out.integer(header.magic);
    out.integer<std::uint32_t>(0);
    out.integer(header.attributes);
    out.integer(header.last_offset_delta);
    out.integer(header.base_timestamp);
    out.integer(header.max_timestamp);
    out.integer(header.producer_id);
    out.integer(header.producer_epoch);
    out.integer(header.base_sequence);
    out.integer(header.records_count);
    out.raw(records);
    base::Bytes batch = out.take();
    put(batch, kCrcAt, crc_of(batch));
    return batch;
}

void set_place(std::span<std::byte> batch, std::int64_t base_offset, std::int32_t leader_epoch) {
    CHECK(batch.size() >= kBatchHeaderBytes);
    put(batch, 0, base_offset);
    put(batch, kEpochAt, leader_epoch);
}

void set_append_time(std::span<std::byte> batch, std::int64_t milliseconds) {
    CHECK(batch.size() >= kBatchHeaderBytes);
    constexpr std::byte kAppendTime{8};
    batch[kAttributesAt + 1] |= kAppendTime;
    put(batch, kMaxTimestampAt, milliseconds);
    put(batch, kCrcAt, crc_of(batch));
}

}  // namespace bps
