// The token and msig contracts: what they do, and every refusal with its text.
#include "ledger.hpp"

namespace {

using support::Arguments;
using support::Ledger;
using namespace chain::literals;  // NOLINT(google-build-using-namespace): for names.

constexpr chain::Name kToken = "eosio.token"_n;
constexpr std::uint64_t kCode = 0x535953;  // SYS

Arguments asset(std::int64_t amount, std::string_view code = "SYS", std::uint8_t precision = 4) {
    return Arguments().asset(amount, precision, code);
}

// A ledger with a token of which alice holds 1,000.0000.
struct TokenLedger : Ledger {
    TokenLedger() {
        deploy(kToken, "eosio.token");
        for (const chain::Name account : {"alice"_n, "bob"_n, "carol"_n})
            create(account);
        require_success(create_token("alice"_n, 100'000'000));
        require_success(issue("alice"_n, 10'000'000));
    }
    chain::TransactionTrace create_token(chain::Name issuer,
                                         std::int64_t supply,
                                         std::string_view code = "SYS") {
        return push(kToken, "create"_n, kToken, Arguments().name(issuer).asset(supply, 4, code));
    }
    chain::TransactionTrace issue(chain::Name to,
                                  std::int64_t amount,
                                  std::string_view code = "SYS",
                                  std::uint8_t precision = 4,
                                  const std::string& memo = "") {
        return push(kToken,
                    "issue"_n,
                    "alice"_n,
                    Arguments().name(to).asset(amount, precision, code).text(memo));
    }
    chain::TransactionTrace retire(std::int64_t amount) {
        return push(kToken, "retire"_n, "alice"_n, asset(amount).text("gone"));
    }
    chain::TransactionTrace transfer(chain::Name from,
                                     chain::Name to,
                                     const base::Bytes& quantity,
                                     const std::string& memo = "memo") {
        return push(
            kToken, "transfer"_n, from, Arguments().name(from).name(to).raw(quantity).text(memo));
    }
    std::string balance(chain::Name owner) { return row(kToken, owner.value, "accounts"_n, kCode); }
};

std::string asserted(std::string_view message) {
    return "assertion failure with message: " + std::string(message);
}

}  // namespace

