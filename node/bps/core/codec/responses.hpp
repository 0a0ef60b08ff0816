#pragma once

#include "base/bytes.hpp"
#include "node/bps/core/codec/encoder.hpp"

#include <cstdint>
#include <vector>

namespace bps {

// A response as it goes out, with its length before it. The records of `splices` belong between
// the bytes, in their order, and are counted in that length.
struct ResponseFrame {
    base::Bytes bytes;
    std::vector<Splice> splices;
    bool is_cut = false;  // It would be too long (kMessageBytesMax), and is not to be sent.
};

// Begins a frame: room for the length, then version 0 or 1 of Kafka's response header.
[[nodiscard]] Encoder begin_response(const Api& api,
                                     std::int16_t version,
                                     std::int32_t correlation);
// Ends it. The whole frame is shorter than 2 GiB: a fetch is bounded far below.
[[nodiscard]] ResponseFrame end_response(Encoder encoder);

// `version` is that of the request. Borrowed views in `response` need to live for the call only.
template <class Response>
[[nodiscard]] ResponseFrame encode_response(std::int32_t correlation,
                                            std::int16_t version,
                                            const Response& response) {
    Encoder encoder = begin_response(Response::kApi, version, correlation);
    encoder.structure(response);
    return end_response(std::move(encoder));
}

}  // namespace bps
