// Tokens that bor-cli makes: the broker's own check takes them, by either of its clocks.
#include "cli/bps_token.hpp"

#include "tests/node/bps/core/login_fixture.hpp"

namespace {

using namespace support;  // NOLINT(google-build-using-namespace)

constexpr std::uint32_t kHour = 3'600;

// Made by clocks that differ so from the broker's.
base::Result<std::string> token_at(const LoginFixture& world,
                                   const cli::TokenWish& wish,
                                   const cli::TokenClocks& clocks) {
    const auto terms = cli::token_terms(wish, world.chain_id, clocks);
    if (!terms) return base::fail(terms.error());
    const auto digest = bps::token_digest(*terms);
    if (!digest) return base::fail(digest.error());
    return bps::make_token(*terms, {world.key.sign(*digest)});
}

cli::TokenWish wish_of(const std::string& principal) {
    const auto wish = cli::token_wish(principal);
    REQUIRE(wish);
    return *wish;
}

}  // namespace

TEST_CASE("a token of bor-cli is one that the broker admits", "[bps]") {
    const LoginFixture world;
    cli::TokenWish wish = wish_of("alice");
    wish.scope = "a.*:consume,produce b:admin";
    const auto token =
        token_at(world, wish, {LoginFixture::kNowSeconds, LoginFixture::kNowSeconds});
    REQUIRE(token);
    const auto holder = bps::admit_token(world.judge, *token, LoginFixture::kNow);
    REQUIRE(holder);
    CHECK(holder->principal.account == "alice"_n);
    CHECK(holder->principal.permission == "active"_n);
    CHECK(holder->principal.scope->has("a.one", bps::Right::produce));
    CHECK_FALSE(holder->principal.scope->has("b", bps::Right::produce));
    CHECK(holder->claims.expires_at == LoginFixture::kNowSeconds + kHour);
    CHECK(holder->claims.jti.size() == 24);
}

TEST_CASE("without a scope a token is for all that its principal may", "[bps]") {
    const LoginFixture world;
    const auto token = token_at(
        world, wish_of("alice@active"), {LoginFixture::kNowSeconds, LoginFixture::kNowSeconds});
    REQUIRE(token);
    const auto holder = bps::admit_token(world.judge, *token, LoginFixture::kNow);
    REQUIRE(holder);
    CHECK_FALSE(holder->principal.scope);
}

TEST_CASE("a clock that is ahead or behind makes no token that is refused", "[bps]") {
    const LoginFixture world;
    for (const std::uint32_t local :
         {LoginFixture::kNowSeconds - 2 * kHour, LoginFixture::kNowSeconds + 2 * kHour}) {
        CAPTURE(local);
        const auto token = token_at(world, wish_of("alice"), {local, LoginFixture::kNowSeconds});
        REQUIRE(token);
        CHECK(world.why_not(*token).empty());
    }
}

TEST_CASE("a token is refused where no token could hold by both clocks", "[bps]") {
    const LoginFixture world;
    const auto token =
        token_at(world,
                 wish_of("alice"),
                 {LoginFixture::kNowSeconds + 24 * kHour, LoginFixture::kNowSeconds});
    REQUIRE_FALSE(token);
    CHECK(token.error().detail.find("24 h at most") != std::string::npos);
    // The longest that is left.
    cli::TokenWish day = wish_of("alice");
    day.seconds = 24 * kHour;
    const auto terms = cli::token_terms(
        day, world.chain_id, {LoginFixture::kNowSeconds + kHour, LoginFixture::kNowSeconds});
    REQUIRE(terms);
    CHECK(terms->claims.expires_at == LoginFixture::kNowSeconds + 24 * kHour);
}

TEST_CASE("a scope that is none is refused with its form", "[bps]") {
    const LoginFixture world;
    for (const char* scope :
         {"orders", "orders:write", "orders:", ":produce", "or/ders:produce", ""}) {
        CAPTURE(scope);
        cli::TokenWish wish = wish_of("alice");
        wish.scope = scope;
        const auto token =
            token_at(world, wish, {LoginFixture::kNowSeconds, LoginFixture::kNowSeconds});
        REQUIRE_FALSE(token);
        CHECK(token.error().detail.starts_with("token: "));
    }
    CHECK_FALSE(cli::token_wish("Alice@active"));
}
