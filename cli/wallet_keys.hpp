#pragma once

#include "chain/types/transaction.hpp"
#include "cli/command.hpp"
#include "cli/http_client.hpp"

#include <string>

namespace cli {

// Which of the wallet's keys the node says are needed, an array of texts. invalid: they are not
// enough.
[[nodiscard]] base::Result<Json> required_keys(const Session& session,
                                               const chain::SignedTransaction& transaction);
// The signature of a digest by a key of the wallet; a validator's key signs none.
[[nodiscard]] base::Result<chain::Signature> wallet_sign(const Session& session,
                                                         const std::string& key,
                                                         const base::Hash256& digest);

}  // namespace cli
