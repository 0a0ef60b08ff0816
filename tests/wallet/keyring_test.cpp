// The keyring: keosd's rules, and that what it reports as done survives a restart while what
// failed has changed nothing.
#include "wallet/keyring.hpp"

#include "chain/types/exception.hpp"
#include "scratch.hpp"

#include <catch2/catch.hpp>

using namespace wallet;
using base::crypto::PrivateKey;
using base::crypto::PublicKey;
using chain::Exception;
using wallet::tests::Scratch;

namespace {

constexpr ScryptCost kCheap{.n = 16, .r = 1, .p = 1};
constexpr std::string_view kAlice = "5KPAW9KicaFtyxsYQ2AuQgRUx3A2Qkyvoayb8W7siVLbvJxvqrH";
constexpr std::string_view kAliceKey = "EOS7cgG2UxaCBX9Tt7cMUkgZEK6QPqnF2H5zBhFGaHMrLsjy7dyqr";

base::Timestamp at(int seconds) {
    return base::Timestamp(std::chrono::seconds(seconds));
}

struct Fixture {
    Scratch scratch;
    std::unique_ptr<Directory> directory = Directory::open(scratch.path()).value();
    Keyring keyring{*directory, kCheap, std::chrono::seconds(900)};
    base::Timestamp now = at(1000);

    std::string create(std::string_view name) {
        return std::string(keyring.create(name, now).value().view());
    }
};

template <class T>
void refused(const base::Result<T>& result, Exception exception, const std::string& detail) {
    REQUIRE_FALSE(result);
    CHECK(chain::exception_of(result.error()) == exception);
    CHECK(result.error().detail == detail);
}

}  // namespace

TEST_CASE_METHOD(Fixture, "a new wallet has a password of keosd's form and is unlocked") {
    const std::string password = create("w");
    CHECK(password.starts_with("PW5"));
    CHECK(PrivateKey::from_string(password.substr(2)));
    CHECK(keyring.list_wallets(now) == std::vector<std::string>{"w *"});
    CHECK(create("v") != password);
    refused(keyring.create("w", now),
            Exception::wallet_exist_exception,
            "Wallet with name: 'w' already exists at " + scratch.file("w.wallet"));
    refused(keyring.create("../x", now),
            Exception::wallet_exception,
            "Invalid filename, path not allowed in wallet name ../x");
}

TEST_CASE_METHOD(Fixture, "keys survive a restart and need the password") {
    const std::string password = create("w");
    REQUIRE(keyring.import_key("w", kAlice, now));
    const auto made = keyring.create_key("w", "r1", now);
    REQUIRE(made);

    Keyring second(*directory, kCheap, std::chrono::seconds(900));
    CHECK(second.list_wallets(now).empty());
    refused(second.unlock("w", "PW5wrong", now),
            Exception::wallet_invalid_password_exception,
            "Invalid password for wallet: \"" + scratch.file("w.wallet") + "\"");
    CHECK(second.list_wallets(now) == std::vector<std::string>{"w"});
    REQUIRE(second.unlock("w", password, now));
    refused(second.unlock("w", password, now),
            Exception::wallet_unlocked_exception,
            "Wallet is already unlocked: w");
    const std::set<PublicKey> expected{PublicKey::from_string(kAliceKey).value(), *made};
    CHECK(second.public_keys(now).value() == expected);
    const auto keys = second.list_keys("w", password, now);
    REQUIRE(keys);
    CHECK((*keys)->begin()->second.to_string() == kAlice);
    refused(second.list_keys("w", "wrong", now),
            Exception::wallet_invalid_password_exception,
            "Invalid password for wallet: \"" + scratch.file("w.wallet") + "\"");
}

