#include "node/snapshots/packing.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <zstd.h>

namespace node {

using base::Errc;
using base::fail;

namespace {

constexpr int kLevel = 3;

}  // namespace

base::Bytes pack_chunk(base::ByteView bytes) {
    base::Bytes packed(ZSTD_compressBound(bytes.size()));
    const std::size_t size =
        ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kLevel);
    CHECK(ZSTD_isError(size) == 0);
    packed.resize(size);
    return packed;
}

std::size_t packed_bytes_max(std::size_t size) {
    return ZSTD_compressBound(size);
}

base::Result<base::Bytes> unpack_frame(base::ByteView packed, std::size_t size) {
    const unsigned long long stated = ZSTD_getFrameContentSize(packed.data(), packed.size());
    if (stated == ZSTD_CONTENTSIZE_ERROR) return fail(Errc::malformed, "it is no zstd frame");
    if (stated == ZSTD_CONTENTSIZE_UNKNOWN) {
        return fail(Errc::malformed,
                    fmt::format("its frame does not say that it has {} bytes", size));
    }
    if (stated != size) {
        return fail(Errc::malformed,
                    fmt::format("its frame has {} bytes, {} were announced", stated, size));
    }
    const std::size_t frame = ZSTD_findFrameCompressedSize(packed.data(), packed.size());
    if (ZSTD_isError(frame) != 0) {
        return fail(Errc::malformed, "its zstd frame is cut short or damaged");
    }
    if (frame != packed.size()) {
        return fail(Errc::malformed, "something follows its zstd frame");
    }
    base::Bytes bytes(size);
    const std::size_t done =
        ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
    if (ZSTD_isError(done) != 0 || done != size) {
        return fail(Errc::malformed, "its zstd frame is damaged");
    }
    return bytes;
}

base::Result<base::Bytes> unpack_chunk(base::ByteView packed, std::size_t size) {
    auto bytes = unpack_frame(packed, size);
    if (!bytes) return fail(bytes.error().code, "chunk: " + bytes.error().detail);
    return bytes;
}

}  // namespace node
