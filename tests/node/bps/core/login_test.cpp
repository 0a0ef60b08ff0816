// The login of one connection, as the messages that clients send: what is answered before it, with
// what one comes in, and when a session ends.
#include "node/bps/core/login.hpp"

#include "node/bps/core/codec/decoder.hpp"
#include "tests/node/bps/core/login_fixture.hpp"

#include <optional>

namespace {

using namespace support;  // NOLINT(google-build-using-namespace)
using bps::ErrorCode;
using bps::SaslAuthenticateRequest;
using bps::SaslAuthenticateResponse;
using bps::SaslHandshakeRequest;
using bps::SaslHandshakeResponse;

constexpr bps::Login::Peer kFar{.is_loopback = false, .certificate = std::nullopt};
constexpr bps::Login::Peer kNear{.is_loopback = true, .certificate = std::nullopt};
const std::string kEnd(2, '\x01');

// A client of one connection.
class Client : public LoginFixture {
  public:
    explicit Client(const bps::Login::Peer& peer = kFar) : login(judge, counts, peer) {}

    std::optional<bps::Reply> ask(const bps::Request& request, std::int16_t version = 1) {
        const bps::RequestHeader header{
            .key = 0, .version = version, .correlation = 5, .client_id = {}};
        return login.on_request(now, {.connection = 3, .number = ++number}, header, request);
    }
    SaslHandshakeResponse handshake(std::string_view mechanism, std::int16_t version = 1) {
        return read<SaslHandshakeResponse>(ask(SaslHandshakeRequest{mechanism}, version), version);
    }
    SaslAuthenticateResponse authenticate(const std::string& bytes, std::int16_t version = 1) {
        return read<SaslAuthenticateResponse>(
            ask(SaslAuthenticateRequest{base::as_bytes(bytes)}, version), version);
    }
    SaslAuthenticateResponse plain(const std::string& text) {
        CHECK(handshake("PLAIN").error_code == ErrorCode::none);
        return authenticate(std::string(1, '\0') + "alice@active" + std::string(1, '\0') + text);
    }
    SaslAuthenticateResponse oauth(const std::string& message) {
        CHECK(handshake("OAUTHBEARER").error_code == ErrorCode::none);
        return authenticate(message);
    }
    // Whether the broker gets the request.
    bool may_ask(const bps::Request& request = bps::MetadataRequest{}) {
        const auto reply = ask(request);
        if (reply) {
            CHECK_FALSE(reply->response);
            closed = reply->close_reason;
            CHECK_FALSE(closed.empty());
        }
        return !reply;
    }
    std::string who() const {
        const bps::Principal* principal = login.principal();
        return principal == nullptr ? "" : principal->account.to_string();
    }

    std::int64_t now = kNow;
    std::uint64_t number = 0;
    std::string closed;   // Why the last reply closes the connection; empty: it does not.
    std::string refusal;  // What it says of a client that leaves.
    bps::LoginCounts counts;
    bps::Login login;

  private:
    template <class Response>
    Response read(std::optional<bps::Reply> reply, std::int16_t version) {
        REQUIRE(reply);
        CHECK(reply->id == bps::RequestId{.connection = 3, .number = number});
        closed = reply->close_reason;
        refusal = reply->refusal;
        REQUIRE(reply->response);
        frame_ = std::move(reply->response->bytes);
        const bool flexible = Response::kApi.is_flexible(version);
        bps::Decoder decoder(base::ByteView(frame_).subspan(flexible ? 9 : 8), version, flexible);
        Response response;
        decoder.structure(response);
        REQUIRE(decoder.finish());
        return response;
    }

    base::Bytes frame_;  // What the last response borrows from.
};

std::string bearer(const std::string& token) {
    return "n,,\x01"
           "auth=Bearer " +
           token + kEnd;
}

}  // namespace

TEST_CASE("before the login only its own messages and ApiVersions are answered", "[bps][login]") {
    for (const bps::Request& request : std::vector<bps::Request>{bps::MetadataRequest{},
                                                                 bps::ProduceRequest{},
                                                                 bps::FetchRequest{},
                                                                 bps::ListGroupsRequest{},
                                                                 bps::DescribeClusterRequest{}}) {
        Client client;
        CHECK(client.may_ask(bps::ApiVersionsRequest{}));
        CHECK(client.who().empty());
        CHECK_FALSE(client.may_ask(request));
        // Nothing more on this connection.
        CHECK_FALSE(client.may_ask(bps::ApiVersionsRequest{}));
    }
}

