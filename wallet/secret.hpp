#pragma once

#include "base/crypto/keys.hpp"
#include "base/crypto/secret.hpp"

#include <functional>
#include <map>
#include <utility>

namespace wallet {

using base::crypto::SecretAllocator;
using base::crypto::SecretBytes;
using base::crypto::SecretText;
using base::crypto::wipe;

// Makes the area for secrets, forbids core dumps and debuggers, and locks the process into RAM
// where the limit on locked memory allows it. Before the first secret; later calls only tell.
// Returns whether the area cannot be swapped out.
[[nodiscard]] bool protect_process();

// The keys of one wallet, in the order in which keosd lists them.
using Keys =
    std::map<base::crypto::PublicKey,
             base::crypto::PrivateKey,
             std::less<>,
             SecretAllocator<std::pair<const base::crypto::PublicKey, base::crypto::PrivateKey>>>;

}  // namespace wallet
