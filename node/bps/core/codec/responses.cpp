#include "node/bps/core/codec/responses.hpp"

#include "base/check.hpp"
#include "node/bps/core/codec/cluster_messages.hpp"

#include <utility>

namespace bps {

Encoder begin_response(const Api& api, std::int16_t version, std::int32_t correlation) {
    CHECK(api.lists(version));
    const bool flexible = api.is_flexible(version);
    Encoder encoder(version, flexible);
    encoder.out().integer<std::int32_t>(0);
    encoder.out().integer(correlation);
    // Who asks for the versions does not know yet which header the answer would have (KIP-511).
    if (flexible && api.key != ApiVersionsRequest::kApi.key) encoder.out().unsigned_varint(0);
    return encoder;
}

ResponseFrame end_response(Encoder encoder) {
    constexpr std::size_t kLengthBytes = 4;
    ResponseFrame frame{.bytes = encoder.out().take(),
                        .splices = encoder.take_splices(),
                        .is_cut = encoder.is_cut()};
    const std::uint64_t size = frame.bytes.size() - kLengthBytes + encoder.spliced_bytes();
    CHECK(size <= std::numeric_limits<std::int32_t>::max());
    for (std::size_t i = 0; i < kLengthBytes; ++i) {
        frame.bytes[i] = static_cast<std::byte>((size >> (8 * (kLengthBytes - 1 - i))) & 0xFFU);
    }
    return frame;
}

}  // namespace bps