TEST_CASE("a token as the password of PLAIN lets in", "[bps][login]") {
    Client client;
    CHECK(client.may_ask(bps::ApiVersionsRequest{}));
    const auto offered = client.handshake("PLAIN");
    CHECK(offered.mechanisms == std::vector<std::string_view>{"PLAIN", "OAUTHBEARER"});
    CHECK_FALSE(client.may_ask());
    Client other;
    const auto answer = other.plain(other.token());
    CHECK(answer.error_code == ErrorCode::none);
    CHECK(answer.auth_bytes.empty());
    CHECK(answer.session_lifetime_ms == 3'600'000);
    CHECK(other.closed.empty());
    CHECK(other.who() == "alice");
    CHECK(other.may_ask());
    CHECK(other.counts.logins == 1);
    CHECK(other.counts.refused == 0);
}

TEST_CASE("every version of SaslAuthenticate lets in", "[bps][login]") {
    for (std::int16_t version = 0; version <= 2; ++version) {
        Client client;
        (void)client.handshake("PLAIN");
        const auto answer = client.authenticate(
            std::string(1, '\0') + "alice@active" + std::string(1, '\0') + client.token(), version);
        CHECK(answer.error_code == ErrorCode::none);
        CHECK(answer.session_lifetime_ms == (version == 0 ? 0 : 3'600'000));
        CHECK(client.may_ask());
    }
}

TEST_CASE("SaslHandshake 0 and other mechanisms are refused with the list", "[bps][login]") {
    Client old;
    CHECK(old.handshake("PLAIN", 0).error_code == ErrorCode::unsupported_version);
    CHECK_FALSE(old.closed.empty());
    for (const char* mechanism : {"SCRAM-SHA-256", "GSSAPI", "plain", ""}) {
        Client client;
        const auto answer = client.handshake(mechanism);
        CHECK(answer.error_code == ErrorCode::unsupported_sasl_mechanism);
        CHECK(answer.mechanisms.size() == 2);
        CHECK_FALSE(client.closed.empty());
        CHECK_FALSE(client.may_ask(bps::ApiVersionsRequest{}));
        CHECK(client.counts.refused == 1);
    }
}

TEST_CASE("the messages of a login come in their order", "[bps][login]") {
    Client first;
    CHECK(first.authenticate("x").error_code == ErrorCode::illegal_sasl_state);
    CHECK_FALSE(first.closed.empty());
    Client twice;
    CHECK(twice.handshake("PLAIN").error_code == ErrorCode::none);
    CHECK(twice.handshake("PLAIN").error_code == ErrorCode::illegal_sasl_state);
    CHECK_FALSE(twice.closed.empty());
    Client between;
    CHECK(between.handshake("PLAIN").error_code == ErrorCode::none);
    CHECK_FALSE(between.may_ask(bps::ApiVersionsRequest{}));
}

TEST_CASE("a wrong PLAIN login has one answer, and the connection ends", "[bps][login]") {
    const std::string zero(1, '\0');
    Client probe;
    const std::string token = probe.token();
    for (const std::string& message : {std::string(),
                                       zero,
                                       zero + zero,
                                       std::string("alice@active"),
                                       zero + "alice@active",
                                       zero + "alice@active" + zero,
                                       zero + zero + "token",
                                       zero + "alice@active" + zero + "token",
                                       zero + "alice@active" + zero + token + zero,
                                       "bob@active" + zero + "alice@active" + zero + "token"}) {
        Client client;
        (void)client.handshake("PLAIN");
        const auto answer = client.authenticate(message);
        CHECK(answer.error_code == ErrorCode::sasl_authentication_failed);
        CHECK(answer.error_message == client.closed);
        CHECK_FALSE(client.closed.empty());
        CHECK(client.counts.refused == 1);
        CHECK(client.who().empty());
        CHECK_FALSE(client.may_ask(bps::ApiVersionsRequest{}));
    }
    Client other;
    (void)other.handshake("PLAIN");
    CHECK(other.authenticate(zero + "bob@active" + zero + other.token()).error_message ==
          "the user is not whom the token is for: give alice@active");
    for (const std::string& user :
         {"alice@active" + zero + "alice@active", zero + "alice", "alice" + zero + "alice"}) {
        Client same;
        (void)same.handshake("PLAIN");
        CHECK(same.authenticate(user + zero + same.token()).error_code == ErrorCode::none);
    }
    for (const std::string user : {"alic", "alice@", "alice@owner", "alice@active@", "@active"}) {
        Client near;
        (void)near.handshake("PLAIN");
        CHECK(near.authenticate(zero + user + zero + near.token()).error_code ==
              ErrorCode::sasl_authentication_failed);
    }
}

