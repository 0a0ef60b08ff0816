#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "node/bps/core/batch.hpp"
#include "node/bps/core/codec/reader.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace bps {

// One record of a batch. Borrows from the batch.
struct Record {
    std::int32_t offset_delta = 0;
    std::int64_t timestamp = 0;  // Milliseconds since 1970.
    std::optional<base::ByteView> key;
    std::optional<base::ByteView> value;
    base::ByteView bytes;  // All of it, without the length before it.
};

// Goes over the records of a batch, which are not compressed, or are not any more. As many as the
// header says, and nothing behind them.
class RecordWalk {
  public:
    RecordWalk(const BatchHeader& header, base::ByteView records)
        : records_(records),
          in_(records),
          left_(header.records_count),
          base_timestamp_(header.base_timestamp),
          append_time_(header.has_append_time() ? std::optional(header.max_timestamp)
                                                : std::nullopt) {}

    // The next; nothing: all were seen. malformed: a record does not decode, or bytes are left.
    [[nodiscard]] base::Result<std::optional<Record>> next();

  private:
    [[nodiscard]] Record read();

    base::ByteView records_;
    Reader in_;
    std::int32_t left_;
    std::int64_t base_timestamp_;
    std::optional<std::int64_t> append_time_;
};

// Opens compressed records: gzip, snappy (also with the frames that Kafka's clients put around it),
// lz4 and zstd frames; and makes them. Implemented in node/bps with the libraries.
class Decompressor : base::Pinned {
  public:
    virtual ~Decompressor() = default;

    // malformed: not of this kind, or more than `bytes_max` bytes come out; no more are ever made.
    [[nodiscard]] virtual base::Result<base::Bytes> decompress(Compression compression,
                                                               base::ByteView bytes,
                                                               std::size_t bytes_max) const = 0;
    // What decompress() opens again.
    [[nodiscard]] virtual base::Bytes compress_again(Compression compression,
                                                     base::ByteView bytes) const = 0;
};

// What a batch may become when it is opened.
inline constexpr std::size_t kOpenedBytesMax = 16U << 20U;

// Opens batches, and no more of them together than so many bytes, since a few bytes of a request
// can ask for much work; then it says malformed. Borrows `opener`.
//
// Of decompress(), also would_block: nothing more is left for this batch, which alone may be
// opened.
class LimitedOpener final : public Decompressor {
  public:
    LimitedOpener(const Decompressor& opener, std::size_t bytes_max)
        : opener_(opener), bytes_max_(bytes_max) {}

    // What was opened, or tried.
    [[nodiscard]] std::size_t opened() const { return opened_; }
    [[nodiscard]] base::Result<base::Bytes> decompress(Compression compression,
                                                       base::ByteView bytes,
                                                       std::size_t bytes_max) const override;
    [[nodiscard]] base::Bytes compress_again(Compression compression,
                                             base::ByteView bytes) const override {
        return opener_.compress_again(compression, bytes);
    }

  private:
    const Decompressor& opener_;
    const std::size_t bytes_max_;
    mutable std::size_t opened_ = 0;
};

// The records of a whole batch; compressed ones are opened into `opened`, which must live as long
// as they are used.
[[nodiscard]] base::Result<RecordWalk> open_records(base::ByteView batch,
                                                    const BatchHeader& header,
                                                    const Decompressor& decompressor,
                                                    base::Bytes& opened);

}  // namespace bps
