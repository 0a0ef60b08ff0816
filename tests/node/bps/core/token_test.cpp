// Tokens: one text for one meaning, and each reason to refuse one. What is read is compared with
// bytes that are put together here.
#include "node/bps/core/token.hpp"

#include "base/crypto/hash.hpp"
#include "node/bps/core/base64url.hpp"
#include "node/bps/core/token_claims.hpp"
#include "tests/node/bps/core/login_fixture.hpp"

#include <algorithm>

namespace {

using namespace support;  // NOLINT(google-build-using-namespace)
using bps::from_base64url;
using bps::to_base64url;

constexpr std::string_view kHeader = R"({"typ":"JWT","alg":"BOR1"})";

std::string base64url(std::string_view text) {
    return to_base64url(base::as_bytes(text));
}

// Signed as spec 08 says, whatever the claims are.
std::string token_of(std::string_view claims,
                     const base::crypto::PrivateKey& key,
                     std::string_view header = kHeader,
                     std::string_view domain = "BoR token 1") {
    const std::string text = base64url(header) + '.' + base64url(claims);
    const auto digest = base::crypto::sha256(base::as_bytes(std::string(domain) + text));
    const auto signature = key.sign(digest);
    base::Bytes bytes{static_cast<std::byte>(signature.type)};
    bytes.insert(bytes.end(), signature.compact.begin(), signature.compact.end());
    return text + '.' + to_base64url(bytes);
}

std::string claims() {
    return R"({"chain":"07)" + std::string(62, '0') +
           R"(","sub":"alice@active","iat":1800000000,"nbf":1800000000,"exp":1800003600,)"
           R"("jti":"a-1","scope":"a.one:produce a.*:produce,consume,admin"})";
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("base64url has one text for each byte string", "[bps][token]") {
    // RFC 4648, section 10, without padding; and the two letters that differ from base64.
    for (const auto& [bytes, text] : {std::pair<std::string, std::string>{"", ""},
                                      {"f", "Zg"},
                                      {"fo", "Zm8"},
                                      {"foo", "Zm9v"},
                                      {"foob", "Zm9vYg"},
                                      {"fooba", "Zm9vYmE"},
                                      {"foobar", "Zm9vYmFy"},
                                      {"\xfb\xff", "-_8"}}) {
        CHECK(base64url(bytes) == text);
        const auto read = from_base64url(text);
        REQUIRE(read);
        CHECK(base::as_text(*read) == bytes);
    }
    for (const char* bad : {"Z", "Zg==", "Zh", "Zm9", "+/8", "Zm 9v", "Zm9vY"})
        CHECK_FALSE(from_base64url(bad));
}