TEST_CASE_METHOD(Fixture, "opening a wallet locks it, locking forgets its keys") {
    const std::string password = create("w");
    REQUIRE(keyring.import_key("w", kAlice, now));
    REQUIRE(keyring.open("w", now));
    CHECK(keyring.list_wallets(now) == std::vector<std::string>{"w"});
    REQUIRE(keyring.unlock("w", password, now));
    REQUIRE(keyring.lock("w", now));
    REQUIRE(keyring.lock("w", now));
    refused(keyring.import_key("w", kAlice, now),
            Exception::wallet_locked_exception,
            "Wallet is locked: w");
    refused(keyring.list_keys("w", password, now),
            Exception::wallet_locked_exception,
            "Wallet is locked: w");
    refused(keyring.remove_key("w", password, kAliceKey, now),
            Exception::wallet_locked_exception,
            "Wallet is locked: w");
    refused(keyring.sign({}, PublicKey::from_string(kAliceKey).value(), now),
            Exception::wallet_missing_pub_key_exception,
            "Public key not found in unlocked wallets " + std::string(kAliceKey));
}

TEST_CASE_METHOD(Fixture, "a wallet that is not there is reported") {
    refused(keyring.public_keys(now),
            Exception::wallet_not_available_exception,
            "You don't have any wallet!");
    refused(keyring.unlock("w", "x", now),
            Exception::wallet_nonexistent_exception,
            "Unable to open file: " + scratch.file("w.wallet"));
    refused(keyring.lock("w", now), Exception::wallet_nonexistent_exception, "Wallet not found: w");
    refused(keyring.create_key("w", "", now),
            Exception::wallet_nonexistent_exception,
            "Wallet not found: w");
    scratch.write("bad.wallet", "{}");
    const auto opened = keyring.open("bad", now);
    REQUIRE_FALSE(opened);
    CHECK_THAT(opened.error().detail, Catch::StartsWith(scratch.file("bad.wallet")));
}

TEST_CASE_METHOD(Fixture, "a key is in a wallet once, and gone after its removal") {
    const std::string password = create("w");
    REQUIRE(keyring.import_key("w", kAlice, now));
    refused(keyring.import_key("w", kAlice, now),
            Exception::key_exist_exception,
            "Key already in wallet");
    refused(keyring.create_key("w", "ed25519", now),
            Exception::unsupported_key_type_exception,
            "Key type \"ED25519\" not supported by software wallet");
    refused(keyring.remove_key("w", "wrong", kAliceKey, now),
            Exception::wallet_invalid_password_exception,
            "Invalid password for wallet: \"" + scratch.file("w.wallet") + "\"");
    REQUIRE(keyring.remove_key("w", password, kAliceKey, now));
    refused(keyring.remove_key("w", password, kAliceKey, now),
            Exception::key_nonexistent_exception,
            "Key not in wallet");
    REQUIRE(keyring.open("w", now));
    REQUIRE(keyring.unlock("w", password, now));
    CHECK(keyring.public_keys(now)->empty());
}

TEST_CASE_METHOD(Fixture, "a key that could not be stored is not in the wallet") {
    const std::string password = create("w");
    REQUIRE(keyring.import_key("w", kAlice, now));
    std::filesystem::remove(scratch.file("wallet.lock"));
    CHECK_FALSE(keyring.create_key("w", "K1", now));
    CHECK_FALSE(keyring.remove_key("w", password, kAliceKey, now));
    const std::set<PublicKey> expected{PublicKey::from_string(kAliceKey).value()};
    CHECK(keyring.public_keys(now).value() == expected);
    CHECK_FALSE(keyring.create("v", now));
    CHECK(keyring.list_wallets(now) == std::vector<std::string>{"w *"});
}

TEST_CASE_METHOD(Fixture, "signatures are those of the key, whichever wallet has it") {
    create("empty");
    create("w");
    REQUIRE(keyring.import_key("w", kAlice, now));
    base::Hash256 digest;
    digest.bytes[3] = std::byte{9};
    const auto key = PublicKey::from_string(kAliceKey).value();
    const auto signature = keyring.sign(digest, key, now);
    REQUIRE(signature);
    CHECK(base::crypto::recover(*signature, digest).value() == key);
}

