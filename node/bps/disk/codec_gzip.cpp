#include "base/check.hpp"
#include "base/pinned.hpp"
#include "node/bps/disk/codec_libraries.hpp"

#include <utility>
#define ZLIB_CONST  // Its input is not written to.
#include <zlib.h>

namespace bps {

namespace {

constexpr std::string_view kKind = "gzip";
constexpr int kGzipWindowBits = 15 + 16;  // With the header of gzip, and no other.

void set_input(z_stream& stream, base::ByteView bytes) {
    stream.next_in = reinterpret_cast<const Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
}

// Ends the stream when it goes out of scope.
class Inflater : base::Pinned {
  public:
    explicit Inflater(base::ByteView bytes) {
        set_input(stream_, bytes);
        CHECK(inflateInit2(&stream_, kGzipWindowBits) == Z_OK);
    }
    ~Inflater() { inflateEnd(&stream_); }

    [[nodiscard]] bool is_at_end() const { return stream_.avail_in == 0; }
    // Fills `out`; returns zlib's status and how many bytes were made.
    [[nodiscard]] std::pair<int, std::size_t> step(std::span<std::byte> out) {
        stream_.next_out = reinterpret_cast<Bytef*>(out.data());
        stream_.avail_out = static_cast<uInt>(out.size());
        const int status = inflate(&stream_, Z_NO_FLUSH);
        return {status, out.size() - stream_.avail_out};
    }
    void begin_next_member() { CHECK(inflateReset(&stream_) == Z_OK); }
    [[nodiscard]] std::string_view reason() const {
        return stream_.msg == nullptr ? "invalid" : std::string_view(stream_.msg);
    }

  private:
    z_stream stream_{};
};

}  // namespace

base::Result<base::Bytes> open_gzip(base::ByteView bytes, std::size_t bytes_max) {
    Inflater inflater(bytes);
    OpenedBytes out(bytes_max);
    while (true) {
        const auto [status, made] = inflater.step(out.room());
        out.add(made);
        if (out.is_too_much()) return too_much(kKind, bytes.size(), bytes_max);
        if (status == Z_STREAM_END) {
            if (inflater.is_at_end()) return out.take();
            inflater.begin_next_member();
            continue;
        }
        // Only with its input used up does it stop with room left.
        if (status == Z_BUF_ERROR) return bad_stream(kKind, "it is cut short");
        if (status != Z_OK) return bad_stream(kKind, inflater.reason());
    }
}

// The fastest: all requests wait for it, and the default takes several times as long.
base::Bytes make_gzip(base::ByteView bytes) {
    constexpr int kMemoryLevel = 8;  // zlib's default.
    z_stream stream{};
    CHECK(
        deflateInit2(
            &stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindowBits, kMemoryLevel, Z_DEFAULT_STRATEGY) ==
        Z_OK);
    set_input(stream, bytes);
    base::Bytes out(deflateBound(&stream, static_cast<uLong>(bytes.size())));
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    out.resize(out.size() - stream.avail_out);
    deflateEnd(&stream);
    return out;
}

}  // namespace bps
