#include "node/bps/core/recompress.hpp"

#include <fmt/format.h>

namespace bps {

namespace {

constexpr unsigned kCompressionBits = 7;

}  // namespace

Verdict<base::Bytes> recompress(base::ByteView batch,
                                const BatchRules& rules,
                                Compression stored_as,
                                const Decompressor& opener) {
    const auto header = check_produced(batch, rules);
    if (!header) return refuse(header.error());
    base::ByteView records = batch.subspan(kBatchHeaderBytes);
    base::Bytes opened;
    if (header->compression() != Compression::none) {
        auto made = opener.decompress(header->compression(), records, rules.bytes_max);
        if (!made) {
            const bool goes_later = made.error().code == base::Errc::would_block;
            return refuse(goes_later ? ErrorCode::request_timed_out : ErrorCode::invalid_record,
                          fmt::format("the topic's compression.type asks to compress anew; {}",
                                      made.error().detail));
        }
        opened = *std::move(made);
        records = opened;
        if (const auto good = check_records(records, *header, rules); !good) {
            return refuse(good.error());
        }
    }
    BatchHeader anew = *header;
    anew.attributes = static_cast<std::int16_t>((header->bits() & ~kCompressionBits) |
                                                static_cast<unsigned>(stored_as));
    if (stored_as == Compression::none) return pack_rest(anew, records);
    return pack_rest(anew, opener.compress_again(stored_as, records));
}

}  // namespace bps
