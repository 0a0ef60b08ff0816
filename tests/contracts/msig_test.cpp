// Proposals: from their making to their end, and every refusal with eosio.msig's text.
#include "ledger.hpp"

namespace {

using support::Arguments;
using support::Ledger;
using namespace chain::literals;  // NOLINT(google-build-using-namespace): for names.

constexpr chain::Name kMsig = "eosio.msig"_n;
constexpr chain::Name kProposal = "pay"_n;

std::string asserted(std::string_view message) {
    return "assertion failure with message: " + std::string(message);
}

// alice proposes; her proposal is an action of bob and carol, whose authorities are their own.
struct MsigLedger : Ledger {
    MsigLedger() {
        deploy(kMsig, "eosio.msig");
        make_privileged(kMsig);
        deploy("noop"_n, "noop");
        for (const chain::Name account : {"alice"_n, "bob"_n, "carol"_n})
            create(account);
    }
    // The proposed transaction: noop::anyaction in bob's name, authorized by both.
    [[nodiscard]] base::Bytes proposed(std::uint32_t expiration, std::uint8_t delay = 0) const {
        const base::Bytes data = Arguments().name("bob"_n).text("type").text("data");
        return Arguments()
            .integer(expiration)
            .integer(std::uint16_t{0})
            .integer(std::uint32_t{0})
            .integer(std::uint8_t{0})
            .integer(std::uint8_t{0})
            .integer(delay)
            .integer(std::uint8_t{0})  // No context-free action.
            .integer(std::uint8_t{1})
            .name("noop"_n)
            .name("anyaction"_n)
            .integer(std::uint8_t{2})
            .name("bob"_n)
            .name("active"_n)
            .name("carol"_n)
            .name("active"_n)
            .bytes(data)
            .integer(std::uint8_t{0});
    }
    chain::TransactionTrace propose(const base::Bytes& transaction) {
        return push(kMsig,
                    "propose"_n,
                    "alice"_n,
                    Arguments()
                        .name("alice"_n)
                        .name(kProposal)
                        .integer(std::uint8_t{2})
                        .name("bob"_n)
                        .name("active"_n)
                        .name("carol"_n)
                        .name("active"_n)
                        .raw(transaction));
    }
    std::string approval(chain::Name action, chain::Name by, const base::Bytes& more = {}) {
        const base::Bytes data =
            Arguments().name("alice"_n).name(kProposal).name(by).name("active"_n).raw(more);
        return failure(push(kMsig, action, by, data));
    }
    chain::TransactionTrace exec() {
        return push(kMsig,
                    "exec"_n,
                    "carol"_n,
                    Arguments().name("alice"_n).name(kProposal).name("carol"_n));
    }
    std::string cancel(chain::Name by) {
        return failure(
            push(kMsig, "cancel"_n, by, Arguments().name("alice"_n).name(kProposal).name(by)));
    }
    std::string invalidate(chain::Name account) {
        return failure(push(kMsig, "invalidate"_n, account, Arguments().name(account)));
    }
    std::string proposal() { return row(kMsig, ("alice"_n).value, "proposal"_n, kProposal.value); }
};

}  // namespace

TEST_CASE("a proposal runs once all that it needs approved") {
    MsigLedger ledger;
    Ledger::require_success(ledger.propose(ledger.proposed(ledger.now() + 60)));
    CHECK_FALSE(ledger.proposal().empty());
    CHECK(ledger.approval("approve"_n, "bob"_n).empty());
    CHECK(Ledger::failure(ledger.exec()) == asserted("transaction authorization failed"));
    CHECK(ledger.approval("approve"_n, "carol"_n).empty());

    const auto trace = ledger.exec();
    Ledger::require_success(trace);
    REQUIRE(trace.action_traces.size() == 2);
    CHECK(trace.action_traces[1].act.account == "noop"_n);
    CHECK(trace.action_traces[1].act.authorization.size() == 2);
    CHECK(ledger.proposal().empty());
    CHECK(ledger.row(kMsig, ("alice"_n).value, "approvals2"_n, kProposal.value).empty());
    CHECK(Ledger::failure(ledger.exec()) == asserted("proposal not found"));
}

