#include "node/bps/core/token_claims.hpp"

#include "node/bps/core/topic_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace bps {

namespace {

constexpr std::size_t kJtiBytesMax = 64;  // As the contract can revoke.
constexpr std::pair<std::string_view, Right> kRights[] = {
    {"produce", Right::produce}, {"consume", Right::consume}, {"admin", Right::admin}};

bool is_jti_letter(char letter) {
    return letter > ' ' && letter <= '~' && letter != '"' && letter != '\\';
}

tl::unexpected<base::Error> invalid(std::string detail) {
    return base::fail(base::Errc::invalid, "token: " + std::move(detail));
}

base::Result<void> check_item(const TokenScope::Item& item) {
    if (item.topic.size() > kTopicNameBytesMax || (item.topic.empty() && !item.prefixed) ||
        !std::ranges::all_of(item.topic, is_topic_letter)) {
        return invalid(
            fmt::format("an item of its scope names no topic: a name has 1 to {} letters, digits, "
                        "'.', '_' and '-'",
                        kTopicNameBytesMax));
    }
    if (item.rights.empty() || item.rights.contains(Right::see)) {
        return invalid("an item of its scope gives some of produce, consume and admin");
    }
    return {};
}

base::Result<void> check_times(const TokenClaims& claims) {
    const bool is_ordered =
        claims.issued_at <= claims.not_before && claims.not_before < claims.expires_at;
    if (is_ordered && claims.expires_at - claims.issued_at <= Rights::kTokenSecondsMax) return {};
    return invalid(
        fmt::format("iat {}, nbf {}, exp {}; they ascend, and exp is at most {} s after "
                    "iat",
                    claims.issued_at,
                    claims.not_before,
                    claims.expires_at,
                    Rights::kTokenSecondsMax));
}

base::Result<void> check_terms(const TokenTerms& terms) {
    const TokenClaims& claims = terms.claims;
    if (claims.account.empty() || terms.permission.empty()) {
        return invalid("its sub has no account or no permission");
    }
    if (claims.jti.empty() || claims.jti.size() > kJtiBytesMax ||
        !std::ranges::all_of(claims.jti, is_jti_letter)) {
        return invalid(
            fmt::format("its jti has not 1 to {} printable ASCII letters without blank, quotation "
                        "mark and backslash",
                        kJtiBytesMax));
    }
    if (terms.scope.items.empty() || terms.scope.items.size() > kTokenScopeItemsMax) {
        return invalid(fmt::format(
            "its scope has {} items, not 1 to {}", terms.scope.items.size(), kTokenScopeItemsMax));
    }
    for (const TokenScope::Item& item : terms.scope.items) {
        if (auto checked = check_item(item); !checked) return checked;
    }
    return check_times(claims);
}

std::string text_of(const TokenScope& scope) {
    std::string text;
    for (const TokenScope::Item& item : scope.items) {
        if (!text.empty()) text += ' ';
        text += item.topic;
        if (item.prefixed) text += '*';
        char before = ':';
        for (const auto& [name, right] : kRights) {
            if (!item.rights.contains(right)) continue;
            text += std::exchange(before, ',');
            text += name;
        }
    }
    return text;
}

// The text before the next `separator`, which is passed too; all that is left where there is none.
std::string_view take(std::string_view& text, char separator) {
    const std::size_t at = text.find(separator);
    const std::string_view part = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
    return part;
}

// Nothing: no such right.
std::optional<Right> right_of(std::string_view text) {
    const auto* const found =
        std::ranges::find(kRights, text, &std::pair<std::string_view, Right>::first);
    return found == std::end(kRights) ? std::nullopt : std::optional(found->second);
}

bool decode(std::string_view text, TokenScope::Item& item) {
    std::string_view topic = take(text, ':');
    item.prefixed = topic.ends_with('*');
    if (item.prefixed) topic.remove_suffix(1);
    item.topic = topic;
    while (!text.empty()) {
        const auto right = right_of(take(text, ','));
        if (!right) return false;
        item.rights.insert(*right);
    }
    return true;
}

bool decode(std::string_view text, TokenScope& scope) {
    while (!text.empty()) {
        if (scope.items.size() == kTokenScopeItemsMax) return false;
        if (!decode(take(text, ' '), scope.items.emplace_back())) return false;
    }
    return true;
}

bool decode(std::string_view text, chain::Name& name) {
    const auto read = chain::Name::from_string(text);
    if (read) name = *read;
    return read.has_value();
}

// Reads claims from the left. What does not fit makes all that follows fail.
class Claims {
  public:
    explicit Claims(std::string_view text) : left_(text) {}

