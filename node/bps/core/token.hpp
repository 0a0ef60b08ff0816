#pragma once

#include "base/bytes.hpp"
#include "base/crypto/keys.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "chain/types/name.hpp"
#include "node/bps/core/access.hpp"
#include "node/bps/core/refusal.hpp"
#include "node/bps/core/rights.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Tokens: what a client logs in with (spec 08, "Who is who"). JWT in form (RFC 7519), but one byte
// string for one meaning, so that nothing is read in two ways:
//
//     token  = base64url(header) "." base64url(claims) "." base64url(signatures)
//     header = {"typ":"JWT","alg":"BOR1"}
//     claims = {"chain":"<64 hex digits>","sub":"<account>@<permission>","iat":<s>,"nbf":<s>,
//               "exp":<s>,"jti":"<id>","scope":"<items>"}                  without blanks
//     items  = item *( " " item )                                          1 to 64 of them
//     item   = <topic> ":" rights / [<beginning of topics>] "*:" rights
//     rights = some of produce, consume, admin, in this order, with "," between them
//     signatures = 1 to 16 times (kind of key: 0 K1, 1 R1; 65 bytes), ascending by key
//
// Times are seconds since 1970, iat <= nbf < exp <= iat + 24 h. A jti has 1 to 64 printable ASCII
// letters without blank, '"' and '\'. Each signature is over
// SHA-256("BoR token 1" || base64url(header) || "." || base64url(claims)).
//
// A token is a secret: no text here quotes one, and signatures that were read are wiped.
namespace bps {

inline constexpr std::size_t kTokenBytesMax = 8'192;
inline constexpr std::size_t kTokenSignaturesMax = 16;
inline constexpr std::size_t kTokenScopeItemsMax = 64;

// What a token says.
struct TokenTerms {
    base::Hash256 chain;  // The id of the chain on which it holds.
    TokenClaims claims;
    chain::Name permission;
    TokenScope scope;
};

struct Token {
    TokenTerms terms;
    base::Hash256 digest;  // What is signed.
    std::vector<base::crypto::Signature> signatures;
};

// Whether keys satisfy a permission, by the last final state: the seam to the ledger's authority
// checker. Thread: that of the broker.
class PermissionCheck : base::Pinned {
  public:
    virtual ~PermissionCheck() = default;

    // Of that state: until it grows, satisfies() says the same.
    [[nodiscard]] virtual std::uint32_t height() const = 0;
    // False also where there is no such permission, or where only a wait would satisfy it.
    [[nodiscard]] virtual bool satisfies(
        chain::Name account,
        chain::Name permission,
        const std::vector<base::crypto::PublicKey>& keys) const = 0;
};

// What tokens are judged by. All of it outlives who asks.
struct TokenJudge {
    base::Hash256 chain;
    const Rights& rights;
    const PermissionCheck& permissions;
};

// Who has logged in with a token, and what the session depends on.
struct TokenHolder {
    Principal principal;
    TokenClaims claims;
    std::vector<base::crypto::PublicKey> keys;
    std::optional<std::uint32_t> height = {};  // Of the state by which the keys were last checked.
};

// The digest that the keys of a permission sign. invalid: the terms are none of a token; the
// message names what is wrong.
[[nodiscard]] base::Result<base::Hash256> token_digest(const TokenTerms& terms);
// The token with these signatures over token_digest(), in any order. invalid: as there, no
// signature, more than 16, two of one key, or one that is neither K1 nor R1.
[[nodiscard]] base::Result<std::string> make_token(const TokenTerms& terms,
                                                   std::vector<base::crypto::Signature> signatures);

// Reads a token's form; nothing is checked against rows, time or keys. malformed.
[[nodiscard]] base::Result<Token> decode_token(std::string_view text);
// Who holds this token. sasl_authentication_failed: the form, the chain, the time (by the later of
// local clock and final block), a revocation, or keys that do not satisfy the permission.
[[nodiscard]] Verdict<TokenHolder> admit_token(const TokenJudge& judge,
                                               std::string_view text,
                                               std::int64_t now);
// Whether the session goes on: not expired, not revoked, and its keys still satisfy the permission,
// which is asked once a final state. `now`: milliseconds since 1970.
[[nodiscard]] Verdict<void> check_token(const TokenJudge& judge,
                                        TokenHolder& holder,
                                        std::int64_t now);

}  // namespace bps
