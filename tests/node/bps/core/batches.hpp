#pragma once

#include "base/bytes.hpp"
#include "base/crc32c.hpp"
#include "node/bps/core/codec/writer.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Batches as a client makes them.
namespace support {

struct RecordSpec {
    std::optional<std::string> key;
    std::optional<std::string> value;
    std::int64_t timestamp_delta = 0;
};

struct BatchSpec {
    std::vector<RecordSpec> records;
    std::int64_t base_timestamp = 0;
    std::int16_t attributes = 0;
    std::int64_t producer_id = -1;
    std::int16_t producer_epoch = -1;
    std::int32_t base_sequence = -1;
};

inline void set_crc(base::Bytes& batch) {
    const std::uint32_t crc = base::crc32c(base::ByteView(batch).subspan(21));
    for (std::size_t i = 0; i < 4; ++i) {
        batch[17 + i] = static_cast<std::byte>((crc >> (8 * (3 - i))) & 0xFFU);
    }
}

inline base::Bytes pack_batch(const BatchSpec& spec,
                              std::int32_t count,
                              std::int64_t max_timestamp,
                              base::ByteView records) {
    bps::Writer out;
    out.integer<std::int64_t>(0);
    out.integer(static_cast<std::int32_t>(49 + records.size()));
    out.integer<std::int32_t>(-1);
    out.integer<std::int8_t>(2);
    out.integer<std::uint32_t>(0);
    out.integer(spec.attributes);
    out.integer(count - 1);
    out.integer(spec.base_timestamp);
    out.integer(max_timestamp);
    out.integer(spec.producer_id);
    out.integer(spec.producer_epoch);
    out.integer(spec.base_sequence);
    out.integer(count);
    out.raw(records);
    base::Bytes batch = out.take();
    set_crc(batch);
    return batch;
}

inline void pack_text(bps::Writer& out, const std::optional<std::string>& text) {
    out.varint(text ? static_cast<std::int32_t>(text->size()) : -1);
    if (text) out.raw(base::as_bytes(*text));
}

inline base::Bytes make_batch(const BatchSpec& spec) {
    bps::Writer records;
    std::int64_t delta_max = 0;
    for (std::size_t i = 0; i < spec.records.size(); ++i) {
        const RecordSpec& record = spec.records[i];
        bps::Writer out;
        out.integer<std::int8_t>(0);
        out.varlong(record.timestamp_delta);
        out.varint(static_cast<std::int32_t>(i));
        pack_text(out, record.key);
        pack_text(out, record.value);
        out.varint(0);
        records.varint(static_cast<std::int32_t>(out.size()));
        records.raw(out.view());
        delta_max = std::max(delta_max, record.timestamp_delta);
    }
    return pack_batch(spec,
                      static_cast<std::int32_t>(spec.records.size()),
                      spec.base_timestamp + delta_max,
                      records.view());
}

// With these bytes in place of records.
inline base::Bytes make_raw_batch(base::ByteView records, std::int32_t count) {
    return pack_batch({}, count, 0, records);
}

}  // namespace support