    [[nodiscard]] bool pass(std::string_view expected) {
        if (!left_.starts_with(expected)) return false;
        left_.remove_prefix(expected.size());
        return true;
    }
    // Up to the next quotation mark; none has an escape before it.
    [[nodiscard]] std::string_view quoted() { return take(left_, '"'); }
    [[nodiscard]] bool seconds(std::uint32_t& value) {
        const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
        left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
        return error == std::errc();
    }
    [[nodiscard]] bool empty() const { return left_.empty(); }

  private:
    std::string_view left_;
};

bool decode(std::string_view text, TokenTerms& terms) {
    Claims in(text);
    TokenClaims& claims = terms.claims;
    if (!in.pass(R"({"chain":")")) return false;
    const auto chain = base::from_hex(in.quoted());
    const auto id = chain ? base::to_hash<32>(*chain) : base::Result<base::Hash256>();
    if (!chain || !id || !in.pass(R"(,"sub":")")) return false;
    terms.chain = *id;
    std::string_view permission = in.quoted();
    const std::string_view account = take(permission, '@');
    if (!decode(account, claims.account) || !decode(permission, terms.permission)) return false;
    if (!in.pass(R"(,"iat":)") || !in.seconds(claims.issued_at)) return false;
    if (!in.pass(R"(,"nbf":)") || !in.seconds(claims.not_before)) return false;
    if (!in.pass(R"(,"exp":)") || !in.seconds(claims.expires_at)) return false;
    if (!in.pass(R"(,"jti":")")) return false;
    claims.jti = in.quoted();
    if (!in.pass(R"(,"scope":")") || !decode(in.quoted(), terms.scope)) return false;
    return in.pass("}") && in.empty();
}

}  // namespace

base::Result<std::string> claims_text(const TokenTerms& terms) {
    if (const auto checked = check_terms(terms); !checked) return base::fail(checked.error());
    const TokenClaims& claims = terms.claims;
    return fmt::format(
        R"({{"chain":"{}","sub":"{}@{}","iat":{},"nbf":{},"exp":{},"jti":"{}","scope":"{}"}})",
        base::to_hex(terms.chain.view()),
        claims.account.to_string(),
        terms.permission.to_string(),
        claims.issued_at,
        claims.not_before,
        claims.expires_at,
        claims.jti,
        text_of(terms.scope));
}

base::Result<TokenScope> decode_scope(std::string_view text) {
    TokenScope scope;
    if (decode(text, scope)) return scope;
    return base::fail(base::Errc::malformed,
                      fmt::format("token: its scope is not 1 to {} times TOPIC:RIGHTS, where TOPIC "
                                  "may end with '*' and RIGHTS are some of produce, consume and "
                                  "admin with ',' between them",
                                  kTokenScopeItemsMax));
}

base::Result<TokenTerms> decode_claims(std::string_view text) {
    TokenTerms terms;
    if (!decode(text, terms)) {
        return base::fail(base::Errc::malformed,
                          "token: its claims are not chain, sub, iat, nbf, exp, jti and scope in "
                          "the form that bor-cli bps token writes");
    }
    const auto again = claims_text(terms);
    if (!again) return base::fail(base::Errc::malformed, again.error().detail);
    // One text for one meaning: no leading zero, no other case, no other order.
    if (*again != text) {
        return base::fail(base::Errc::malformed, "token: its claims are not in the shortest form");
    }
    return terms;
}

}  // namespace bps
