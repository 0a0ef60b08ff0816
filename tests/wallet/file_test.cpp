// Wallet files: what is sealed opens with its password only, and no change of the file, however
// small, goes unnoticed.
#include "wallet/file.hpp"

#include "base/crypto/hash.hpp"
#include "chain/types/exception.hpp"
#include "wallet/directory.hpp"

#include <catch2/catch.hpp>

using namespace wallet;
using base::crypto::KeyType;
using base::crypto::PrivateKey;
using chain::Exception;

namespace {

constexpr ScryptCost kCheap{.n = 16, .r = 1, .p = 1};
constexpr std::string_view kPassword = "PW5JGdF7TS6hotCKC3RUPt1zSS45rvSFDfmXmz54pqNSFZMb8wfYc";

// Made with OpenSSL's command line from the description of keosd's format: the keys of the
// labels alice (K1) and r1active (R1) under kPassword.
constexpr std::string_view kKeosdKeys =
    "826e411546dc84608b801d4bbd0169c7a5ff6e9e7cd3fc1378334412e656b71cc94f4a643f64403afc4bcc60f5d0"
    "5daad41d2426791558b3668f752141c7459ab395bed1cc3e57b8284fe44335cc3c1618e4f59c93b558bd9ad8177c"
    "31c9e4bd2943d56e575e1eef959a21e4dac689ce9c807543c095826c5b6c23b00ef0dacb3f184448bffc1d1eaf0f"
    "df2f031d5844433b582f79721a0df6af85f631b96eaba26246167302cec1a75c584049df1b5cea7f498fb9f48a14"
    "dcd0795ff5213ec5600bdb13a4461a6c858fea3a015bb1d3";

Keys some_keys() {
    Keys keys;
    for (const KeyType type : {KeyType::k1, KeyType::r1, KeyType::k1}) {
        const PrivateKey key = PrivateKey::generate(type);
        keys.emplace(key.public_key(), key);
    }
    return keys;
}

std::vector<std::string> texts(const Keys& keys) {
    std::vector<std::string> out;
    out.reserve(keys.size());
    for (const auto& [id, key] : keys)
        out.push_back(id.to_string() + " " + key.to_string());
    return out;
}

Exception refusal(const base::Result<Keys>& keys) {
    REQUIRE_FALSE(keys);
    return chain::exception_of(keys.error());
}

void refuses(const std::string& text, const std::string& detail) {
    const auto wallet = parse_wallet(text);
    REQUIRE_FALSE(wallet);
    CHECK(chain::exception_of(wallet.error()) == Exception::wallet_exception);
    CHECK_THAT(wallet.error().detail, Catch::Contains(detail));
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("a sealed wallet opens with its password, from its text too") {
    const Keys keys = some_keys();
    const SealedWallet sealed = seal(keys, derive_new(kPassword, kCheap));
    const auto parsed = parse_wallet(to_text(sealed));
    REQUIRE(parsed);
    CHECK_FALSE(parsed->is_keosd);
    const auto opened = unseal(*parsed, derive(kPassword, *parsed));
    REQUIRE(opened);
    CHECK(texts(*opened) == texts(keys));
    CHECK(refusal(unseal(*parsed, derive("wrong", *parsed))) ==
          Exception::wallet_invalid_password_exception);
    CHECK(refusal(unseal(*parsed, derive("", *parsed))) ==
          Exception::wallet_invalid_password_exception);
}

TEST_CASE("an empty wallet is a wallet") {
    const SealedWallet sealed = seal({}, derive_new(kPassword, kCheap));
    CHECK(unseal(sealed, derive(kPassword, sealed))->empty());
}

TEST_CASE("salts and nonces are never used twice") {
    const DerivedKey key = derive_new(kPassword, kCheap);
    CHECK(seal({}, key).nonce != seal({}, key).nonce);
    CHECK(key.salt != derive_new(kPassword, kCheap).salt);
}

TEST_CASE("the text tells nothing of the keys") {
    const Keys keys = some_keys();
    const std::string text = to_text(seal(keys, derive_new(kPassword, kCheap)));
    for (const auto& [id, key] : keys) {
        CHECK(text.find(base::to_hex(key.secret())) == std::string::npos);
        CHECK(text.find(base::to_hex(id.point)) == std::string::npos);
    }
}

TEST_CASE("every changed byte is noticed") {
    const DerivedKey key = derive_new(kPassword, kCheap);
    const SealedWallet good = seal(some_keys(), key);
    for (std::size_t i = 0; i < good.data.size(); ++i) {
        SealedWallet bad = good;
        bad.data[i] ^= std::byte{1};
        REQUIRE(refusal(unseal(bad, key)) == Exception::wallet_invalid_password_exception);
    }
    for (std::size_t size = 0; size < good.data.size(); ++size) {
        SealedWallet bad = good;
        bad.data.resize(size);
        REQUIRE_FALSE(unseal(bad, key));
    }
    SealedWallet bad = good;
    bad.nonce[0] ^= std::byte{1};
    CHECK_FALSE(unseal(bad, key));
    bad = good;
    bad.salt[31] ^= std::byte{1};
    CHECK_FALSE(unseal(bad, key));  // The header is authenticated, too,
    bad = good;
    bad.cost.p = 2;
    CHECK_FALSE(unseal(bad, key));  // all of it.
}

TEST_CASE("texts that are no wallet are refused with the reason") {
    const std::string good = to_text(seal(some_keys(), derive_new(kPassword, kCheap)));
    REQUIRE(parse_wallet(good));
    for (std::size_t size = 0; size + 2 < good.size(); ++size) {
        REQUIRE_FALSE(parse_wallet(good.substr(0, size)));
    }
    refuses("", "no wallet file");
    refuses("[]", "format is not bor-wallet");
    refuses(std::string(100'000, '['), "no wallet file");
    refuses(std::string(kFileBytesMax + 1, ' '), "no wallet file");
    refuses(replaced(good, "bor-wallet", "bar-wallet"), "format is not bor-wallet");
    refuses(replaced(good, "\"version\": 1", "\"version\": 2"), "version is not 1");
    refuses(replaced(good, "\"salt\": \"", "\"salt\": \"0"), "salt");
    refuses(replaced(good, "\"nonce\": \"", "\"nonce\": \"00"), "nonce");
    refuses(replaced(good, "\"data\": \"", "\"data\": \"x"), "data");
    refuses(replaced(good, "\"data\"", "\"date\""), "data");
    refuses(R"({"cipher_keys": 5})", "cipher_keys");
}

TEST_CASE("a hostile file cannot ask for unbounded work") {
    const std::string good = to_text(seal({}, derive_new(kPassword, kCheap)));
    for (const std::string_view n :
         {"0", "1", "3", "15", "2097152", "4294967296", "-16", "16.0", "\"16\"", "null"}) {
        refuses(replaced(good, "\"n\": 16", "\"n\": " + std::string(n)), "scrypt");
    }
    refuses(replaced(replaced(good, "\"n\": 16", "\"n\": 1048576"), "\"r\": 1", "\"r\": 8"),
            "scrypt");
    refuses(replaced(good, "\"p\": 1", "\"p\": 17"), "scrypt");
    refuses(replaced(good, "\"r\": 1", "\"r\": 33"), "scrypt");
}

TEST_CASE("a wallet of keosd can be read") {
    const auto wallet =
        parse_wallet("{\n  \"cipher_keys\": \"" + std::string(kKeosdKeys) + "\"\n}");
    REQUIRE(wallet);
    CHECK(wallet->is_keosd);
    const auto keys = unseal_keosd(*wallet, kPassword);
    REQUIRE(keys);
    CHECK(texts(*keys) ==
          std::vector<std::string>{"EOS7cgG2UxaCBX9Tt7cMUkgZEK6QPqnF2H5zBhFGaHMrLsjy7dyqr "
                                   "5KPAW9KicaFtyxsYQ2AuQgRUx3A2Qkyvoayb8W7siVLbvJxvqrH",
                                   "PUB_R1_54FT454NkgUSWehTf9u48yuQBH3WPB1JejFbRBP4hdN1kMCGTD "
                                   "PVT_R1_yUtBHgCf2G8mSyeaxLrEuRhLzVwEcoSGsx3bxuzSLZ1AiQFei"});
    CHECK(refusal(unseal_keosd(*wallet, "PW5Jxxxx")) ==
          Exception::wallet_invalid_password_exception);
}

TEST_CASE("a spoilt wallet of keosd is refused") {
    SealedWallet wallet;
    wallet.is_keosd = true;
    CHECK_FALSE(unseal_keosd(wallet, kPassword));
    wallet.data = base::from_hex(kKeosdKeys).value();
    for (std::size_t i = 0; i < wallet.data.size(); i += 5) {
        SealedWallet bad = wallet;
        bad.data[i] ^= std::byte{4};
        // CBC has no tag; a key that does not fit its public key gives the change away.
        REQUIRE_FALSE(unseal_keosd(bad, kPassword));
        bad = wallet;
        bad.data.resize(i);
        REQUIRE_FALSE(unseal_keosd(bad, kPassword));
    }
}
