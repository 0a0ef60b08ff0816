#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"

#include <string_view>

// The first message of a SASL client, by mechanism. Both carry a token. Borrowed from the message;
// no error quotes it.
namespace bps {

inline constexpr std::string_view kPlain = "PLAIN";
inline constexpr std::string_view kOauthBearer = "OAUTHBEARER";

struct SaslMessage {
    std::string_view user;  // OAUTHBEARER: may be empty.
    std::string_view token;
};

// RFC 4616: [authorization] NUL user NUL password. malformed: another form, no user or password, or
// an authorization identity that is not the user: nobody acts for another.
[[nodiscard]] base::Result<SaslMessage> decode_plain(base::ByteView message);
// RFC 7628, section 3.1, as KIP-255 and KIP-342 use it: `n,[a=user],` ^A `auth=Bearer` SP token ^A
// (name = value ^A)* ^A. Other names are passed over. malformed: another form, or not one token.
[[nodiscard]] base::Result<SaslMessage> decode_oauth_bearer(base::ByteView message);

}  // namespace bps