TEST_CASE("a token is header, claims and signatures in the form of the spec", "[bps][token]") {
    const LoginFixture world;
    CHECK(world.token() == token_of(claims(), world.key));
    const auto holder = bps::admit_token(world.judge, world.token(), LoginFixture::kNow);
    REQUIRE(holder);
    CHECK(holder->principal.account == "alice"_n);
    CHECK(holder->principal.permission == "active"_n);
    CHECK(holder->claims.expires_at == LoginFixture::kNowSeconds + 3'600);
    CHECK(holder->keys == std::vector{world.key.public_key()});
    const bps::TokenScope& scope = *holder->principal.scope;
    CHECK(scope.has("a.one", bps::Right::produce));
    CHECK(scope.has("a.two", bps::Right::admin));
    CHECK_FALSE(scope.has("b", bps::Right::see));
}

TEST_CASE("a token with another header, alg none among them, is refused", "[bps][token]") {
    const LoginFixture world;
    for (const char* header : {R"({"typ":"JWT","alg":"none"})",
                               R"({"typ":"JWT","alg":"HS256"})",
                               R"({"alg":"BOR1","typ":"JWT"})",
                               R"({"typ":"JWT", "alg":"BOR1"})",
                               R"({"typ":"JWT","alg":"BOR1","kid":"1"})",
                               ""}) {
        CHECK(world.why_not(token_of(claims(), world.key, header)) ==
              "token: its header is not " + std::string(kHeader));
    }
}

TEST_CASE("claims in any other form are refused", "[bps][token]") {
    const LoginFixture world;
    REQUIRE(world.why_not(token_of(claims(), world.key)).empty());
    for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
             {R"("iat":1)", R"("iat": 1)"},
             {R"("iat":1)", R"("iat":01)"},
             {R"("iat":1)", R"("iat":-1)"},
             {R"("iat":1800000000)", R"("iat":18000000000)"},
             {R"("exp":1800003600)", R"("exp":1800003600.0)"},
             {R"("nbf":1800000000,)", ""},
             {R"("jti":"a-1")", R"("jti":"a-1","jti":"a-2")"},
             {R"("jti":"a-1")", R"("jti":"")"},
             {R"("jti":"a-1")", R"("jti":"a\u002d1")"},
             {R"("jti":"a-1")", R"("jti":"a 1")"},
             {R"("jti":"a-1")", R"("jti":")" + std::string(65, 'a') + '"'},
             {"07", "0A"},
             {"07", ""},
             {"alice@active", "alice"},
             {"alice@active", "@active"},
             {"alice@active", "alice@"},
             {"alice@active", "alice@active@owner"},
             {"alice@active", "Alice@active"},
             {"alice@active", "alice.@active"},
             {R"(scope":"a.one)", R"(scope":" a.one)"},
             {"a.one:produce", "a.one"},
             {"a.one:produce", "a.one:"},
             {"a.one:produce", "a.one:produce,"},
             {"a.one:produce", "a.one:produce,produce"},
             {"a.one:produce", "a.one:see"},
             {"a.one:produce", ":produce"},
             {"a.one:produce", "a/one:produce"},
             {"a.one:produce", std::string(250, 'a') + ":produce"},
             {"produce,consume,admin", "consume,produce,admin"},
             {"admin\"}", "admin\"} "},
             {"admin\"}", "admin\",\"x\":1}"},
             {"admin\"}", "admin\""}}) {
        CAPTURE(from, to);
        CHECK(world.why_not(token_of(replaced(claims(), from, to), world.key))
                  .starts_with("token: "));
    }
    CHECK(world.why_not(token_of("", world.key)).starts_with("token: "));
    std::string many = "a:produce";
    for (std::size_t i = 1; i < bps::kTokenScopeItemsMax; ++i)
        many += " a:produce";
    const auto with = [&](const std::string& scope) {
        return token_of(replaced(claims(), "a.one:produce a.*:produce,consume,admin", scope),
                        world.key);
    };
    CHECK(world.why_not(with(many)).empty());
    CHECK(world.why_not(with(many + " a:produce")).starts_with("token: "));
    CHECK(world.why_not(with("")) == "token: its scope has 0 items, not 1 to 64");
    CHECK(world.why_not(with("*:consume")).empty());
}

