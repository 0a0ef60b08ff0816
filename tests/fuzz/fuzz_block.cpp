// Blocks, votes and stored traces: what decodes packs to the same bytes.
#include "base/check.hpp"
#include "chain/types/block.hpp"
#include "chain/types/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace {

template <class T>
void round_trip(base::ByteView bytes) {
    if (const auto value = chain::unpack<T>(bytes, "value")) {
        CHECK(base::equal(chain::pack(*value), bytes));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    if (const auto block = chain::decode_block(bytes)) {
        CHECK(base::equal(chain::encode_block(**block), bytes));
        CHECK(chain::height_of((*block)->id) == (*block)->header.height);
    }
    round_trip<chain::SignedHeader>(bytes);
    round_trip<chain::Certificate>(bytes);
    round_trip<chain::Vote>(bytes);
    round_trip<chain::TransactionTrace>(bytes);
    return 0;
}
