#include "node/bps/disk/codecs.hpp"

#include "base/check.hpp"
#include "node/bps/disk/codec_libraries.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

namespace bps {

tl::unexpected<base::Error> bad_stream(std::string_view kind, std::string_view why) {
    return base::fail(base::Errc::malformed, fmt::format("{}: {}", kind, why));
}

tl::unexpected<base::Error> too_much(std::string_view kind,
                                     std::size_t bytes,
                                     std::size_t bytes_max) {
    return base::fail(
        base::Errc::malformed,
        fmt::format(
            "{}: {} bytes open to more than {}; make smaller batches", kind, bytes, bytes_max));
}

base::Result<base::Bytes> Codecs::decompress(Compression compression,
                                             base::ByteView bytes,
                                             std::size_t bytes_max) const {
    CHECK(bytes_max > 0 && bytes_max < std::numeric_limits<std::int32_t>::max());
    if (bytes.empty()) return base::fail(base::Errc::malformed, "no bytes to open");
    // As long as the length of a batch can be; zlib counts in 32 bits.
    CHECK(bytes.size() <= std::numeric_limits<std::int32_t>::max());
    switch (compression) {
        case Compression::gzip:
            return open_gzip(bytes, bytes_max);
        case Compression::snappy:
            return open_snappy(bytes, bytes_max);
        case Compression::lz4:
            return open_lz4(bytes, bytes_max);
        case Compression::zstd:
            return open_zstd(bytes, bytes_max);
        case Compression::none:
            break;
    }
    return base::fail(base::Errc::malformed,
                      fmt::format("compression {} is none of gzip, snappy, lz4 and zstd",
                                  static_cast<unsigned>(compression)));
}

base::Bytes Codecs::compress(Compression compression, base::ByteView bytes) {
    CHECK(bytes.size() <= std::numeric_limits<std::int32_t>::max());
    switch (compression) {
        case Compression::gzip:
            return make_gzip(bytes);
        case Compression::snappy:
            return make_snappy(bytes);
        case Compression::lz4:
            return make_lz4(bytes);
        case Compression::zstd:
            return make_zstd(bytes);
        case Compression::none:
            break;
    }
    return base::to_bytes(bytes);
}

}  // namespace bps