TEST_CASE("proposing is refused with eosio.msig's texts") {
    MsigLedger ledger;
    CHECK(Ledger::failure(ledger.propose(ledger.proposed(ledger.now() - 1))) ==
          asserted("transaction expired"));
    base::Bytes with_context_free = ledger.proposed(ledger.now() + 60);
    with_context_free.resize(13);
    with_context_free = Arguments()
                            .raw(with_context_free)
                            .integer(std::uint8_t{1})
                            .name("eosio.null"_n)
                            .name("nonce"_n)
                            .integer(std::uint8_t{0})
                            .integer(std::uint8_t{0})
                            .integer(std::uint8_t{0})
                            .integer(std::uint8_t{0});
    CHECK(Ledger::failure(ledger.propose(with_context_free)) ==
          asserted("not allowed to `propose` a transaction with context-free actions"));
    Ledger::require_success(ledger.propose(ledger.proposed(ledger.now() + 60)));
    CHECK(Ledger::failure(ledger.propose(ledger.proposed(ledger.now() + 61))) ==
          asserted("proposal with the same name exists"));
}

TEST_CASE("approvals can be taken back, and those of others are refused") {
    MsigLedger ledger;
    CHECK(ledger.approval("approve"_n, "bob"_n) == asserted("proposal not found"));
    Ledger::require_success(ledger.propose(ledger.proposed(ledger.now() + 60)));
    CHECK(ledger.approval("approve"_n, "alice"_n) ==
          asserted("approval is not on the list of requested approvals"));
    CHECK(ledger.approval("unapprove"_n, "bob"_n) == asserted("no approval previously granted"));
    CHECK(ledger.approval("approve"_n, "bob"_n).empty());
    CHECK(ledger.approval("approve"_n, "carol"_n).empty());
    CHECK(ledger.approval("unapprove"_n, "bob"_n).empty());
    CHECK(Ledger::failure(ledger.exec()) == asserted("transaction authorization failed"));
    CHECK(ledger.approval("approve"_n, "bob"_n).empty());
    Ledger::require_success(ledger.exec());
}

TEST_CASE("an approval can insist on the transaction's hash") {
    MsigLedger ledger;
    const base::Bytes transaction = ledger.proposed(ledger.now() + 60);
    Ledger::require_success(ledger.propose(transaction));
    const base::Hash256 hash = base::crypto::sha256(transaction);
    CHECK(ledger.approval("approve"_n, "bob"_n, base::Bytes(32)) == "hash mismatch");
    CHECK(ledger.approval("approve"_n, "bob"_n, base::to_bytes(hash.view())).empty());
}

TEST_CASE("an account can invalidate the approvals it gave") {
    MsigLedger ledger;
    Ledger::require_success(ledger.propose(ledger.proposed(ledger.now() + 60)));
    CHECK(ledger.approval("approve"_n, "bob"_n).empty());
    CHECK(ledger.approval("approve"_n, "carol"_n).empty());
    CHECK(ledger.invalidate("bob"_n).empty());
    CHECK(Ledger::failure(ledger.exec()) == asserted("transaction authorization failed"));
}

TEST_CASE("only the proposer cancels before the proposal expires") {
    MsigLedger ledger;
    CHECK(ledger.cancel("alice"_n) == asserted("proposal not found"));
    Ledger::require_success(ledger.propose(ledger.proposed(ledger.now() + 60)));
    CHECK(ledger.cancel("bob"_n) == asserted("cannot cancel until expiration"));
    CHECK(ledger.cancel("alice"_n).empty());
    CHECK(ledger.proposal().empty());
}

TEST_CASE("a proposal with a delay waits for it after its last approval") {
    MsigLedger ledger;
    Ledger::require_success(ledger.propose(ledger.proposed(ledger.now() + 600, 30)));
    CHECK(ledger.approval("approve"_n, "bob"_n).empty());
    CHECK(ledger.approval("approve"_n, "carol"_n).empty());
    CHECK(Ledger::failure(ledger.exec()) == asserted("too early to execute"));
}
