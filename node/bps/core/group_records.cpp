#include "node/bps/core/group_records.hpp"

#include "node/bps/core/codec/decoder.hpp"
#include "node/bps/core/codec/encoder.hpp"

#include <fmt/format.h>

namespace bps {

namespace {

template <class T>
base::Bytes pack(const T& value) {
    Encoder encoder(0, false);
    encoder.structure(value);
    return encoder.out().take();
}

template <class T>
base::Result<T> read(base::ByteView bytes) {
    Decoder decoder(bytes, 0, false);
    T value;
    decoder.structure(value);
    if (const auto done = decoder.finish(); !done) return base::fail(done.error());
    return value;
}

template <class T>
base::Result<T> read_value(base::ByteView bytes) {
    auto value = read<T>(bytes);
    if (value && value->format != T::kFormat) {
        return base::fail(
            base::Errc::malformed,
            fmt::format("a record of format {}; this program knows {}", value->format, T::kFormat));
    }
    return value;
}

template <class T>
base::Result<GroupRecordKey> read_key(base::ByteView bytes) {
    auto key = read<T>(bytes);
    if (!key) return base::fail(key.error());
    return GroupRecordKey(*key);
}

}  // namespace

base::Bytes pack_group_record(const GroupKey& key) {
    return pack(key);
}
base::Bytes pack_group_record(const OffsetKey& key) {
    return pack(key);
}
base::Bytes pack_group_record(const GroupValue& value) {
    return pack(value);
}
base::Bytes pack_group_record(const OffsetValue& value) {
    return pack(value);
}

base::Result<GroupRecordKey> read_group_record_key(base::ByteView bytes) {
    Reader in(bytes);
    const auto kind = in.integer<std::int16_t>("Kind");
    if (const auto good = in.status(); !good) return base::fail(good.error());
    if (kind == GroupKey::kKind) return read_key<GroupKey>(bytes);
    if (kind == OffsetKey::kKind) return read_key<OffsetKey>(bytes);
    return base::fail(base::Errc::malformed, fmt::format("a record of kind {}", kind));
}

base::Result<GroupValue> read_group_value(base::ByteView bytes) {
    return read_value<GroupValue>(bytes);
}

base::Result<OffsetValue> read_offset_value(base::ByteView bytes) {
    return read_value<OffsetValue>(bytes);
}

}  // namespace bps
