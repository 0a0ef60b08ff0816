#include "base/check.hpp"
#include "node/bps/disk/codec_libraries.hpp"

#include <zstd.h>
#include <zstd_errors.h>

namespace bps {

namespace {

constexpr std::string_view kKind = "zstd";
constexpr std::size_t kFirstBytes = 64U << 10U;
constexpr std::size_t kGrowth = 4;

}  // namespace

// Opened at once, with the output as the window: a stream would set aside the window that the frame
// asks for, up to 128 MiB. Where there is too little room it is opened anew with more; all these
// turns together cost a third of the last one.
base::Result<base::Bytes> open_zstd(base::ByteView bytes, std::size_t bytes_max) {
    for (std::size_t size = std::min(kFirstBytes, bytes_max);;
         size = std::min(size * kGrowth, bytes_max)) {
        base::Bytes out(size);
        const std::size_t made =
            ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
        if (ZSTD_isError(made) == 0) {
            out.resize(made);
            return out;
        }
        if (ZSTD_getErrorCode(made) != ZSTD_error_dstSize_tooSmall) {
            return bad_stream(kKind, ZSTD_getErrorName(made));
        }
        if (size == bytes_max) return too_much(kKind, bytes.size(), bytes_max);
    }
}

base::Bytes make_zstd(base::ByteView bytes) {
    // All clients wait meanwhile. Of records that are made to be slow a higher level takes many
    // times as long.
    constexpr int kLevel = 1;
    base::Bytes out(ZSTD_compressBound(bytes.size()));
    const std::size_t size =
        ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kLevel);
    CHECK(ZSTD_isError(size) == 0);
    out.resize(size);
    return out;
}

}  // namespace bps