TEST_CASE("tokens are created, issued, transferred and retired") {
    TokenLedger ledger;
    CHECK(ledger.row(kToken, kCode, "stat"_n, kCode) ==
          asset(10'000'000).asset(100'000'000, 4, "SYS").name("alice"_n).hex());

    const auto trace = ledger.transfer("alice"_n, "bob"_n, asset(1'234));
    Ledger::require_success(trace);
    REQUIRE(trace.action_traces.size() == 3);
    CHECK(trace.action_traces[1].receiver == "alice"_n);
    CHECK(trace.action_traces[2].receiver == "bob"_n);
    CHECK(ledger.balance("alice"_n) == asset(9'998'766).hex());
    CHECK(ledger.balance("bob"_n) == asset(1'234).hex());
    // The sender pays for the receiver's row, as nodeos' recordings have it.
    REQUIRE(trace.action_traces[0].account_ram_deltas.size() == 1);
    CHECK(trace.action_traces[0].account_ram_deltas[0].account == "alice"_n);
    CHECK(trace.action_traces[0].account_ram_deltas[0].delta == 240);

    Ledger::require_success(ledger.retire(9'998'766));
    CHECK(ledger.balance("alice"_n) == asset(0).hex());
}

TEST_CASE("transfers are refused with eosio.token's texts") {
    TokenLedger ledger;
    const auto refusal =
        [&](chain::Name to, const base::Bytes& quantity, const std::string& memo = "") {
            return Ledger::failure(ledger.transfer("alice"_n, to, quantity, memo));
        };
    CHECK(refusal("alice"_n, asset(1)) == asserted("cannot transfer to self"));
    CHECK(refusal("nobody"_n, asset(1)) == asserted("to account does not exist"));
    CHECK(refusal("bob"_n, asset(1, "XYZ")) == asserted("unable to find key"));
    CHECK(refusal("bob"_n, asset((std::int64_t{1} << 62))) == asserted("invalid quantity"));
    CHECK(refusal("bob"_n, asset(0)) == asserted("must transfer positive quantity"));
    CHECK(refusal("bob"_n, asset(-5)) == asserted("must transfer positive quantity"));
    CHECK(refusal("bob"_n, asset(1, "SYS", 3)) == asserted("symbol precision mismatch"));
    CHECK(refusal("bob"_n, asset(1), std::string(257, 'm')) ==
          asserted("memo has more than 256 bytes"));
    CHECK(refusal("bob"_n, asset(10'000'001)) == asserted("overdrawn balance"));
    CHECK(Ledger::failure(ledger.transfer("bob"_n, "alice"_n, asset(1))) ==
          asserted("no balance object found"));
    CHECK(
        Ledger::failure(ledger.push(kToken, "transfer"_n, "alice"_n, Arguments().name("bob"_n))) ==
        asserted("datastream attempted to read past the end"));
    const base::Bytes of_alice =
        Arguments().name("alice"_n).name("bob"_n).raw(base::Bytes(asset(1))).text("");
    CHECK(Ledger::failure(ledger.push(kToken, "transfer"_n, "bob"_n, of_alice)) ==
          "missing authority of alice");
    CHECK(refusal("bob"_n, asset(1), std::string(256, 'm')).empty());
}

TEST_CASE("creating, issuing and retiring are refused with eosio.token's texts") {
    TokenLedger ledger;
    const auto created = [&](std::int64_t supply, std::string_view code) {
        return Ledger::failure(ledger.create_token("alice"_n, supply, code));
    };
    CHECK(created(1, "sys") == asserted("invalid symbol name"));
    CHECK(created(1, "") == asserted("invalid symbol name"));
    CHECK(created((std::int64_t{1} << 62), "BIG") == asserted("invalid supply"));
    CHECK(created(0, "NIL") == asserted("max-supply must be positive"));
    CHECK(created(1, "SYS") == asserted("token with symbol already exists"));

    const auto issued = [&](chain::Name to, std::int64_t amount, std::string_view code = "SYS") {
        return Ledger::failure(ledger.issue(to, amount, code));
    };
    CHECK(issued("alice"_n, 1, "NEW") ==
          asserted("token with symbol does not exist, create token before issue"));
    CHECK(issued("bob"_n, 1) == asserted("tokens can only be issued to issuer account"));
    CHECK(issued("alice"_n, 0) == asserted("must issue positive quantity"));
    CHECK(issued("alice"_n, 90'000'001) == asserted("quantity exceeds available supply"));
    CHECK(Ledger::failure(ledger.issue("alice"_n, 1, "SYS", 2)) ==
          asserted("symbol precision mismatch"));
    CHECK(Ledger::failure(ledger.issue("alice"_n, 1, "SYS", 4, std::string(257, 'm'))) ==
          asserted("memo has more than 256 bytes"));
    CHECK(Ledger::failure(ledger.retire(0)) == asserted("must retire positive quantity"));
    CHECK(Ledger::failure(ledger.retire(10'000'001)) == asserted("overdrawn balance"));
}

TEST_CASE("balances are opened and closed") {
    TokenLedger ledger;
    const auto open = [&](chain::Name owner, const Arguments& symbol) {
        return Ledger::failure(
            ledger.push(kToken,
                        "open"_n,
                        "carol"_n,
                        Arguments().name(owner).raw(base::Bytes(symbol)).name("carol"_n)));
    };
    const auto close = [&](chain::Name owner) {
        return Ledger::failure(
            ledger.push(kToken, "close"_n, owner, Arguments().name(owner).symbol(4, "SYS")));
    };
    CHECK(open("bob"_n, Arguments().symbol(4, "SYS")).empty());
    CHECK(ledger.balance("bob"_n) == asset(0).hex());
    CHECK(open("bob"_n, Arguments().symbol(3, "SYS")) == asserted("symbol precision mismatch"));
    CHECK(open("bob"_n, Arguments().symbol(4, "NEW")) == asserted("symbol does not exist"));
    CHECK(open("nobody"_n, Arguments().symbol(4, "SYS")) ==
          asserted("owner account does not exist"));

    CHECK(close("alice"_n) == asserted("Cannot close because the balance is not zero."));
    CHECK(close("bob"_n).empty());
    CHECK(ledger.balance("bob"_n).empty());
    CHECK(close("bob"_n) ==
          asserted("Balance row already deleted or never existed. Action won't have any effect."));
}

TEST_CASE("actions that the token does not know, and bytes after the last argument, do nothing") {
    TokenLedger ledger;
    Ledger::require_success(ledger.push(kToken, "nosuch"_n, "alice"_n, {}));
    base::Bytes data =
        Arguments().name("alice"_n).name("bob"_n).raw(base::Bytes(asset(1))).text("").text("more");
    Ledger::require_success(ledger.push(kToken, "transfer"_n, "alice"_n, data));
    CHECK(ledger.balance("bob"_n) == asset(1).hex());
}

TEST_CASE("a contract that is notified can refuse the transfer") {
    TokenLedger ledger;
    ledger.deploy("rejectall"_n, "reject_all");
    CHECK(Ledger::failure(ledger.transfer("alice"_n, "rejectall"_n, asset(1))) ==
          asserted("rejecting all notifications"));
    CHECK(ledger.balance("rejectall"_n).empty());
}
