#include "base/crypto/typed_keys.hpp"

#include <catch2/catch.hpp>

namespace {

bool refuses(std::string_view typed, const std::string& part) {
    const auto key = base::crypto::read_public_key(typed);
    return !key && key.error().detail.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a key that a person typed wrong is refused in words, and a private key is not shown") {
    const auto secret = base::crypto::PrivateKey::generate(base::crypto::KeyType::k1);
    const std::string good = secret.public_key().to_string();
    CHECK(base::crypto::read_public_key(good).value() == secret.public_key());
    CHECK(refuses("", "'' is no public key: it begins with PUB_K1_, PUB_R1_ or EOS"));
    CHECK(refuses("bora", "'bora' is no public key: it begins with"));
    CHECK(refuses(good.substr(0, good.size() - 1), "a letter of it is wrong or missing"));
    CHECK(refuses("PUB_K1_6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5BoDq64", "wrong or missing"));
    for (const std::string& text : {secret.to_string(), secret.to_new_string()}) {
        CHECK(refuses(text, "that is a private key"));
        CHECK_FALSE(refuses(text, text));
    }
}
