#pragma once

#include "base/crypto/keys.hpp"
#include "base/pinned.hpp"
#include "chain/types/transaction.hpp"

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace node {

// Recovers the keys of transactions' signatures and remembers them, so that each is computed
// once (spec 03, "Transactions, from arrival to final").
//
// Thread: any. Bounded: two generations of `entries_max`, the older is forgotten.
class KeyRecovery : base::Pinned {
  public:
    explicit KeyRecovery(const chain::ChainId& chain, std::size_t entries_max = 20'000)
        : chain_(chain), entries_max_(entries_max) {}

    // The keys in the order of the signatures. invalid: as base::crypto::recover.
    [[nodiscard]] base::Result<std::vector<chain::PublicKey>> keys_of(
        const chain::DecodedTransaction& transaction);

  private:
    using Cache = std::map<base::Hash256, chain::PublicKey>;

    [[nodiscard]] base::Result<chain::PublicKey> key_of(const chain::Signature& signature,
                                                        const base::Hash256& digest);

    const chain::ChainId chain_;
    const std::size_t entries_max_;
    std::mutex mutex_;
    Cache recent_;
    Cache older_;
};

}  // namespace node
