#include "base/check.hpp"
#include "base/crc32c.hpp"
#include "node/bps/core/batch.hpp"
#include "node/bps/core/records.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace {

// No fuzzer finds a CRC: the batch gets the right one.
void set_crc(base::Bytes& batch) {
    if (batch.size() < bps::kBatchHeaderBytes) return;
    const std::uint32_t crc = base::crc32c(base::ByteView(batch).subspan(21));
    for (std::size_t i = 0; i < 4; ++i) {
        batch[17 + i] = static_cast<std::byte>((crc >> (8 * (3 - i))) & 0xFFU);
    }
}

}  // namespace

// A batch from a client. One that is taken can be stored, read back, and gone over.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    base::Bytes batch = base::to_bytes(std::as_bytes(std::span(data, size)));
    set_crc(batch);
    const auto produced = bps::check_produced(batch, {});
    if (!produced) return 0;
    bps::set_place(batch, 1'000, 5);
    bps::set_append_time(batch, 77);
    const auto stored = bps::read_stored_batch(batch, 1'000);
    CHECK(stored.has_value());
    CHECK(stored->records_count == produced->records_count);
    CHECK(stored->next_offset() == 1'000 + produced->records_count);
    if (stored->compression() != bps::Compression::none) return 0;
    bps::RecordWalk walk(*stored, base::ByteView(batch).subspan(bps::kBatchHeaderBytes));
    for (std::int32_t i = 0; i < stored->records_count; ++i) {
        const auto record = walk.next();
        CHECK(record.has_value() && record->has_value());
        CHECK((*record)->offset_delta == i);
        CHECK((*record)->timestamp == 77);
    }
    CHECK(walk.next().has_value());
    return 0;
}
