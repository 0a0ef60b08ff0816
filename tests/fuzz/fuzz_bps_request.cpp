#include "base/check.hpp"
#include "node/bps/core/codec/decoder.hpp"
#include "node/bps/core/codec/encoder.hpp"
#include "node/bps/core/codec/requests.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

namespace {

template <class T>
base::Bytes encode(const T& request, std::int16_t version) {
    bps::Encoder encoder(version, T::kApi.is_flexible(version));
    encoder.structure(request);
    return encoder.out().take();
}

}  // namespace

// A request of any key and version from a client. What decodes keeps its meaning when it is
// encoded: the same bytes come out the second time.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    const auto frame = bps::read_request_frame(bytes);
    if (!frame || frame->api == nullptr) return 0;
    const auto request = bps::decode_request(*frame);
    if (!request) return 0;
    const std::int16_t version = frame->header.version;
    const auto pack = [version](const auto& of) { return encode(of, version); };
    const base::Bytes packed = std::visit(pack, *request);
    bps::RequestFrame again = *frame;
    again.body = packed;
    const auto reread = bps::decode_request(again);
    CHECK(reread.has_value());
    CHECK(reread->index() == request->index());
    CHECK(base::equal(std::visit(pack, *reread), packed));
    return 0;
}
