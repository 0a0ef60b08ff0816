#include "node/key_recovery.hpp"

#include "base/crypto/hash.hpp"
#include "node/core/core.hpp"

#include <utility>

namespace node {

base::Result<std::vector<chain::PublicKey>> KeyRecovery::keys_of(
    const chain::DecodedTransaction& transaction) {
    return keys_of(transaction, [] { return base::Result<void>(); });
}

base::Result<std::vector<chain::PooledTransaction>> KeyRecovery::transactions_of(
    const chain::Block& block) {
    std::vector<chain::PooledTransaction> done;
    done.reserve(block.transactions.size());
    bool is_its = false;
    const auto look_at_body = [&]() -> base::Result<void> {
        is_its = is_its || has_its_body(block);
        if (is_its) return {};
        return base::fail(base::Errc::invalid,
                          "the transactions are not those that the header names");
    };
    for (const chain::TransactionReceipt& receipt : block.transactions) {
        const auto* packed = std::get_if<chain::PackedTransaction>(&receipt.transaction);
        if (packed == nullptr) {
            return base::fail(base::Errc::invalid, "a receipt has no transaction");
        }
        auto decoded = chain::decode_transaction(*packed);
        if (!decoded) return base::fail(decoded.error());
        auto keys = keys_of(**decoded, look_at_body);
        if (!keys) return base::fail(keys.error());
        done.push_back({*std::move(decoded), *std::move(keys)});
    }
    return done;
}

base::Result<std::vector<chain::PublicKey>> KeyRecovery::keys_of(
    const chain::DecodedTransaction& transaction, const Condition& condition) {
    std::vector<chain::PublicKey> keys;
    if (transaction.content.signatures.empty()) return keys;
    const base::Hash256 digest =
        transaction.content.signing_digest(chain_, transaction.content.context_free_data);
    for (const chain::Signature& signature : transaction.content.signatures) {
        auto key = key_of(signature, digest, condition);
        if (!key) return base::fail(key.error());
        keys.push_back(std::move(*key));
    }
    return keys;
}

base::Result<chain::PublicKey> KeyRecovery::key_of(const chain::Signature& signature,
                                                   const base::Hash256& digest,
                                                   const Condition& condition) {
    base::Writer name;
    chain::encode(name, signature);
    name.hash(digest);
    const base::Hash256 id = base::crypto::sha256(name.view());
    {
        const std::scoped_lock lock(mutex_);
        if (const auto found = recent_.find(id); found != recent_.end()) return found->second;
        if (const auto found = older_.find(id); found != older_.end()) return found->second;
    }
    if (auto good = condition(); !good) return base::fail(good.error());
    auto key = base::crypto::recover(signature, digest);
    if (!key) return key;
    const std::scoped_lock lock(mutex_);
    if (recent_.size() >= entries_max_) {
        older_ = std::exchange(recent_, {});
    }
    recent_.emplace(id, *key);
    return key;
}

}  // namespace node
