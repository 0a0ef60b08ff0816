#include "chain/state/transaction_root.hpp"

#include "chain/state/merkle.hpp"

#include <variant>
#include <vector>

namespace chain {

std::optional<Digest> transaction_root(std::span<const TransactionReceipt> receipts) {
    std::vector<Digest> leaves;
    leaves.reserve(receipts.size());
    for (const TransactionReceipt& receipt : receipts) {
        if (!std::holds_alternative<PackedTransaction>(receipt.transaction)) return std::nullopt;
        leaves.push_back(receipt.digest());
    }
    return merkle_root(leaves);
}

}  // namespace chain
