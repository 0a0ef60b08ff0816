#include "chain/types/exception.hpp"
#include "chain/types/transaction.hpp"

#include <fmt/format.h>

#include <array>
#define ZLIB_CONST  // Its input is not written to.
#include <zlib.h>

namespace chain {

namespace {

tl::unexpected<base::Error> bad_stream(std::string detail) {
    return fail(Exception::tx_decompression_error, std::move(detail));
}

const Bytef* input_of(base::ByteView bytes) {
    return reinterpret_cast<const Bytef*>(bytes.data());
}

// What zlib's compressBound() says: deflate makes no more of `plain` bytes. Blocks are valid by it,
// so it is no call, which another release of the library could answer otherwise.
std::size_t deflated_bytes_max(std::size_t plain) {
    return plain + (plain >> 12U) + (plain >> 14U) + (plain >> 25U) + 13;
}

// Ends the stream when it goes out of scope.
class Inflater {
  public:
    explicit Inflater(base::ByteView bytes) {
        stream_.next_in = input_of(bytes);
        stream_.avail_in = static_cast<uInt>(bytes.size());
        ready_ = inflateInit(&stream_) == Z_OK;
    }
    ~Inflater() { inflateEnd(&stream_); }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;

    [[nodiscard]] bool ready() const { return ready_; }
    [[nodiscard]] bool consumed() const { return stream_.avail_in == 0; }
    // Fills `out`; returns zlib's status and how many bytes were made.
    std::pair<int, std::size_t> step(std::span<std::byte> out) {
        stream_.next_out = reinterpret_cast<Bytef*>(out.data());
        stream_.avail_out = static_cast<uInt>(out.size());
        const int status = inflate(&stream_, Z_NO_FLUSH);
        return {status, out.size() - stream_.avail_out};
    }

  private:
    z_stream stream_{};
    bool ready_ = false;
};

}  // namespace

base::Result<base::Bytes> zlib_inflate(base::ByteView bytes, std::size_t limit) {
    if (bytes.size() > kPackedTransactionBytesMax) return bad_stream("zlib stream is too long");
    Inflater inflater(bytes);
    if (!inflater.ready()) return bad_stream("zlib could not be set up");
    base::Bytes out;
    std::array<std::byte, 16 * 1024> chunk{};
    while (true) {
        const auto [status, made] = inflater.step(chunk);
        if (status != Z_OK && status != Z_STREAM_END) return bad_stream("invalid zlib stream");
        if (made > limit - out.size()) {
            return bad_stream("Exceeded maximum decompressed transaction size");
        }
        out.insert(out.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(made));
        if (status == Z_STREAM_END) break;
    }
    if (!inflater.consumed()) return bad_stream("bytes follow the zlib stream");
    // Empty blocks inside have no end, and whoever signed the content would pay for them.
    if (const std::size_t most = deflated_bytes_max(out.size()); bytes.size() > most) {
        return bad_stream(
            fmt::format("a zlib stream of {} bytes holds {}, for which at most {} are allowed "
                        "(compressBound); send it without compression",
                        bytes.size(),
                        out.size(),
                        most));
    }
    return out;
}

base::Bytes zlib_deflate(base::ByteView bytes) {
    uLongf size = compressBound(static_cast<uLong>(bytes.size()));
    base::Bytes out(size);
    // With a buffer of compressBound() it can only fail for want of memory.
    compress2(reinterpret_cast<Bytef*>(out.data()),
              &size,
              input_of(bytes),
              static_cast<uLong>(bytes.size()),
              Z_BEST_COMPRESSION);
    out.resize(size);
    return out;
}

}  // namespace chain
