// Packed transactions from a peer or client, and the pool's rows: decoding never fails but by a
// Result, stays within its limits, and what decodes packs to the same bytes.
#include "base/check.hpp"
#include "chain/pool.hpp"
#include "chain/types/transaction.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    if (const auto decoded = chain::decode_transaction(bytes)) {
        const chain::DecodedTransaction& transaction = **decoded;
        CHECK(base::equal(chain::pack(transaction.packed), bytes));
        CHECK(transaction.id == transaction.content.id());
    }
    if (const auto plain = chain::unpack<chain::SignedTransaction>(bytes, "transaction")) {
        CHECK(base::equal(chain::pack(*plain), bytes));
        const auto packed = chain::PackedTransaction::pack(*plain, chain::Compression::zlib);
        if (const auto again = chain::decode_transaction(packed)) {
            CHECK((*again)->content == *plain);
        }
    }
    if (const auto row = chain::decode_pool_row(bytes)) {
        CHECK(row->place >= chain::Pool::kPlaceMin && row->place <= chain::Pool::kPlaceMax);
        CHECK(base::equal(chain::encode_pool_row(row->place, row->packed), bytes));
    }
    if (const auto inflated = chain::zlib_inflate(bytes, 4096)) CHECK(inflated->size() <= 4096);
    return 0;
}
