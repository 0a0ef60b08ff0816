#pragma once

#include "cli/command.hpp"
#include "node/bps/core/token.hpp"

#include <cstdint>
#include <string>

namespace cli {

// What a token is to be: for whom, for what and for how long.
struct TokenWish {
    chain::Name account;
    chain::Name permission;
    std::string scope = "*:produce,consume,admin";
    std::uint32_t seconds = 3'600;
};

// Seconds since 1970 by the two clocks that brokers go by: they take the later one.
struct TokenClocks {
    std::uint32_t local = 0;
    std::uint32_t final_block = 0;
};

// A token of the broker (spec 08, "Who is who"), and what it says of itself.
struct BpsToken {
    std::string text;  // A secret.
    bps::TokenTerms terms;

    // ACCOUNT@PERMISSION.
    [[nodiscard]] std::string principal() const;
};

// Who a token is for: ACCOUNT or ACCOUNT@PERMISSION (then active).
[[nodiscard]] base::Result<TokenWish> token_wish(const std::string& principal);
// What is signed, under a new id. It holds at once for a broker whose clock is behind, and for that
// long from the later clock on. invalid: its scope; or the clocks are a day apart.
[[nodiscard]] base::Result<bps::TokenTerms> token_terms(const TokenWish& wish,
                                                        const base::Hash256& chain,
                                                        const TokenClocks& clocks);
// Signed by those keys of the wallet that satisfy the permission, as the node says.
[[nodiscard]] base::Result<BpsToken> sign_token(const Session& session, const TokenWish& wish);
// One that was made before, from the file with its text. No error quotes it.
[[nodiscard]] base::Result<BpsToken> read_token(const std::string& file);

}  // namespace cli