TEST_CASE("OAUTHBEARER lets in, with and without a user and extensions", "[bps][login]") {
    for (const std::string& prefix : {std::string("n,,\x01"),
                                      std::string("y,,\x01"),
                                      std::string("n,a=alice@active,\x01"),
                                      std::string("n,a=alice,\x01"),
                                      std::string("n,,\x01host=broker.example\x01port=9092\x01")}) {
        Client client;
        const auto answer = client.oauth(prefix + "auth=Bearer " + client.token() + kEnd);
        CHECK(answer.error_code == ErrorCode::none);
        CHECK(answer.auth_bytes.empty());
        CHECK(client.who() == "alice");
    }
    Client lower;
    CHECK(lower
              .oauth("n,,\x01"
                     "auth=bearer " +
                     lower.token() + "\x01traceparent=1" + kEnd)
              .error_code == ErrorCode::none);
}

TEST_CASE("a wrong token of OAUTHBEARER is told in JSON, then refused", "[bps][login]") {
    for (const bool is_polite : {true, false}) {
        Client client;
        const auto told = client.oauth(bearer("a.b.c"));
        CHECK(told.error_code == ErrorCode::none);
        CHECK(base::as_text(told.auth_bytes) == R"({"status":"invalid_token"})");
        CHECK(client.closed.empty());
        CHECK(client.refusal.starts_with("token: "));
        CHECK(client.who().empty());
        CHECK(client.counts.refused == 1);
        // Not even a good one now.
        const auto last = client.authenticate(is_polite ? "\x01" : bearer(client.token()));
        CHECK(last.error_code == ErrorCode::sasl_authentication_failed);
        CHECK((last.error_message->starts_with("token: ")) == is_polite);
        CHECK_FALSE(client.closed.empty());
        CHECK(client.counts.refused == 1);
        CHECK(client.who().empty());
    }
    // Who goes on all the same is closed, and the reason is the token's.
    Client deaf;
    (void)deaf.oauth(bearer("a.b.c"));
    CHECK_FALSE(deaf.may_ask());
    CHECK(deaf.closed.starts_with("token: "));
    Client other;
    (void)other.oauth(
        "n,a=bob@active,\x01"
        "auth=Bearer " +
        other.token() + kEnd);
    CHECK(other.authenticate("\x01").error_message ==
          "the user is not whom the token is for: give alice@active");
}

TEST_CASE("a message of OAUTHBEARER in another form is refused", "[bps][login]") {
    Client probe;
    const std::string auth = "auth=Bearer " + probe.token();
    for (const std::string& message : {std::string(),
                                       std::string("n,,"),
                                       "n,,\x01" + kEnd,
                                       "n,,\x01" + auth,
                                       "n,,\x01" + auth + "\x01",
                                       "n,,\x01" + auth + kEnd + "\x01",
                                       "n,,\x01" + auth + "\x01" + auth + kEnd,
                                       "n,," + auth + kEnd,
                                       "p=tls-unique,,\x01" + auth + kEnd,
                                       "n,alice@active,\x01" + auth + kEnd,
                                       "n,,\x01=x\x01" + auth + kEnd,
                                       "n,,\x01h0st=x\x01" + auth + kEnd,
                                       "n,,\x01host=\x02\x01" + auth + kEnd,
                                       std::string("n,,\x01"
                                                   "auth=Bearer ") +
                                           kEnd,
                                       std::string("n,,\x01"
                                                   "auth=Basic YTpi") +
                                           kEnd}) {
        Client client;
        CHECK(client.oauth(message).error_code == ErrorCode::sasl_authentication_failed);
        CHECK(client.closed.starts_with("OAUTHBEARER: "));
        CHECK(client.closed.find("BoR") == std::string::npos);
    }
}

TEST_CASE("who has a certificate in the rows comes in with it, until it is gone", "[bps][login]") {
    base::Hash256 hash{.bytes = {std::byte{9}}};
    Client unknown({.is_loopback = false, .certificate = hash});
    CHECK(unknown.who().empty());
    CHECK(unknown.plain(unknown.token()).error_code == ErrorCode::none);

    Client client({.is_loopback = false, .certificate = hash});
    client.put(bps::rows::Cert{.id = 1, .hash = hash, .account = "bob"_n, .permission = "app"_n},
               1);
    bps::Login login(client.judge, client.counts, {.is_loopback = false, .certificate = hash});
    REQUIRE(login.principal() != nullptr);
    CHECK(login.principal()->account == "bob"_n);
    CHECK(login.principal()->permission == "app"_n);
    CHECK(login.principal()->scope == nullptr);
    CHECK(login.check(Client::kNow).has_value());
    CHECK_FALSE(login.on_request(Client::kNow, {}, {}, bps::MetadataRequest{}));
    client.erase<bps::rows::Cert>(1);
    const auto reply = login.on_request(Client::kNow, {}, {}, bps::MetadataRequest{});
    REQUIRE(reply);
    CHECK_FALSE(reply->close_reason.empty());
    CHECK(client.counts.ended == 1);
    CHECK(login.principal() == nullptr);
}

