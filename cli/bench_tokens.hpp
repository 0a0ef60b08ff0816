#pragma once

#include "base/crypto/keys.hpp"
#include "chain/types/transaction.hpp"
#include "cli/http_client.hpp"

#include <string>
#include <vector>

namespace cli {

// Accounts with a token between which a benchmark transfers.
struct BenchTokens {
    struct Account {
        chain::Name name;
        base::crypto::PrivateKey key;
    };

    std::string url;
    chain::ChainId chain_id;
    base::crypto::PrivateKey system;  // Of eosio: it makes the accounts.
    std::vector<Account> accounts;

    // Makes what is not there yet: the contract's account with the token from `folder`, `count`
    // accounts with keys derived from the system key, and a balance for each. All of it is final
    // then. unavailable: the node does not answer, or finality does not come.
    [[nodiscard]] static base::Result<BenchTokens> prepare(const std::string& url,
                                                           const base::crypto::PrivateKey& system,
                                                           const std::string& folder,
                                                           std::size_t count);

    // Transfer number `index`, signed by its sender, as a body of send_transaction2.
    [[nodiscard]] std::string transfer(std::size_t index,
                                       const chain::TransactionHeader& header,
                                       chain::TransactionId& id) const;
};

// A header that refers to the last final block and expires this many seconds after the head.
[[nodiscard]] base::Result<chain::TransactionHeader> bench_header(const std::string& url,
                                                                  std::uint32_t seconds);

}  // namespace cli
