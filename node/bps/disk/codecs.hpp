#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "node/bps/core/batch.hpp"
#include "node/bps/core/records.hpp"

#include <cstddef>

namespace bps {

// Opens and makes compressed records by the libraries that Kafka's clients use, too. What is set
// aside grows with what comes out, never by what the input says of itself.
//
// Thread: any; calls keep nothing.
class Codecs final : public Decompressor {
  public:
    // Of gzip, lz4 and zstd all members or frames one behind another. `bytes_max` is at least 1.
    // Besides the output it takes at most twice as much, and 9 MiB.
    [[nodiscard]] base::Result<base::Bytes> decompress(Compression compression,
                                                       base::ByteView bytes,
                                                       std::size_t bytes_max) const override;

    [[nodiscard]] base::Bytes compress_again(Compression compression,
                                             base::ByteView bytes) const override {
        return compress(compression, bytes);
    }

    // At the libraries' usual levels, in the form that every client reads: snappy with the frames
    // of the Java library, lz4 in independent blocks of 64 KiB without sums. None: the bytes.
    [[nodiscard]] static base::Bytes compress(Compression compression, base::ByteView bytes);
};

}  // namespace bps
