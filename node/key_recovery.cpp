#include "node/key_recovery.hpp"

#include "base/crypto/hash.hpp"

#include <utility>

namespace node {

base::Result<std::vector<chain::PublicKey>> KeyRecovery::keys_of(
    const chain::DecodedTransaction& transaction) {
    std::vector<chain::PublicKey> keys;
    if (transaction.content.signatures.empty()) return keys;
    const base::Hash256 digest =
        transaction.content.signing_digest(chain_, transaction.content.context_free_data);
    for (const chain::Signature& signature : transaction.content.signatures) {
        auto key = key_of(signature, digest);
        if (!key) return base::fail(key.error());
        keys.push_back(std::move(*key));
    }
    return keys;
}

base::Result<chain::PublicKey> KeyRecovery::key_of(const chain::Signature& signature,
                                                   const base::Hash256& digest) {
    base::Writer name;
    chain::encode(name, signature);
    name.hash(digest);
    const base::Hash256 id = base::crypto::sha256(name.view());
    {
        const std::scoped_lock lock(mutex_);
        if (const auto found = recent_.find(id); found != recent_.end()) return found->second;
        if (const auto found = older_.find(id); found != older_.end()) return found->second;
    }
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
