#include "node/bps/core/new_batch.hpp"

#include "base/check.hpp"
#include "node/bps/core/batch.hpp"
#include "node/bps/core/codec/writer.hpp"

namespace bps {

namespace {

base::Bytes pack_record(const NewRecord& record, std::int32_t offset_delta) {
    Writer out;
    out.integer<std::int8_t>(0);  // Attributes.
    out.varlong(0);               // The time of the batch.
    out.varint(offset_delta);
    out.varint(static_cast<std::int32_t>(record.key.size()));
    out.raw(record.key);
    out.varint(record.value ? static_cast<std::int32_t>(record.value->size()) : -1);
    if (record.value) out.raw(*record.value);
    out.varint(0);  // Headers.
    return out.take();
}

}  // namespace

base::Bytes make_batch(std::span<const NewRecord> records, std::int64_t time) {
    CHECK(!records.empty());
    Writer content;
    std::int32_t count = 0;
    for (const NewRecord& record : records) {
        const base::Bytes packed = pack_record(record, count++);
        content.varint(static_cast<std::int32_t>(packed.size()));
        content.raw(packed);
    }
    return pack_batch({.base_timestamp = time, .max_timestamp = time, .records_count = count},
                      content.view());
}

}  // namespace bps