TEST_CASE("times that do not ascend, or more than a day, are refused", "[bps][token]") {
    const LoginFixture world;
    const auto with = [&](std::uint32_t iat, std::uint32_t nbf, std::uint32_t exp) {
        bps::TokenTerms terms = world.terms();
        terms.claims.issued_at = iat;
        terms.claims.not_before = nbf;
        terms.claims.expires_at = exp;
        return bps::token_digest(terms).has_value();
    };
    CHECK(with(10, 10, 10 + 86'400));
    CHECK(with(10, 20, 30));
    CHECK_FALSE(with(10, 10, 11 + 86'400));
    CHECK_FALSE(with(10, 9, 30));
    CHECK_FALSE(with(10, 30, 30));
    CHECK_FALSE(with(10, 31, 30));
    // A signer who does not ask make_token.
    CHECK(world.why_not(token_of(replaced(claims(), "1800003600", "1800086401"), world.key)) ==
          "token: iat 1800000000, nbf 1800000000, exp 1800086401; they ascend, and exp is at most "
          "86400 s after iat");
}

TEST_CASE("a token holds between its times, by the later of both clocks", "[bps][token]") {
    LoginFixture world;
    bps::TokenTerms terms = world.terms();
    terms.claims.not_before += 60;
    const std::string token = LoginFixture::sign(terms, {world.key});
    const std::int64_t start = LoginFixture::kNow + 60'000;
    const std::int64_t end = LoginFixture::kNow + 3'600'000;
    CHECK(world.why_not(token, start - 1) ==
          "the token a-1 of alice holds from 1800000060 s on, and it is 1800000059 s");
    CHECK(world.why_not(token, start).empty());
    CHECK(world.why_not(token, end - 1).empty());
    CHECK(world.why_not(token, end) ==
          "the token a-1 of alice has expired: it held until 1800003600 s, and it is 1800003600 s");
    // The local clock lags behind the chain.
    world.rights.on_final(101, end);
    CHECK_FALSE(world.why_not(token, start).empty());
}

TEST_CASE("a token for every right on all topics is for all that its principal may",
          "[bps][token]") {
    const auto scoped = [](const std::string& scope) {
        LoginFixture world;
        bps::TokenTerms terms = world.terms();
        terms.scope = *bps::decode_scope(scope);
        const auto holder = bps::admit_token(
            world.judge, LoginFixture::sign(terms, {world.key}), LoginFixture::kNow);
        REQUIRE(holder);
        return holder->principal.scope != nullptr;
    };
    CHECK_FALSE(scoped("*:produce,consume,admin"));
    CHECK_FALSE(scoped("a.one:produce *:produce,consume,admin"));
    CHECK(scoped("*:produce,consume"));
    CHECK(scoped("a*:produce,consume,admin"));
    CHECK(scoped("*:produce *:consume *:admin"));
}

TEST_CASE("a token of another chain, or a revoked one, is refused", "[bps][token]") {
    LoginFixture world;
    bps::TokenTerms terms = world.terms();
    terms.chain.bytes[0] = std::byte{8};
    CHECK(world.why_not(LoginFixture::sign(terms, {world.key}))
              .starts_with("the token is for the chain 08"));
    const auto digest = base::crypto::sha256(base::as_bytes("a-1"));
    std::uint64_t id = 0;  // As the contract makes it: the first eight bytes, lowest first.
    for (std::size_t i = 8; i-- > 0;)
        id = id << 8U | std::to_integer<std::uint64_t>(digest.bytes[i]);
    world.put(bps::rows::Revocation{.key = id, .jti = "a-1", .until = {}}, id, "alice"_n);
    CHECK(world.why_not(world.token()) == "the token a-1 of alice is revoked");
    world.erase<bps::rows::Revocation>(id, "alice"_n);
    CHECK(world.why_not(world.token()).empty());
    world.put(bps::rows::NotBefore{.account = "alice"_n, .time = {LoginFixture::kNowSeconds + 1}},
              ("alice"_n).value);
    CHECK(world.why_not(world.token()) == "tokens of alice from before 1800000001 s are revoked");
}

TEST_CASE("the keys that signed have to satisfy the permission", "[bps][token]") {
    LoginFixture world;
    CHECK(world.why_not(LoginFixture::sign(world.terms(), {world.bob_key})) ==
          "the keys that signed the token do not satisfy alice@active");
    CHECK(world.why_not(LoginFixture::sign(world.terms(), {world.other_key})).empty());
    auto& needs = world.permissions.needs[{("alice"_n).value, ("active"_n).value}];
    needs.count = 2;
    CHECK_FALSE(world.why_not(world.token()).empty());
    CHECK(world.why_not(LoginFixture::sign(world.terms(), {world.key, world.other_key})).empty());
    CHECK(world.why_not(LoginFixture::sign(world.terms(), {world.other_key, world.key})).empty());
    // Without the domain: a signature of a transaction, or of anything else, is none of a token.
    CHECK_FALSE(world.why_not(token_of(claims(), world.key, kHeader, "")).empty());
    needs = {1, {}};  // The keys were rotated out.
    CHECK_FALSE(world.why_not(world.token()).empty());
}

TEST_CASE("signatures are 1 to 16, of 66 bytes, ascending by different keys", "[bps][token]") {
    const LoginFixture world;
    const std::string token = LoginFixture::sign(world.terms(), {world.key, world.other_key});
    const std::size_t at = token.rfind('.') + 1;
    const std::string text = token.substr(0, at);
    const auto bytes = from_base64url(std::string_view(token).substr(at));
    REQUIRE(bytes);
    REQUIRE(bytes->size() == 132);
    const base::ByteView first = base::ByteView(*bytes).first(66);
    const base::ByteView second = base::ByteView(*bytes).last(66);
    const auto refused = [&](const std::vector<base::ByteView>& parts) {
        base::Bytes joined;
        for (const base::ByteView part : parts)
            joined.insert(joined.end(), part.begin(), part.end());
        return !world.why_not(text + to_base64url(joined)).empty();
    };
    CHECK_FALSE(refused({first, second}));
    CHECK_FALSE(refused({first}));
    CHECK(refused({second, first}));
    CHECK(refused({first, first}));
    CHECK(refused({}));
    CHECK(refused({first.first(65)}));
    CHECK(refused({first, second.first(1)}));
    CHECK(refused(std::vector<base::ByteView>(17, first)));
    base::Bytes other = base::to_bytes(first);
    other[0] = std::byte{2};  // WebAuthn, which is longer.
    CHECK(refused({other}));
    other[0] = std::byte{255};
    CHECK(refused({other}));
    other[0] = std::byte{0};
    other[40] ^= std::byte{1};
    CHECK(refused({other}));
    CHECK(world.why_not(text.substr(0, text.size() - 1)) == "token: not header.claims.signatures");
    CHECK_FALSE(world.why_not(token + ".").empty());
    CHECK_FALSE(world.why_not(token + "=").empty());
    CHECK(world.why_not(std::string(bps::kTokenBytesMax + 1, 'a')) ==
          "token: 8193 bytes, more than 8192");
}

TEST_CASE("sixteen keys sign one token", "[bps][token]") {
    LoginFixture world;
    std::vector<base::crypto::PrivateKey> keys;
    auto& needs = world.permissions.needs[{("alice"_n).value, ("active"_n).value}];
    needs = {16, {}};
    for (std::size_t i = 0; i < bps::kTokenSignaturesMax; ++i) {
        const auto type = i % 2 == 0 ? base::crypto::KeyType::k1 : base::crypto::KeyType::r1;
        keys.push_back(base::crypto::PrivateKey::generate(type));
        needs.keys.push_back(keys.back().public_key());
    }
    CHECK(world.why_not(LoginFixture::sign(world.terms(), keys)).empty());
    const auto digest = bps::token_digest(world.terms());
    std::vector<base::crypto::Signature> twice{keys[0].sign(*digest), keys[0].sign(*digest)};
    CHECK_FALSE(bps::make_token(world.terms(), twice));
    CHECK_FALSE(bps::make_token(world.terms(), {}));
}

TEST_CASE("no refusal quotes the token", "[bps][token]") {
    const LoginFixture world;
    const std::string token = world.token();
    for (std::size_t i = 0; i < token.size(); ++i) {
        std::string bad = token;
        bad[i] = bad[i] == 'A' ? 'B' : 'A';
        const std::string reason = world.why_not(bad);
        const std::string signatures = token.substr(token.rfind('.') + 1);
        CHECK(!reason.empty());
        CHECK(reason.find(signatures.substr(0, 8)) == std::string::npos);
    }
}
