#include "node/bps/core/records.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bps {

namespace {

// A length, -1 for null, and the bytes.
std::optional<base::ByteView> read_nullable(Reader& in, std::string_view field) {
    const std::int32_t size = in.varint(field);
    if (size < -1) in.set_error(field, fmt::format("a length of {}", size));
    if (size < 0 || !in.ok()) return std::nullopt;
    return in.raw(static_cast<std::size_t>(size), field);
}

void pass_headers(Reader& in) {
    const std::int32_t count = in.varint("headersCount");
    if (count < 0) in.set_error("headersCount", fmt::format("{} headers", count));
    for (std::int32_t i = 0; i < count && in.ok(); ++i) {
        if (!read_nullable(in, "headerKey")) in.set_error("headerKey", "null");
        (void)read_nullable(in, "headerValue");
    }
}

}  // namespace

Record RecordWalk::read() {
    Record record;
    (void)in_.integer<std::int8_t>("attributes");
    const std::int64_t delta = in_.varlong("timestampDelta");
    if (__builtin_add_overflow(base_timestamp_, delta, &record.timestamp)) {
        in_.set_error("timestampDelta", "beyond 64 bits");
    }
    if (append_time_) record.timestamp = *append_time_;
    record.offset_delta = in_.varint("offsetDelta");
    record.key = read_nullable(in_, "key");
    record.value = read_nullable(in_, "value");
    pass_headers(in_);
    return record;
}

base::Result<std::optional<Record>> RecordWalk::next() {
    if (left_ <= 0) {
        if (const auto done = in_.finish(); !done) return base::fail(done.error());
        return std::optional<Record>();
    }
    --left_;
    const std::int32_t size = in_.varint("length of a record");
    const std::size_t begin = in_.offset();
    if (size < 0 || static_cast<std::size_t>(size) > in_.left()) {
        in_.set_error("length of a record", fmt::format("{}, {} are left", size, in_.left()));
        return base::fail(in_.status().error());
    }
    // By the same reader: to make one for each record costs as much as to read it. Fields that go
    // beyond the record's end do not end there.
    Record record = read();
    record.bytes = records_.subspan(begin, static_cast<std::size_t>(size));
    const std::size_t taken = in_.offset() - begin;
    if (taken != record.bytes.size()) {
        in_.set_error("record", fmt::format("{} bytes, its length says {}", taken, size));
    }
    if (!in_.ok()) return base::fail(in_.status().error());
    return std::optional(record);
}

base::Result<base::Bytes> LimitedOpener::decompress(Compression compression,
                                                    base::ByteView bytes,
                                                    std::size_t bytes_max) const {
    const std::size_t most = std::min(bytes_max, bytes_max_ - opened_);
    auto opened = most == 0 ? base::Result<base::Bytes>(base::fail(base::Errc::would_block, ""))
                            : opener_.decompress(compression, bytes, most);
    // One that is too large has cost as much.
    opened_ += opened ? opened->size() : most;
    // Alone it may be small enough.
    if (opened || most == bytes_max) return opened;
    return base::fail(base::Errc::would_block,
                      fmt::format("the batches of a request open to more than {} bytes together; "
                                  "send several requests",
                                  bytes_max_));
}

base::Result<RecordWalk> open_records(base::ByteView batch,
                                      const BatchHeader& header,
                                      const Decompressor& decompressor,
                                      base::Bytes& opened) {
    const base::ByteView payload = batch.subspan(kBatchHeaderBytes);
    if (header.compression() == Compression::none) return RecordWalk(header, payload);
    auto plain = decompressor.decompress(header.compression(), payload, kOpenedBytesMax);
    if (!plain) return base::fail(plain.error());
    opened = *std::move(plain);
    return RecordWalk(header, opened);
}

}  // namespace bps
