#include "base/check.hpp"
#include "node/bps/disk/codec_libraries.hpp"

#include <lz4frame.h>
#include <memory>

namespace bps {

namespace {

constexpr std::string_view kKind = "lz4";

struct FreeContext {
    void operator()(LZ4F_dctx* context) const { LZ4F_freeDecompressionContext(context); }
};
using Context = std::unique_ptr<LZ4F_dctx, FreeContext>;

Context make_context() {
    LZ4F_dctx* context = nullptr;
    CHECK(LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) == 0);
    return Context(context);
}

}  // namespace

base::Result<base::Bytes> open_lz4(base::ByteView bytes, std::size_t bytes_max) {
    const Context context = make_context();
    OpenedBytes out(bytes_max);
    base::ByteView left = bytes;
    while (true) {
        const std::span<std::byte> room = out.room();
        std::size_t made = room.size();
        std::size_t used = left.size();
        const std::size_t wanted =
            LZ4F_decompress(context.get(), room.data(), &made, left.data(), &used, nullptr);
        if (LZ4F_isError(wanted) != 0) return bad_stream(kKind, LZ4F_getErrorName(wanted));
        out.add(made);
        left = left.subspan(used);
        if (out.is_too_much()) return too_much(kKind, bytes.size(), bytes_max);
        // Another frame may follow on a whole one.
        if (wanted == 0 && left.empty()) return out.take();
        if (made == 0 && used == 0) return bad_stream(kKind, "it is cut short");
    }
}

base::Bytes make_lz4(base::ByteView bytes) {
    // Kafka's Java client reads independent blocks only.
    LZ4F_preferences_t preferences{};
    preferences.frameInfo.blockSizeID = LZ4F_max64KB;
    preferences.frameInfo.blockMode = LZ4F_blockIndependent;
    base::Bytes out(LZ4F_compressFrameBound(bytes.size(), &preferences));
    const std::size_t size =
        LZ4F_compressFrame(out.data(), out.size(), bytes.data(), bytes.size(), &preferences);
    CHECK(LZ4F_isError(size) == 0);
    out.resize(size);
    return out;
}

}  // namespace bps
