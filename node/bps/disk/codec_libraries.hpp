#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

// The libraries behind Codecs, each in a file of its own. Of open_*(): malformed as
// Decompressor::decompress() has it.
namespace bps {

[[nodiscard]] base::Result<base::Bytes> open_gzip(base::ByteView bytes, std::size_t bytes_max);
[[nodiscard]] base::Result<base::Bytes> open_snappy(base::ByteView bytes, std::size_t bytes_max);
[[nodiscard]] base::Result<base::Bytes> open_lz4(base::ByteView bytes, std::size_t bytes_max);
[[nodiscard]] base::Result<base::Bytes> open_zstd(base::ByteView bytes, std::size_t bytes_max);

[[nodiscard]] base::Bytes make_gzip(base::ByteView bytes);
[[nodiscard]] base::Bytes make_snappy(base::ByteView bytes);
[[nodiscard]] base::Bytes make_lz4(base::ByteView bytes);
[[nodiscard]] base::Bytes make_zstd(base::ByteView bytes);

[[nodiscard]] tl::unexpected<base::Error> bad_stream(std::string_view kind, std::string_view why);
// It opens to more than is allowed.
[[nodiscard]] tl::unexpected<base::Error> too_much(std::string_view kind,
                                                   std::size_t bytes,
                                                   std::size_t bytes_max);

// What comes out of a stream, in memory that is set aside as it comes.
class OpenedBytes {
  public:
    explicit OpenedBytes(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    // Where the next bytes go; never empty. One byte more than is allowed has room: where it is
    // written, there is too much.
    [[nodiscard]] std::span<std::byte> room() {
        if (size_ == bytes_.size()) {
            bytes_.resize(std::min(bytes_max_ + 1, std::max(kFirstBytes, 2 * bytes_.size())));
        }
        return std::span(bytes_).subspan(size_);
    }
    // So many were written there.
    void add(std::size_t bytes) { size_ += bytes; }
    [[nodiscard]] bool is_too_much() const { return size_ > bytes_max_; }
    [[nodiscard]] base::Bytes take() {
        bytes_.resize(size_);
        return std::move(bytes_);
    }

  private:
    static constexpr std::size_t kFirstBytes = 64U << 10U;

    base::Bytes bytes_;
    std::size_t size_ = 0;
    std::size_t bytes_max_;
};

}  // namespace bps
