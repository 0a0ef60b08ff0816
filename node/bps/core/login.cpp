#include "node/bps/core/login.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bps {

namespace {

// RFC 7628, section 3.2.2; the status is of RFC 6750. The reason follows in the last answer.
constexpr std::string_view kInvalidToken = R"({"status":"invalid_token"})";
constexpr std::byte kTold{1};  // What a client answers to that.

std::string text_of(const Principal& who) {
    return fmt::format("{}@{}", who.account.to_string(), who.permission.to_string());
}

// As Antelope's tools have it: an account alone is its permission 'active'.
bool is_named(std::string_view user, const Principal& who) {
    const bool is_alone = user.find('@') == user.npos;
    return (is_alone ? fmt::format("{}@active", user) : user) == text_of(who);
}

bool is_same(const Principal& one, const Principal& other) {
    return one.account == other.account && one.permission == other.permission;
}

}  // namespace

Login::Login(const TokenJudge& judge, LoginCounts& counts, const Peer& peer)
    : judge_(judge), counts_(counts), peer_(peer) {
    if (auto who = by_peer()) session_.emplace<ByPeer>(std::move(*who));
}

// A certificate that nobody has is no reason to refuse: its owner may have a token, too.
Verdict<Principal> Login::by_peer() const {
    if (peer_.certificate) {
        if (auto who = judge_.rights.certificate(*peer_.certificate)) return *std::move(who);
    }
    return judge_.rights.anonymous(peer_.is_loopback);
}

const Principal* Login::principal() const {
    if (const auto* peer = std::get_if<ByPeer>(&session_)) return &peer->principal;
    if (const auto* holder = std::get_if<TokenHolder>(&session_)) return &holder->principal;
    return nullptr;
}

Verdict<void> Login::check(std::int64_t now) {
    Verdict<void> goes_on;
    if (auto* holder = std::get_if<TokenHolder>(&session_)) {
        goes_on = check_token(judge_, *holder, now);
    } else {
        auto who = by_peer();
        const auto* peer = std::get_if<ByPeer>(&session_);
        if (!who) {
            goes_on = refuse(who.error());
        } else if (peer == nullptr || !is_same(peer->principal, *who)) {
            goes_on = refuse(ErrorCode::sasl_authentication_failed,
                             "whom this connection stands for has changed; connect again");
        }
    }
    if (!goes_on && principal() != nullptr) {
        ++counts_.ended;
        session_ = std::monostate();
        exchange_ = Closed();
    }
    return goes_on;
}

std::optional<Reply> Login::on_request(std::int64_t now,
                                       const RequestId& id,
                                       const RequestHeader& header,
                                       const Request& request) {
    if (std::holds_alternative<Closed>(exchange_)) return close(id, "the login has failed");
    const Caller caller{.id = id,
                        .version = header.version,
                        .correlation = header.correlation,
                        .principal = {},
                        .client_id = {},
                        .client_host = {},
                        .protocol = {}};
    // Both also where a session is over: it may be renewed then.
    if (const auto* asked = std::get_if<SaslHandshakeRequest>(&request)) {
        return handshake(caller, *asked);
    }
    if (const auto* asked = std::get_if<SaslAuthenticateRequest>(&request)) {
        return authenticate(now, caller, *asked);
    }
    // Some clients, as kafkajs, take the JSON for success.
    if (const auto* told = std::get_if<Told>(&exchange_)) return close(id, told->reason);
    if (!std::holds_alternative<std::monostate>(exchange_)) {
        return close(id, "a request between SaslHandshake and the end of the login");
    }
    if (principal() == nullptr) {
        if (std::holds_alternative<ApiVersionsRequest>(request)) return std::nullopt;
        return close(id, "a request before the login; log in with SASL, or with a certificate");
    }
    if (auto goes_on = check(now); !goes_on) return close(id, goes_on.error().reason);
    return std::nullopt;
}

