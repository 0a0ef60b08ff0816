#include "base/check.hpp"
#include "p2p/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

// A message from a stranger. What decodes is packed to the same bytes again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    const auto envelope = p2p::read_envelope(bytes);
    if (!envelope) return 0;
    const auto body = p2p::read_body(*envelope, bytes);
    if (!body) return 0;
    const auto again =
        p2p::pack_message(*body, {.correlation = envelope->correlation, .flags = envelope->flags});
    CHECK(base::equal(*again, bytes));
    return 0;
}