TEST_CASE_METHOD(Fixture, "wallets lock after the timeout, measured from the last use") {
    create("w");
    CHECK(keyring.deadline() == at(1900));
    CHECK_FALSE(keyring.expire(at(1899)));
    CHECK(keyring.list_wallets(at(1899)) == std::vector<std::string>{"w *"});
    CHECK(keyring.deadline() == at(2799));
    CHECK_FALSE(keyring.expire(at(2798)));
    CHECK(keyring.expire(at(2799)));
    CHECK_FALSE(keyring.expire(at(2800)));  // Nothing more to lock.
    CHECK(keyring.list_wallets(at(2800)) == std::vector<std::string>{"w"});
}

TEST_CASE_METHOD(Fixture, "a late call finds the wallets locked even if nobody ticked") {
    create("w");
    refused(keyring.public_keys(at(1900)),
            Exception::wallet_locked_exception,
            "You don't have any unlocked wallet!");
}

TEST_CASE_METHOD(Fixture, "the timeout can be changed within reason") {
    create("w");
    REQUIRE(keyring.set_timeout(1, at(1000)));
    CHECK(keyring.deadline() == at(1001));
    for (const std::int64_t seconds : {std::int64_t{-1}, std::int64_t{1} << 62, INT64_MIN}) {
        const auto set = keyring.set_timeout(seconds, at(1000));
        REQUIRE_FALSE(set);
        CHECK(chain::exception_of(set.error()) == Exception::invalid_lock_timeout_exception);
        CHECK_THAT(set.error().detail, Catch::StartsWith("Overflow on timeout_time, specified "));
    }
    CHECK(keyring.deadline() == at(1001));  // As before the refusals.
    REQUIRE(keyring.set_timeout(0, at(1000)));
    CHECK(keyring.expire(at(1000)));
    // After the deadline, a new timeout does not revive what was to be locked.
    create("v");
    REQUIRE(keyring.set_timeout(5, at(5000)));
    CHECK(keyring.list_wallets(at(5000)) == std::vector<std::string>{"v", "w"});
    REQUIRE(keyring.set_timeout(9'000'000'000, at(5000)));
    CHECK(keyring.list_wallets(at(9000)).size() == 2);
}

TEST_CASE_METHOD(Fixture, "a wallet of keosd becomes one of ours when it is unlocked") {
    const std::string password = "PW5JGdF7TS6hotCKC3RUPt1zSS45rvSFDfmXmz54pqNSFZMb8wfYc";
    const std::string old =
        R"({"cipher_keys": ")"
        "826e411546dc84608b801d4bbd0169c7a5ff6e9e7cd3fc1378334412e656b71cc94f4a643f64403afc4bcc60"
        "f5d05daad41d2426791558b3668f752141c7459ab395bed1cc3e57b8284fe44335cc3c1618e4f59c93b558bd"
        "9ad8177c31c9e4bd2943d56e575e1eef959a21e4dac689ce9c807543c095826c5b6c23b00ef0dacb3f184448"
        "bffc1d1eaf0fdf2f031d5844433b582f79721a0df6af85f631b96eaba26246167302cec1a75c584049df1b5c"
        "ea7f498fb9f48a14dcd0795ff5213ec5600bdb13a4461a6c858fea3a015bb1d3"
        R"("})";
    scratch.write("old.wallet", old);
    CHECK_FALSE(keyring.unlock("old", "wrong", now));
    CHECK(scratch.read("old.wallet") == old);
    REQUIRE(keyring.unlock("old", password, now));
    CHECK(keyring.public_keys(now)->size() == 2);
    CHECK_THAT(scratch.read("old.wallet"), Catch::Contains("bor-wallet"));
    CHECK(scratch.read("old.wallet.keosd") == old);
    REQUIRE(keyring.open("old", now));
    CHECK_FALSE(keyring.unlock("old", "wrong", now));
    CHECK(keyring.unlock("old", password, now));
}
