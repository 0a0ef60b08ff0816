#include "base/check.hpp"
#include "genesis/recovery.hpp"

#include <cstddef>
#include <cstdint>

// A genesis file, a recovery: whatever is accepted must survive being written
// again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    if (const auto file = genesis::from_json(base::as_text(bytes))) {
        const auto again = genesis::from_json(genesis::to_json(*file));
        CHECK(again.has_value() && *again == *file);
    }
    if (const auto recovery = genesis::recovery_from_text(base::as_text(bytes))) {
        const auto again = genesis::recovery_from_text(genesis::to_text(*recovery));
        CHECK(again.has_value() && *again == *recovery);
    }
    return 0;
}
