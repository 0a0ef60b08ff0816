// WebAuthn signatures: an assertion made here with an R1 key, and each way to spoil it.
#include "base/crypto/hash.hpp"
#include "base/crypto/keys.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace base;
using namespace base::crypto;

namespace {

const Hash256 kDigest = sha256(as_bytes("transaction"));

std::string base64url(ByteView bytes) {
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string out;
    for (std::size_t bit = 0; bit < bytes.size() * 8; bit += 6) {
        unsigned value = 0;
        for (std::size_t i = bit; i < bit + 6; ++i) {
            const unsigned byte =
                i / 8 < bytes.size() ? std::to_integer<unsigned>(bytes[i / 8]) : 0;
            value = value << 1U | (byte >> (7 - i % 8) & 1U);
        }
        out.push_back(kAlphabet[value]);
    }
    return out;
}

std::string challenge() {
    return base64url(kDigest.view());
}

PrivateKey device() {
    return PrivateKey::from_secret(KeyType::r1, sha256(as_bytes("device")).view()).value();
}

Bytes auth_data(std::string_view host, unsigned flags) {
    Bytes out = to_bytes(sha256(as_bytes(host)).view());
    out.push_back(static_cast<std::byte>(flags));
    out.resize(37);
    return out;
}

Signature sign(std::string json, Bytes data) {
    const Hash256 client = sha256(as_bytes(json));
    const Hash256 signed_digest = Sha256().update(data).update(client.view()).finish();
    Signature out = device().sign(signed_digest);
    out.type = KeyType::webauthn;
    out.auth_data = std::move(data);
    out.client_json = std::move(json);
    return out;
}

std::string client(std::string_view type, std::string_view wanted, std::string_view origin) {
    return R"({"type":")" + std::string(type) + R"(","challenge":")" + std::string(wanted) +
           R"(","origin":")" + std::string(origin) + R"("})";
}

std::string good_client() {
    return client("webauthn.get", challenge(), "https://example.com");
}

std::string refusal(const Signature& signature) {
    const auto key = recover(signature, kDigest);
    REQUIRE_FALSE(key);
    return key.error().detail;
}

bool ends_with(const std::string& text, std::string_view end) {
    INFO(text);
    return std::string_view(text).ends_with(end);
}

}  // namespace

TEST_CASE("an assertion recovers the device's key with host and presence") {
    PublicKey key = device().public_key();
    key.type = KeyType::webauthn;
    key.relying_party = "example.com";
    for (const unsigned flags : {0U, 1U, 4U, 5U}) {
        key.user_presence = flags >= 4 ? 2 : static_cast<std::uint8_t>(flags);
        const Signature signature = sign(good_client(), auth_data("example.com", flags));
        CHECK(recover(signature, kDigest).value() == key);
        CHECK(verify(key, signature, kDigest));
        CHECK(PublicKey::from_string(key.to_string()).value() == key);
        CHECK(Signature::from_string(signature.to_string()).value() == signature);
    }
    CHECK(key.to_string().starts_with("PUB_WA_"));
}

TEST_CASE("the client data may be any JSON around the three members") {
    const std::string inner = R"("type":"webauthn\u002eget", "challenge":")" + challenge() +
                              R"(=", "origin":"https:\/\/example.com:8443")";
    for (const std::string& json :
         {"{" + inner + "}",
          " {\"a\":[1,-2.5e+3,{\"b\":{},\"c\":[]},[true,false,null]]," + inner + "} ",
          "{" + inner + R"(,"x":"\ud83d\ude00\n","y":0,"z":{"type":"other","origin":[]}})"}) {
        INFO(json);
        CHECK(recover(sign(json, auth_data("example.com", 1)), kDigest));
    }
}

TEST_CASE("client data that are not strict JSON are refused") {
    const std::string good = good_client();
    const std::vector<std::string> wrong = {
        std::string(),
        std::string("null"),
        std::string("[]"),
        good + "x",
        good.substr(0, good.size() - 1),
        "{,}" + good,
        R"({"type":1})",
        R"({"a":01})",
        R"({"a":.5})",
        R"({"a":"\q"})",
        R"({"a":"\ud800"})",
        R"({"a":"\)",
        R"({"a":"\u12)",
        R"({"a":[1,]})",
        R"({"a":{"b"}})",
        R"({"a":[}])",
        "{\"a\":\"\n\"}",
        "{\"a\":" + std::string(40, '[') + std::string(40, ']') + "}"};
    for (const std::string& json : wrong) {
        INFO(json);
        CHECK(ends_with(refusal(sign(json, auth_data("example.com", 1))),
                        "Failed to parse client data JSON"));
    }
}

TEST_CASE("an assertion of something else is refused") {
    const Bytes data = auth_data("example.com", 1);
    const std::string https = "https://example.com";
    CHECK(ends_with(refusal(sign(client("webauthn.create", challenge(), https), data)),
                    "webauthn signature type not an assertion"));
    const Hash256 other = sha256(as_bytes("other"));
    for (const std::string& wrong : {base64url(other.view()),
                                     challenge().substr(1),
                                     challenge() + "A",
                                     std::string(43, '*')}) {
        CHECK(ends_with(refusal(sign(client("webauthn.get", wrong, https), data)),
                        "Wrong webauthn challenge"));
    }
    CHECK(ends_with(refusal(sign(client("webauthn.get", challenge(), "http://example.com"), data)),
                    "webauthn origin must begin with https://"));
    CHECK(ends_with(refusal(sign(good_client(), Bytes(36))), "auth_data not as large as required"));
    CHECK(ends_with(refusal(sign(good_client(), auth_data("example.org", 1))),
                    "webauthn rpid hash doesn't match origin"));

    Signature forged = sign(good_client(), data);
    forged.client_json.insert(1, " ");
    CHECK(recover(forged, kDigest).value().point != device().public_key().point);
}
