#include "node/bps/core/sasl.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace bps {

namespace {

constexpr char kSeparator = '\x01';

tl::unexpected<base::Error> malformed(std::string detail) {
    return base::fail(base::Errc::malformed, std::move(detail));
}

// The part before `separator`, which is passed too. False: there is none.
bool take(std::string_view& text, char separator, std::string_view& part) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) return false;
    part = text.substr(0, at);
    text.remove_prefix(at + 1);
    return true;
}

bool is_letter(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

// Of the values that RFC 7628 allows.
bool is_value_letter(char letter) {
    return (letter >= ' ' && letter <= '~') || letter == '\t' || letter == '\r' || letter == '\n';
}

// RFC 6750: the name of the scheme has no case.
bool take_scheme(std::string_view& value) {
    constexpr std::string_view kScheme = "bearer ";
    const bool is_bearer =
        value.size() > kScheme.size() &&
        std::equal(kScheme.begin(), kScheme.end(), value.begin(), [](char expected, char found) {
            return expected == (found >= 'A' && found <= 'Z' ? found - 'A' + 'a' : found);
        });
    if (is_bearer) value.remove_prefix(kScheme.size());
    return is_bearer;
}

base::Result<void> take_pair(std::string_view pair, SaslMessage& message) {
    std::string_view name;
    if (!take(pair, '=', name) || name.empty() || !std::ranges::all_of(name, is_letter) ||
        !std::ranges::all_of(pair, is_value_letter)) {
        return malformed("OAUTHBEARER: a part is not name=value");
    }
    if (name != "auth") return {};
    if (!message.token.empty() || !take_scheme(pair)) {
        return malformed("OAUTHBEARER: auth is not one 'Bearer TOKEN'");
    }
    message.token = pair;
    return {};
}

}  // namespace

base::Result<SaslMessage> decode_plain(base::ByteView message) {
    std::string_view left = base::as_text(message);
    std::string_view authorization;
    SaslMessage found;
    const bool is_split = take(left, '\0', authorization) && take(left, '\0', found.user);
    if (!is_split || found.user.empty() || left.empty() || left.find('\0') != left.npos) {
        return malformed("PLAIN: not user and password, with a zero byte before each (RFC 4616)");
    }
    if (!authorization.empty() && authorization != found.user) {
        return malformed("PLAIN: the authorization identity is not the user; leave it empty");
    }
    found.token = left;
    return found;
}

base::Result<SaslMessage> decode_oauth_bearer(base::ByteView message) {
    std::string_view left = base::as_text(message);
    std::string_view binding;
    std::string_view authorization;
    std::string_view rest;
    const bool is_begun = take(left, ',', binding) && take(left, ',', authorization) &&
                          take(left, kSeparator, rest) && rest.empty();
    if (!is_begun || (binding != "n" && binding != "y")) {
        return malformed("OAUTHBEARER: does not begin with 'n,,' and a byte 1 (RFC 7628)");
    }
    SaslMessage found;
    if (!authorization.empty()) {
        if (!authorization.starts_with("a=")) {
            return malformed("OAUTHBEARER: the authorization identity does not begin with 'a='");
        }
        found.user = authorization.substr(2);
    }
    for (std::string_view pair; take(left, kSeparator, pair);) {
        if (pair.empty()) {
            if (left.empty() && !found.token.empty()) return found;
            break;
        }
        if (const auto taken = take_pair(pair, found); !taken) return base::fail(taken.error());
    }
    return malformed("OAUTHBEARER: does not end with two bytes 1 after auth=Bearer TOKEN");
}

}  // namespace bps
