#include "node/bps/core/token.hpp"

#include "base/crypto/hash.hpp"
#include "base/crypto/wipe.hpp"
#include "node/bps/core/base64url.hpp"
#include "node/bps/core/token_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace bps {

namespace {

using base::crypto::KeyType;
using base::crypto::PublicKey;
using base::crypto::Signature;

constexpr std::string_view kDomain = "BoR token 1";
constexpr std::string_view kHeader = R"({"typ":"JWT","alg":"BOR1"})";
constexpr std::size_t kSignatureBytes = 66;  // The kind of key, and 65.

tl::unexpected<base::Error> malformed(std::string detail) {
    return base::fail(base::Errc::malformed, "token: " + std::move(detail));
}

base::Hash256 digest_of(std::string_view signed_text) {
    return base::crypto::Sha256()
        .update(base::as_bytes(kDomain))
        .update(base::as_bytes(signed_text))
        .finish();
}

// Header and claims: what is signed.
base::Result<std::string> signed_text(const TokenTerms& terms) {
    const auto claims = claims_text(terms);
    if (!claims) return base::fail(claims.error());
    return to_base64url(base::as_bytes(kHeader)) + '.' + to_base64url(base::as_bytes(*claims));
}

void wipe(std::vector<Signature>& signatures) {
    for (Signature& signature : signatures)
        base::crypto::secure_wipe(signature.compact);
}

base::Result<std::vector<Signature>> decode_signatures(base::ByteView bytes) {
    const std::size_t count = bytes.size() / kSignatureBytes;
    if (bytes.size() % kSignatureBytes != 0 || count == 0 || count > kTokenSignaturesMax) {
        return malformed(fmt::format("{} bytes of signatures, not 1 to {} times {}",
                                     bytes.size(),
                                     kTokenSignaturesMax,
                                     kSignatureBytes));
    }
    std::vector<Signature> signatures(count);
    for (Signature& signature : signatures) {
        const auto kind = static_cast<KeyType>(bytes.front());
        if (kind != KeyType::k1 && kind != KeyType::r1) {
            wipe(signatures);
            return malformed(fmt::format("a signature of kind {}; 0 (K1) and 1 (R1) are taken",
                                         static_cast<unsigned>(kind)));
        }
        signature.type = kind;
        std::ranges::copy(bytes.subspan(1, signature.compact.size()), signature.compact.begin());
        bytes = bytes.subspan(kSignatureBytes);
    }
    return signatures;
}

// Ascending, so that none counts twice and each token has one text.
base::Result<std::vector<PublicKey>> keys_of(const Token& token) {
    std::vector<PublicKey> keys;
    keys.reserve(token.signatures.size());
    for (const Signature& signature : token.signatures) {
        auto key = base::crypto::recover(signature, token.digest);
        if (!key) return malformed("a signature that no key can have made");
        if (!keys.empty() && *key <= keys.back()) {
            return malformed("its signatures do not ascend by their keys");
        }
        keys.push_back(std::move(*key));
    }
    return keys;
}

tl::unexpected<Refusal> no_login(std::string reason) {
    return refuse(ErrorCode::sasl_authentication_failed, std::move(reason));
}

// All but the form. The signatures come last: they cost most.
Verdict<TokenHolder> admit(const TokenJudge& judge, Token& token, std::int64_t now) {
    TokenTerms& terms = token.terms;
    if (terms.chain != judge.chain) {
        return no_login(fmt::format("the token is for the chain {}, this one is {}",
                                    base::to_hex(terms.chain.view()),
                                    base::to_hex(judge.chain.view())));
    }
    if (auto held = judge.rights.token(terms.claims, now); !held) return refuse(held.error());
    auto keys = keys_of(token);
    if (!keys) return no_login(keys.error().detail);
    // Every token has a scope; one that leaves nothing out is as good as none.
    const bool is_whole = terms.scope.is_whole();
    TokenHolder holder{.principal = {.account = terms.claims.account,
                                     .permission = terms.permission,
                                     .scope = is_whole ? nullptr
                                                       : std::make_shared<const TokenScope>(
                                                             std::move(terms.scope))},
                       .claims = std::move(terms.claims),
                       .keys = std::move(*keys)};
    if (auto checked = check_token(judge, holder, now); !checked) return refuse(checked.error());
    return holder;
}

}  // namespace

