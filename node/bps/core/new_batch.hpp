#pragma once

#include "base/bytes.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace bps {

struct NewRecord {
    base::ByteView key;
    std::optional<base::ByteView> value;  // Nothing: what the key names is gone.
};

// A batch of the broker's own, not compressed, whose records have this time. At least one record.
[[nodiscard]] base::Bytes make_batch(std::span<const NewRecord> records, std::int64_t time);

}  // namespace bps
