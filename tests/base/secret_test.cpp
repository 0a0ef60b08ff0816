// Secrets: in memory of their own, wiped when they go.
#include "base/crypto/secret.hpp"

#include "base/crypto/hash.hpp"
#include "base/crypto/keys.hpp"

#include <catch2/catch.hpp>
#include <openssl/crypto.h>

#include <memory>
#include <vector>

namespace tests {

using base::crypto::KeyType;
using base::crypto::PrivateKey;

TEST_CASE("a private key and its copies lie in memory for secrets, each in its own") {
    (void)base::crypto::make_secret_area(std::size_t{1} << 16);
    for (const KeyType type : {KeyType::k1, KeyType::r1}) {
        auto key = PrivateKey::generate(type);
        const auto copy = std::make_unique<PrivateKey>(key);
        CHECK(CRYPTO_secure_allocated(key.secret().data()) == 1);
        CHECK(CRYPTO_secure_allocated(copy->secret().data()) == 1);
        CHECK(copy->secret().data() != key.secret().data());
        CHECK(copy->to_string() == key.to_string());
        key = PrivateKey::generate(type);
        CHECK(copy->to_string() != key.to_string());
    }
}

TEST_CASE("where that memory is full, keys are made all the same") {
    (void)base::crypto::make_secret_area(std::size_t{1} << 16);
    const auto key = PrivateKey::generate(KeyType::k1);
    const std::vector<PrivateKey> many(3'000, key);
    const auto digest = base::crypto::sha256({});
    for (const KeyType type : {KeyType::k1, KeyType::r1}) {
        const auto made = PrivateKey::generate(type);
        CHECK(CRYPTO_secure_allocated(made.secret().data()) == 0);
        CHECK(base::crypto::verify(made.public_key(), made.sign(digest), digest));
        CHECK(PrivateKey::from_string(made.to_string())->public_key() == made.public_key());
    }
}

}  // namespace tests
