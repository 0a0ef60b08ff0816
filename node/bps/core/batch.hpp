#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "node/bps/core/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace bps {

// The low bits of a producer id come from a broker's lease; the others are the account's number.
inline constexpr int kLeasedIdBits = 40;

enum class Compression : std::uint8_t { none = 0, gzip = 1, snappy = 2, lz4 = 3, zstd = 4 };

// The number of the account to which a producer id was given (producer_ids.hpp).
[[nodiscard]] constexpr std::uint32_t id_space_of(std::int64_t producer_id) {
    return static_cast<std::uint32_t>(producer_id >> kLeasedIdBits);
}

// The header of a record batch of magic 2, as Kafka's documentation of its message format has it.
// What stands before `attributes` is not covered by the CRC.
struct BatchHeader {
    std::int64_t base_offset = 0;
    std::int32_t length = 0;  // Bytes after this field.
    std::int32_t leader_epoch = -1;
    std::int8_t magic = 2;
    std::uint32_t crc = 0;  // CRC-32C of all from `attributes` on.
    std::int16_t attributes = 0;
    std::int32_t last_offset_delta = 0;
    std::int64_t base_timestamp = 0;  // Milliseconds since 1970, as all times of records.
    std::int64_t max_timestamp = 0;
    std::int64_t producer_id = -1;  // -1: not idempotent.
    std::int16_t producer_epoch = -1;
    std::int32_t base_sequence = -1;
    std::int32_t records_count = 0;

    // Of the whole batch.
    [[nodiscard]] std::size_t bytes() const;
    // `attributes` as bits.
    [[nodiscard]] unsigned bits() const { return static_cast<std::uint16_t>(attributes); }
    // The low bits of `attributes`; 5 to 7 name nothing.
    [[nodiscard]] unsigned compression_bits() const { return bits() & 7U; }
    [[nodiscard]] Compression compression() const {
        return static_cast<Compression>(compression_bits());
    }
    [[nodiscard]] bool has_append_time() const { return (bits() & 8U) != 0; }
    [[nodiscard]] bool is_transactional() const { return (bits() & 16U) != 0; }
    [[nodiscard]] bool is_control() const { return (bits() & 32U) != 0; }
    [[nodiscard]] std::int64_t next_offset() const { return base_offset + last_offset_delta + 1; }
    [[nodiscard]] bool is_idempotent() const { return producer_id >= 0; }
    [[nodiscard]] std::uint32_t id_space() const { return id_space_of(producer_id); }
    // Sequences go on with 0 after the greatest 32-bit number.
    [[nodiscard]] std::int32_t last_sequence() const;
};

inline constexpr std::size_t kBatchHeaderBytes = 61;

// Reads the header at the start of `bytes`, of which the batch itself may reach beyond the end.
// malformed: fewer than 61 bytes, another magic, or a length that no batch has.
[[nodiscard]] base::Result<BatchHeader> read_batch_header(base::ByteView bytes);

// What a batch that is stored must be: whole, with the CRC that it says, and with offsets that go
// on at `offset` or later. malformed: which of it is not so.
[[nodiscard]] base::Result<BatchHeader> read_stored_batch(base::ByteView bytes,
                                                          std::int64_t offset);

// What is asked of a batch that is produced to a topic.
struct BatchRules {
    std::size_t bytes_max = 1'048'588;  // The setting max.message.bytes.
    bool needs_keys = false;            // A compacted topic.
    bool allows_zstd = true;            // Produce 7 and later.
    // The number in the caller's producer ids; nothing: the caller has none. Number 0 is nobody's.
    std::optional<std::uint32_t> id_space = 0;
    // Why nothing new is stored now. What is stored already is answered all the same.
    std::optional<Refusal> full = std::nullopt;
};

// Checks what one partition of a Produce request carries: one batch of magic 2, with the right CRC,
// counts and sizes; where it is not compressed, each record. The refusal has Kafka's code for it.
// Whether its sequence is in order, Producers says.
[[nodiscard]] Verdict<BatchHeader> check_produced(base::ByteView records, const BatchRules& rules);

// Checks records that are not compressed, or are not any more.
[[nodiscard]] Verdict<void> check_records(base::ByteView records,
                                          const BatchHeader& header,
                                          const BatchRules& rules);

// A batch with these records, and a header that says so: its length, last offset and CRC are set
// here; the rest is as given.
[[nodiscard]] base::Bytes pack_batch(BatchHeader header, base::ByteView records);

// The same, of a batch of which some records are gone: its offsets and times stay as given.
[[nodiscard]] base::Bytes pack_rest(const BatchHeader& header, base::ByteView records);

// Gives a checked batch its place in the log. The CRC does not cover it.
void set_place(std::span<std::byte> batch, std::int64_t base_offset, std::int32_t leader_epoch);

// Makes the time of appending that of all its records (LogAppendTime), and sets the CRC anew.
void set_append_time(std::span<std::byte> batch, std::int64_t milliseconds);

}  // namespace bps
