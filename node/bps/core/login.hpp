#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "node/bps/core/codec/requests.hpp"
#include "node/bps/core/refusal.hpp"
#include "node/bps/core/reply.hpp"
#include "node/bps/core/sasl.hpp"
#include "node/bps/core/token.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace bps {

// Counts since the start, for metrics.
struct LoginCounts {
    std::uint64_t logins = 0;   // With a token; renewed sessions among them.
    std::uint64_t refused = 0;  // Each closed its connection.
    std::uint64_t ended = 0;    // Sessions that expired or lost what they came in with.
};

// The login of one connection (spec 08, "Who is who"): SASL with a token (PLAIN, OAUTHBEARER), a
// client certificate, or bps-anonymous on loopback. Before it is in, only ApiVersions,
// SaslHandshake and SaslAuthenticate are answered. A session of a token can be renewed (KIP-368) by
// another token of the same principal.
//
// Thread: that of the broker. Times are milliseconds since 1970.
class Login : base::Pinned {
  public:
    struct Peer {
        bool is_loopback = false;
        // SHA-256 of the 33 bytes of the P-256 key that the client proved by TLS.
        std::optional<base::Hash256> certificate;
    };

    // Both outlive it.
    Login(const TokenJudge& judge, LoginCounts& counts, const Peer& peer);

    // Answers what belongs to the login, and closes the connection for what may not be asked.
    // Nothing: the request is for the broker, as principal(); only ApiVersions where that is null.
    // The password lies in the request's frame: whoever holds that wipes it.
    [[nodiscard]] std::optional<Reply> on_request(std::int64_t now,
                                                  const RequestId& id,
                                                  const RequestHeader& header,
                                                  const Request& request);
    // To be asked before an answer that waited leaves. sasl_authentication_failed: the session has
    // ended, and the connection is to be closed instead; the reason says why.
    [[nodiscard]] Verdict<void> check(std::int64_t now);
    // Who is in; null: nobody yet.
    [[nodiscard]] const Principal* principal() const;

  private:
    enum class Mechanism : std::uint8_t { plain, oauth_bearer };
    struct ByPeer {  // Its certificate, or being on loopback.
        Principal principal;
    };
    struct Handshaken {
        Mechanism mechanism;
    };
    // The client was told why in JSON, and has to answer it before it is refused (RFC 7628).
    struct Told {
        std::string reason;
    };
    struct Closed {};

    [[nodiscard]] Verdict<Principal> by_peer() const;
    [[nodiscard]] Reply handshake(const Caller& caller, const SaslHandshakeRequest& request);
    [[nodiscard]] Reply authenticate(std::int64_t now,
                                     const Caller& caller,
                                     const SaslAuthenticateRequest& request);
    [[nodiscard]] Verdict<TokenHolder> admit(std::int64_t now, const SaslMessage& message) const;
    [[nodiscard]] Reply enter(std::int64_t now, const Caller& caller, TokenHolder holder);
    [[nodiscard]] Reply tell(const Caller& caller, std::string reason);
    [[nodiscard]] Reply refuse_login(const Caller& caller, ErrorCode code, std::string reason);
    [[nodiscard]] Reply close(const RequestId& id, std::string reason);

    const TokenJudge& judge_;
    LoginCounts& counts_;
    Peer peer_;
    std::variant<std::monostate, ByPeer, TokenHolder> session_;
    // What SASL waits for; nothing: for SaslHandshake.
    std::variant<std::monostate, Handshaken, Told, Closed> exchange_;
};

}  // namespace bps