base::Result<base::Hash256> token_digest(const TokenTerms& terms) {
    const auto text = signed_text(terms);
    if (!text) return base::fail(text.error());
    return digest_of(*text);
}

base::Result<std::string> make_token(const TokenTerms& terms, std::vector<Signature> signatures) {
    const auto text = signed_text(terms);
    if (!text) return base::fail(text.error());
    const base::Hash256 digest = digest_of(*text);
    std::vector<std::pair<PublicKey, Signature>> ordered;
    for (Signature& signature : signatures) {
        auto key = base::crypto::recover(signature, digest);
        if (!key || key->type == KeyType::webauthn) {
            return base::fail(base::Errc::invalid,
                              "token: a signature is not of a K1 or R1 key over these terms");
        }
        ordered.emplace_back(std::move(*key), std::move(signature));
    }
    std::ranges::sort(ordered);
    base::Bytes bytes;
    for (const auto& [key, signature] : ordered) {
        bytes.push_back(static_cast<std::byte>(signature.type));
        bytes.insert(bytes.end(), signature.compact.begin(), signature.compact.end());
    }
    std::string token = *text + '.' + to_base64url(bytes);
    // What is given out is what is taken in.
    auto read = decode_token(token);
    if (!read) return base::fail(base::Errc::invalid, read.error().detail);
    if (const auto keys = keys_of(*read); !keys) {
        return base::fail(base::Errc::invalid, "token: two signatures of one key");
    }
    return token;
}

base::Result<Token> decode_token(std::string_view text) {
    if (text.size() > kTokenBytesMax) {
        return malformed(fmt::format("{} bytes, more than {}", text.size(), kTokenBytesMax));
    }
    const std::size_t first = text.find('.');
    const std::size_t second = text.rfind('.');
    if (first == second || text.find('.', first + 1) != second) {
        return malformed("not header.claims.signatures");
    }
    if (text.substr(0, first) != to_base64url(base::as_bytes(kHeader))) {
        return malformed(fmt::format("its header is not {}", kHeader));
    }
    const auto claims = from_base64url(text.substr(first + 1, second - first - 1));
    if (!claims) return malformed("its claims: " + claims.error().detail);
    auto terms = decode_claims(base::as_text(*claims));
    if (!terms) return base::fail(terms.error());
    auto bytes = from_base64url(text.substr(second + 1));
    if (!bytes) return malformed("its signatures: " + bytes.error().detail);
    auto signatures = decode_signatures(*bytes);
    base::crypto::secure_wipe(*bytes);
    if (!signatures) return base::fail(signatures.error());
    return Token{.terms = std::move(*terms),
                 .digest = digest_of(text.substr(0, second)),
                 .signatures = std::move(*signatures)};
}

Verdict<TokenHolder> admit_token(const TokenJudge& judge, std::string_view text, std::int64_t now) {
    auto token = decode_token(text);
    if (!token) return no_login(token.error().detail);
    auto holder = admit(judge, *token, now);
    wipe(token->signatures);
    return holder;
}

Verdict<void> check_token(const TokenJudge& judge, TokenHolder& holder, std::int64_t now) {
    if (auto held = judge.rights.token(holder.claims, now); !held) return refuse(held.error());
    const std::uint32_t height = judge.permissions.height();
    if (height == holder.height) return {};
    const Principal& who = holder.principal;
    if (!judge.permissions.satisfies(who.account, who.permission, holder.keys)) {
        return no_login(fmt::format("the keys that signed the token do not satisfy {}@{}",
                                    who.account.to_string(),
                                    who.permission.to_string()));
    }
    holder.height = height;
    return {};
}

}  // namespace bps
