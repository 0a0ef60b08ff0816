#pragma once

#include "base/crypto/keys.hpp"
#include "base/pinned.hpp"
#include "chain/pool.hpp"
#include "chain/types/block.hpp"

#include <cstddef>
#include <functional>
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
    // The transactions of a block, with their keys. Before the first key is computed it is seen
    // whether the body is the one that the header names: under the header of another anybody could
    // have us compute. malformed, invalid: also where it is not.
    [[nodiscard]] base::Result<std::vector<chain::PooledTransaction>> transactions_of(
        const chain::Block& block);

  private:
    using Cache = std::map<base::Hash256, chain::PublicKey>;
    // What must be so before a key is computed.
    using Condition = std::function<base::Result<void>()>;

    [[nodiscard]] base::Result<std::vector<chain::PublicKey>> keys_of(
        const chain::DecodedTransaction& transaction, const Condition& condition);
    [[nodiscard]] base::Result<chain::PublicKey> key_of(const chain::Signature& signature,
                                                        const base::Hash256& digest,
                                                        const Condition& condition);

    const chain::ChainId chain_;
    const std::size_t entries_max_;
    std::mutex mutex_;
    Cache recent_;
    Cache older_;
};

}  // namespace node