TEST_CASE("a certificate that goes over to another ends the session", "[bps][login]") {
    base::Hash256 hash{.bytes = {std::byte{9}}};
    LoginFixture world;
    world.put(bps::rows::Cert{.id = 1, .hash = hash, .account = "bob"_n, .permission = "app"_n}, 1);
    bps::LoginCounts counts;
    bps::Login login(world.judge, counts, {.is_loopback = false, .certificate = hash});
    world.erase<bps::rows::Cert>(1);
    world.put(bps::rows::Cert{.id = 2, .hash = hash, .account = "alice"_n, .permission = "app"_n},
              2);
    const auto goes_on = login.check(LoginFixture::kNow);
    REQUIRE_FALSE(goes_on);
    CHECK(goes_on.error().code == ErrorCode::sasl_authentication_failed);
}

TEST_CASE("on loopback bps-anonymous comes in without a login", "[bps][login]") {
    Client client(kNear);
    CHECK(client.who() == "guest");
    CHECK(client.may_ask());
    // And may still log in as somebody.
    CHECK(client.plain(client.token()).error_code == ErrorCode::none);
    CHECK(client.who() == "alice");
    CHECK(Client(kFar).who().empty());
}

TEST_CASE("an expired session is closed at its next request", "[bps][login]") {
    Client client;
    (void)client.plain(client.token());
    client.now += 3'599'999;
    CHECK(client.may_ask());
    CHECK(client.login.check(client.now).has_value());
    client.now += 1;
    CHECK_FALSE(client.may_ask());
    CHECK(client.counts.ended == 1);
    CHECK_FALSE(client.may_ask());
    CHECK(client.counts.ended == 1);
}

TEST_CASE("a session ends before an answer that waited leaves", "[bps][login]") {
    Client client;
    (void)client.plain(client.token());
    client.put(bps::rows::NotBefore{.account = "alice"_n, .time = {Client::kNowSeconds + 1}},
               ("alice"_n).value);
    const auto goes_on = client.login.check(client.now);
    REQUIRE_FALSE(goes_on);
    CHECK(goes_on.error().reason == "tokens of alice from before 1800000001 s are revoked");
    CHECK(client.who().empty());
    // It does not come back either.
    CHECK_FALSE(client.may_ask(SaslHandshakeRequest{"PLAIN"}));
}

TEST_CASE("a session whose keys were changed ends with the next final state", "[bps][login]") {
    Client client;
    (void)client.plain(client.token());
    const int asked = client.permissions.asked;
    for (int i = 0; i < 100; ++i)
        CHECK(client.may_ask());
    CHECK(client.permissions.asked == asked);  // Once a state is enough.
    ++client.permissions.at_height;
    CHECK(client.may_ask());
    CHECK(client.permissions.asked == asked + 1);
    client.permissions.needs[{("alice"_n).value, ("active"_n).value}] = {1, {}};
    ++client.permissions.at_height;
    CHECK_FALSE(client.may_ask());
    CHECK(client.closed == "the keys that signed the token do not satisfy alice@active");
}

TEST_CASE("after the clock was set back a session lasts as long as its token", "[bps][login]") {
    constexpr std::int64_t kDay = 86'400'000;
    Client client;
    client.now += kDay;
    client.rights.set_ahead(kDay);
    const auto answer = client.plain(client.token());
    CHECK(answer.error_code == ErrorCode::none);
    CHECK(answer.session_lifetime_ms == 3'600'000);
}

TEST_CASE("a session is renewed by another token of the same principal", "[bps][login]") {
    Client client;
    (void)client.plain(client.token());
    bps::TokenTerms later = client.terms();
    later.claims.jti = "a-2";
    later.claims.expires_at += 3'600;
    client.now += 3'700'000;  // After its end, but before another request.
    const auto answer = client.plain(Client::sign(later, {client.other_key}));
    CHECK(answer.error_code == ErrorCode::none);
    CHECK(answer.session_lifetime_ms == 3'500'000);
    CHECK(client.may_ask());
    CHECK(client.counts.logins == 2);
    bps::TokenTerms bobs = client.terms();
    bobs.claims.account = "bob"_n;
    bobs.claims.expires_at += 3'600;
    CHECK(client.handshake("OAUTHBEARER").error_code == ErrorCode::none);
    CHECK(client.authenticate(bearer(Client::sign(bobs, {client.bob_key}))).error_code ==
          ErrorCode::none);
    CHECK(client.authenticate("\x01").error_message ==
          "a session of alice@active is not renewed by bob@active: connect again");
    CHECK_FALSE(client.may_ask());
}

TEST_CASE("no request is served between SaslHandshake and the end of a renewal", "[bps][login]") {
    Client client;
    (void)client.plain(client.token());
    CHECK(client.handshake("PLAIN").error_code == ErrorCode::none);
    CHECK_FALSE(client.may_ask());
}
