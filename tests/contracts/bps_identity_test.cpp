// The broker's contract: certificates, tokens, keys to seal to; every refusal with its text.
#include "base/crypto/keys.hpp"
#include "bps_ledger.hpp"

#include <array>

namespace {

using base::crypto::KeyType;
using base::crypto::PrivateKey;
using support::Arguments;
using support::BpsLedger;
using namespace chain::literals;  // NOLINT(google-build-using-namespace): for names.

// Arguments of setcert, signed for the account by the certificate's key.
std::string cert(const PrivateKey& key, chain::Name account, const PrivateKey& signer) {
    base::Writer packed;
    base::crypto::encode(packed, key.public_key());
    const base::Bytes content = Arguments()
                                    .raw(base::as_bytes("BoR cert 1"))
                                    .name("bps"_n)
                                    .name(account)
                                    .name("active"_n)
                                    .raw(packed.view());
    return "{'account':'" + account.to_string() + "','permission':'active','key':'" +
           key.public_key().to_string() + "','signature':'" +
           signer.sign(base::crypto::sha256(content)).to_string() + "'}";
}

}  // namespace

TEST_CASE("bps: a certificate's key says itself whose it is") {
    BpsLedger ledger;
    const PrivateKey key = BpsLedger::key_of(KeyType::r1, 7);
    const PrivateKey other = BpsLedger::key_of(KeyType::r1, 8);
    const PrivateKey k1 = BpsLedger::key_of(KeyType::k1, 9);
    CHECK(ledger.act("bob", "setcert", cert(key, "alice"_n, key)) ==
          "missing authority of alice/active");
    CHECK(ledger.act("bob", "setcert", cert(key, "bob"_n, other)) ==
          "the signature is not by the certificate's key over BoR cert 1, contract, account, "
          "permission, key: sign these");
    CHECK(ledger.act("bob", "setcert", cert(k1, "bob"_n, k1)) ==
          "the key of a certificate, and its signature, are of P-256 (R1)");
    ledger.must("alice", "setcert", cert(key, "alice"_n, key));
    const auto row = ledger.json_row("certs"_n, 1);
    CHECK(row["account"] == "alice");
    const std::string hash = base::to_hex(base::crypto::sha256(key.public_key().point).view());
    CHECK(row["hash"] == hash);
    CHECK(ledger.act("bob", "setcert", cert(key, "bob"_n, key)) ==
          "this certificate is that of alice@active already: push delcert first");
    CHECK(ledger.act("bob", "delcert", "{'account':'bob','hash':'" + hash + "'}") ==
          "bob has no such certificate");
    ledger.must("alice", "delcert", "{'account':'alice','hash':'" + hash + "'}");
    CHECK(ledger.json_row("tenants"_n, "alice"_n.value).is_null());
    ledger.must("bob", "setcert", cert(key, "bob"_n, key));
}

TEST_CASE("bps: tokens are revoked by jti or by time, and what is over is cleared") {
    BpsLedger ledger;
    const auto revoke = [&](const std::string& jti, std::uint32_t before) {
        return ledger.act("alice",
                          "revoketoken",
                          "{'account':'alice','jti':'" + jti + "','before':'" +
                              chain::TimePointSec{before}.to_string() + "'}");
    };
    const std::string one_of =
        "either the jti of a token is revoked, or all tokens before a time: give one of them";
    CHECK(revoke("", 0) == one_of);
    CHECK(revoke("a", 1) == one_of);
    CHECK(revoke("a b", 0) == "a jti has 1 to 64 printable ASCII letters, unlike 'a b'");
    CHECK(revoke(std::string(65, 'a'), 0).starts_with("a jti has 1 to 64 printable"));
    CHECK(revoke("a", 0).empty());
    CHECK(revoke("a", 0) == "the token 'a' is revoked already");
    CHECK(revoke("b", 0).empty());
    const std::uint32_t now = ledger.now();
    CHECK(revoke("", now + 1) == "tokens before " + std::to_string(now + 1) +
                                     " s are to be revoked, and it is " + std::to_string(now) +
                                     " s: choose this time or an earlier one");
    CHECK(revoke("", now - 1).empty());
    CHECK(revoke("", now).empty());
    CHECK(revoke("", now - 1) == "tokens before " + std::to_string(now) +
                                     " s are revoked already: choose a later time than " +
                                     std::to_string(now - 1) + " s");
    CHECK(ledger.act("bob",
                     "revoketoken",
                     "{'account':'alice','jti':'c','before':'1970-01-01T00:00:00'}") ==
          "missing authority of alice");
    CHECK(ledger.json_row("tenants"_n, "alice"_n.value)["rows"] == 3);

    const std::string clear = "{'account':'alice'}";
    const std::string early = "no revocation of alice is over: wait until its tokens expire";
    ledger.next_block(25UL * 3600 * 2);
    CHECK(ledger.act("alice", "cleartokens", clear) == early);
    CHECK(revoke("c", 0).empty());
    ledger.next_block(2);
    CHECK(ledger.act("bob", "cleartokens", clear) == "missing authority of alice");
    ledger.must("alice", "cleartokens", clear);
    CHECK(ledger.json_row("tenants"_n, "alice"_n.value)["rows"] == 1);
    CHECK(ledger.json_row("notbefore"_n, "alice"_n.value).is_null());
    CHECK(ledger.act("alice", "cleartokens", clear) == early);
}

TEST_CASE("bps: a key to seal to has a version that never comes twice") {
    BpsLedger ledger;
    const auto set = [&](char digit) {
        return ledger.act(
            "alice", "setsealkey", "{'account':'alice','key':'" + std::string(64, digit) + "'}");
    };
    CHECK(set('0') == "a key of zeros opens nothing: give an X25519 key");
    CHECK(set('1').empty());
    CHECK(ledger.json_row("sealkeys"_n, "alice"_n.value)["version"] == ledger.height());
    CHECK(set('2') == "the key of alice was set in this block: set the next one in a later block");
    ledger.next_block();
    CHECK(set('2').empty());
    CHECK(ledger.json_row("sealkeys"_n, "alice"_n.value)["version"] == ledger.height());
    ledger.must("alice", "delsealkey", "{'account':'alice'}");
    CHECK(ledger.act("alice", "delsealkey", "{'account':'alice'}") ==
          "alice has no key to seal to");
    CHECK(ledger.json_row("tenants"_n, "alice"_n.value).is_null());
    CHECK(ledger.act(
              "bob", "setsealkey", "{'account':'alice','key':'" + std::string(64, '1') + "'}") ==
          "missing authority of alice");
}
