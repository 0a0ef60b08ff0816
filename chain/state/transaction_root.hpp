#pragma once

#include "chain/types/block.hpp"

#include <optional>
#include <span>

namespace chain {

// The transaction_root of a header over these receipts (spec 03, "Formats"). Nothing: one of them
// has no transaction but a digest in its place, which would give the same root. Pure; any thread.
[[nodiscard]] std::optional<Digest> transaction_root(std::span<const TransactionReceipt> receipts);

}  // namespace chain