Reply Login::handshake(const Caller& caller, const SaslHandshakeRequest& request) {
    const SaslHandshakeResponse offered{.mechanisms = {kPlain, kOauthBearer}};
    const auto refused = [&](ErrorCode code, std::string reason) {
        SaslHandshakeResponse response = offered;
        response.error_code = code;
        exchange_ = Closed();
        ++counts_.refused;
        Reply reply = reply_to(caller, response);
        reply.close_reason = std::move(reason);
        return reply;
    };
    // After version 0 bare tokens would follow, without a frame that says what they are (KIP-152).
    if (caller.version == 0) {
        return refused(ErrorCode::unsupported_version,
                       "SaslHandshake 0; version 1 and SaslAuthenticate are spoken");
    }
    if (!std::holds_alternative<std::monostate>(exchange_)) {
        return refused(ErrorCode::illegal_sasl_state, "SaslHandshake within a login");
    }
    if (request.mechanism == kPlain) {
        exchange_ = Handshaken{Mechanism::plain};
    } else if (request.mechanism == kOauthBearer) {
        exchange_ = Handshaken{Mechanism::oauth_bearer};
    } else {
        return refused(ErrorCode::unsupported_sasl_mechanism,
                       fmt::format("SASL mechanisms are {} and {}", kPlain, kOauthBearer));
    }
    return reply_to(caller, offered);
}

Reply Login::authenticate(std::int64_t now,
                          const Caller& caller,
                          const SaslAuthenticateRequest& request) {
    constexpr auto kFailed = ErrorCode::sasl_authentication_failed;
    if (auto* told = std::get_if<Told>(&exchange_)) {
        const bool is_answer = request.auth_bytes.size() == 1 && request.auth_bytes[0] == kTold;
        return refuse_login(caller,
                            kFailed,
                            is_answer ? std::move(told->reason)
                                      : "OAUTHBEARER: after an error a byte 1 is expected");
    }
    const auto* handshaken = std::get_if<Handshaken>(&exchange_);
    if (handshaken == nullptr) {
        return refuse_login(
            caller, ErrorCode::illegal_sasl_state, "SaslAuthenticate without SaslHandshake");
    }
    const bool is_plain = handshaken->mechanism == Mechanism::plain;
    const auto message =
        is_plain ? decode_plain(request.auth_bytes) : decode_oauth_bearer(request.auth_bytes);
    if (!message) return refuse_login(caller, kFailed, message.error().detail);
    auto holder = admit(now, *message);
    if (holder) return enter(now, caller, std::move(*holder));
    return is_plain ? refuse_login(caller, kFailed, std::move(holder.error().reason))
                    : tell(caller, std::move(holder.error().reason));
}

Verdict<TokenHolder> Login::admit(std::int64_t now, const SaslMessage& message) const {
    auto holder = admit_token(judge_, message.token, now);
    if (!holder) return holder;
    const std::string who = text_of(holder->principal);
    if (!message.user.empty() && !is_named(message.user, holder->principal)) {
        return refuse(ErrorCode::sasl_authentication_failed,
                      fmt::format("the user is not whom the token is for: give {}", who));
    }
    const auto* before = std::get_if<TokenHolder>(&session_);
    if (before != nullptr && !is_same(before->principal, holder->principal)) {
        return refuse(ErrorCode::sasl_authentication_failed,
                      fmt::format("a session of {} is not renewed by {}: connect again",
                                  text_of(before->principal),
                                  who));
    }
    return holder;
}

Reply Login::enter(std::int64_t now, const Caller& caller, TokenHolder holder) {
    ++counts_.logins;
    // The token holds, so that its end is later than now.
    const std::int64_t lifetime =
        std::int64_t{holder.claims.expires_at} * 1'000 - judge_.rights.local(now);
    session_ = std::move(holder);
    exchange_ = std::monostate();
    return reply_to(
        caller,
        SaslAuthenticateResponse{
            .error_message = std::nullopt, .auth_bytes = {}, .session_lifetime_ms = lifetime});
}

Reply Login::tell(const Caller& caller, std::string reason) {
    ++counts_.refused;
    Reply reply = reply_to(caller,
                           SaslAuthenticateResponse{.error_message = std::nullopt,
                                                    .auth_bytes = base::as_bytes(kInvalidToken)});
    reply.refusal = reason;
    exchange_ = Told{std::move(reason)};
    return reply;
}

Reply Login::refuse_login(const Caller& caller, ErrorCode code, std::string reason) {
    // Who was told is counted: it may leave without asking for this answer.
    if (!std::holds_alternative<Told>(exchange_)) ++counts_.refused;
    exchange_ = Closed();
    Reply reply = reply_to(
        caller,
        SaslAuthenticateResponse{.error_code = code, .error_message = reason, .auth_bytes = {}});
    reply.close_reason = std::move(reason);
    return reply;
}

Reply Login::close(const RequestId& id, std::string reason) {
    exchange_ = Closed();
    return {.id = id, .response = std::nullopt, .close_reason = std::move(reason)};
}

}  // namespace bps
