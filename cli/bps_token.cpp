// Tokens of the broker from a shell: made, and taken back on the chain.
#include "cli/bps_token.hpp"

#include "base/crypto/wipe.hpp"
#include "chain/types/time.hpp"
#include "cli/bps_contract.hpp"
#include "cli/files.hpp"
#include "cli/output.hpp"
#include "cli/transaction.hpp"
#include "cli/wallet_keys.hpp"
#include "node/bps/core/token_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

namespace cli {

namespace {

using base::Errc;
using base::fail;

constexpr std::uint64_t kMinutesDefault = 60;
constexpr std::uint64_t kMinutesMax = 24 * 60;
constexpr std::size_t kIdBytes = 12;

std::uint32_t local_seconds() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

std::string time_text(std::uint32_t seconds) {
    return chain::TimePointSec{seconds}.to_string() + " UTC";
}

std::string new_id() {
    std::array<std::byte, kIdBytes> bytes{};
    base::crypto::random_bytes(bytes);
    return base::to_hex(bytes);
}

struct ChainNow {
    base::Hash256 id;
    TokenClocks clocks;
    std::uint32_t head = 0;  // The time of the head, in seconds since 1970.
};

base::Result<ChainNow> chain_now(const Session& session) {
    const auto info = call(session.url, "/v1/chain/get_info", Json());
    if (!info) return fail(info.error());
    const auto id = hash_of(*info, "chain_id");
    if (!id) return fail(id.error());
    const auto last =
        chain::TimePointSec::from_string(text_of(*info, "last_irreversible_block_time"));
    if (!last) return fail(last.error());
    const auto head = chain::TimePointSec::from_string(text_of(*info, "head_block_time"));
    if (!head) return fail(head.error());
    return ChainNow{.id = *id,
                    .clocks = {.local = local_seconds(), .final_block = last->seconds},
                    .head = head->seconds};
}

// Why no key could satisfy the permission, whatever the wallet has; empty: it is there.
std::string why_no_permission(const Session& session, const TokenWish& wish) {
    const std::string account = wish.account.to_string();
    const auto row = call(session.url, "/v1/chain/get_account", {{"account_name", account}});
    if (!row) {
        const bool is_unknown = row.error().code != Errc::unavailable;
        return is_unknown ? fmt::format("the chain has no account '{}'", account) : "";
    }
    for (const Json& each : list_of(*row, "permissions")) {
        if (text_of(each, "perm_name") == wish.permission.to_string()) return "";
    }
    return fmt::format("{} has no permission '{}': 'bor-cli get account {}' shows all",
                       account,
                       wish.permission.to_string(),
                       account);
}

// The wallet's keys that satisfy the permission: those that the node would want for an action by
// it.
base::Result<Json> keys_for(const Session& session, const TokenWish& wish) {
    chain::SignedTransaction asked;
    asked.actions.push_back({wish.account, {}, {{wish.account, wish.permission}}, {}});
    auto keys = required_keys(session, asked);
    if (keys || keys.error().code == Errc::unavailable) return keys;
    if (std::string why = why_no_permission(session, wish); !why.empty()) {
        return fail(Errc::invalid, "no token: " + std::move(why));
    }
    return fail(Errc::invalid,
                fmt::format("no token for {}@{}: the open keys of the wallet at {} do not satisfy "
                            "it ('bor-cli wallet keys' shows them): {}",
                            wish.account.to_string(),
                            wish.permission.to_string(),
                            session.wallet_url,
                            keys.error().detail));
}

void print_token(const BpsToken& token) {
    const bps::TokenClaims& claims = token.terms.claims;
    // The token alone is the result, so that $(...) takes it.
    fmt::print("{}\n", token.text);
    fmt::print(stderr,
               "token {} of {} holds until {}; it is kept nowhere. To take it back: bor-cli bps "
               "token revoke {} {}\n",
               claims.jti,
               token.principal(),
               time_text(claims.expires_at),
               claims.account.to_string(),
               claims.jti);
}

base::Result<void> token_make(const Session& session, const Arguments& arguments) {
    auto wish = token_wish(arguments.at("account"));
    if (!wish) return fail(wish.error());
    const auto minutes = arguments.number("minutes", kMinutesDefault, 1, kMinutesMax);
    if (!minutes) return fail(minutes.error());
    wish->seconds = static_cast<std::uint32_t>(*minutes * 60);
    if (!arguments.rest().empty()) {
        wish->scope = fmt::format("{}", fmt::join(arguments.rest(), " "));
    }
    const auto token = sign_token(session, *wish);
    if (!token) return fail(token.error());
    if (session.json) {
        return print_json({{"token", token->text},
                           {"id", token->terms.claims.jti},
                           {"sub", token->principal()},
                           {"expires", token->terms.claims.expires_at},
                           {"scope", wish->scope}});
    }
    print_token(*token);
    return {};
}

// Brokers refuse what was issued before the time, and the contract takes no later time than that of
// the block: to catch all tokens that are there, the second of the last one has to pass.
base::Result<chain::TimePointSec> before_now(const Session& session) {
    constexpr auto kPause = std::chrono::milliseconds(100);
    constexpr int kTries = 100;
    std::uint32_t before = 0;
    for (int i = 0; i < kTries; ++i) {
        const auto now = chain_now(session);
        if (!now) return fail(now.error());
        if (before == 0) before = now->clocks.final_block + 1;
        if (now->head >= before) return chain::TimePointSec{before};
        std::this_thread::sleep_for(kPause);
    }
    return fail(Errc::unavailable,
                fmt::format("the chain at {} makes no blocks: no revocation would be taken; see "
                            "'bor-cli doctor'",
                            session.url));
}

base::Result<chain::TimePointSec> before_of(const Session& session, const Arguments& arguments) {
    const std::string text = arguments.get("before");
    if (text.empty()) return chain::TimePointSec{};
    if (text == "now") return before_now(session);
    const auto time = chain::TimePointSec::from_string(text);
    if (time) return *time;
    return fail(
        Errc::invalid,
        fmt::format("--before '{}': 'now' or a time such as 2026-11-26T16:00:00 is needed", text));
}

base::Result<void> token_revoke(const Session& session, const Arguments& arguments) {
    if (arguments.at("id").empty() != arguments.has("before")) {
        return fail(Errc::invalid,
                    "which token? Give its id, or --before TIME for all that were issued before");
    }
    const auto before = before_of(session, arguments);
    if (!before) return fail(before.error());
    const std::string account = arguments.at("account");
    return send_bps(
        session,
        arguments,
        "revoketoken",
        account,
        {{"account", account}, {"jti", arguments.at("id")}, {"before", before->to_string()}});
}

base::Result<void> token_clear(const Session& session, const Arguments& arguments) {
    const std::string account = arguments.at("account");
    return send_bps(session, arguments, "cleartokens", account, {{"account", account}});
}

}  // namespace

std::string BpsToken::principal() const {
    return fmt::format("{}@{}", terms.claims.account.to_string(), terms.permission.to_string());
}

base::Result<TokenWish> token_wish(const std::string& principal) {
    const auto level = permission_from(principal);
    if (!level) return fail(level.error());
    return TokenWish{.account = level->actor, .permission = level->permission};
}

base::Result<bps::TokenTerms> token_terms(const TokenWish& wish,
                                          const base::Hash256& chain,
                                          const TokenClocks& clocks) {
    auto scope = bps::decode_scope(wish.scope);
    if (!scope) return fail(Errc::invalid, scope.error().detail);
    const auto [issued, now] = std::minmax(clocks.local, clocks.final_block);
    const std::uint32_t end = issued + bps::Rights::kTokenSecondsMax;
    if (end <= now) {
        return fail(Errc::invalid,
                    fmt::format("the last final block is of {}, and here it is {}: a token that "
                                "holds by both lasts {} h at most; see 'bor-cli doctor'",
                                time_text(clocks.final_block),
                                time_text(clocks.local),
                                bps::Rights::kTokenSecondsMax / 3'600));
    }
    return bps::TokenTerms{.chain = chain,
                           .claims = {.account = wish.account,
                                      .jti = new_id(),
                                      .issued_at = issued,
                                      .not_before = issued,
                                      .expires_at = std::min(end, now + wish.seconds)},
                           .permission = wish.permission,
                           .scope = std::move(*scope)};
}

base::Result<BpsToken> sign_token(const Session& session, const TokenWish& wish) {
    const auto now = chain_now(session);
    if (!now) return fail(now.error());
    auto terms = token_terms(wish, now->id, now->clocks);
    if (!terms) return fail(terms.error());
    const auto digest = bps::token_digest(*terms);
    if (!digest) return fail(digest.error());
    const auto keys = keys_for(session, wish);
    if (!keys) return fail(keys.error());
    std::vector<base::crypto::Signature> signatures;
    for (const Json& key : *keys) {
        auto signature = wallet_sign(session, key.get<std::string>(), *digest);
        if (!signature) return fail(signature.error());
        signatures.push_back(std::move(*signature));
    }
    auto text = bps::make_token(*terms, std::move(signatures));
    if (!text) return fail(text.error());
    return BpsToken{.text = std::move(*text), .terms = std::move(*terms)};
}

base::Result<BpsToken> read_token(const std::string& file) {
    auto text = read_file(file);
    if (!text) return fail(text.error());
    text->erase(text->find_last_not_of(" \t\r\n") + 1);
    auto token = bps::decode_token(*text);
    if (!token) return fail(Errc::invalid, fmt::format("{}: {}", file, token.error().detail));
    return BpsToken{.text = std::move(*text), .terms = std::move(token->terms)};
}

void add_bps_token_commands(std::vector<Command>& commands) {
    const Positional account{"account", "whose tokens they are"};
    commands.push_back(
        {"bps token",
         "Make a token to log in with, signed by the wallet, and print it once",
         {{"account", "for whom: ACCOUNT or ACCOUNT@PERMISSION"},
          {"scope",
           "for what: TOPIC:RIGHTS, such as orders.*:produce,consume (default: all); "
           "groups are used with consume, and deleted with all",
           true,
           true}},
         {{"minutes", 0, "COUNT", "how long it holds, 1 to 1440 (default: 60)"}},
         token_make});
    commands.push_back({"bps token revoke",
                        "Take back a token, or all that were issued before a time",
                        {account, {"id", "the token's id, as 'bps token' said it", true}},
                        with_bps_options({{"before", 0, "TIME", "all issued before; 'now': all"}}),
                        token_revoke});
    commands.push_back(
        {"bps token clear",
         "Give back the memory of revocations whose tokens are expired, where none is "
         "signed for a later day",
         {account},
         with_bps_options({}),
         token_clear});
}

}  // namespace cli
