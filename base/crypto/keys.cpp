#include "base/crypto/keys.hpp"

#include "base/check.hpp"
#include "base/crypto/curves.hpp"
#include "base/crypto/wipe.hpp"

#include <algorithm>

namespace base::crypto {

PrivateKey::PrivateKey(KeyType type, const std::array<std::byte, 32>& secret)
    : type_(type), secret_(secret) {
    CHECK(type == KeyType::k1 || type == KeyType::r1);
}

Result<PrivateKey> PrivateKey::from_secret(KeyType type, ByteView secret) {
    if (type != KeyType::k1 && type != KeyType::r1) {
        return fail(Errc::invalid, "a private key is of type K1 or R1");
    }
    if (secret.size() != 32) {
        return fail(Errc::invalid,
                    "a private key has 32 bytes, found " + std::to_string(secret.size()));
    }
    PrivateKey key(type, {});
    std::ranges::copy(secret, key.secret_.bytes().begin());
    const auto& scalar = key.secret_.bytes();
    const bool in_range = type == KeyType::k1 ? k1::in_range(scalar) : r1::in_range(scalar);
    wipe_stack();
    if (!in_range) {
        return fail(Errc::invalid, "the private key is zero or not below the order of its curve");
    }
    return key;
}

PrivateKey PrivateKey::generate(KeyType type) {
    CHECK(type == KeyType::k1 || type == KeyType::r1);
    std::array<std::byte, 32> secret{};
    while (true) {
        random_bytes(secret);
        const Result<PrivateKey> key = from_secret(type, secret);
        secure_wipe(secret);
        if (key) return *key;
    }
}

PublicKey PrivateKey::public_key() const {
    PublicKey key;
    key.type = type_;
    const auto& scalar = secret_.bytes();
    key.point = type_ == KeyType::k1 ? k1::public_point(scalar) : r1::public_point(scalar);
    wipe_stack();
    return key;
}

Signature PrivateKey::sign(const Hash256& digest) const {
    Signature signature;
    signature.type = type_;
    const auto& scalar = secret_.bytes();
    signature.compact = type_ == KeyType::k1 ? k1::sign(scalar, digest) : r1::sign(scalar, digest);
    wipe_stack();
    return signature;
}

Result<PublicKey> recover(const Signature& signature, const Hash256& digest) {
    PublicKey key;
    key.type = signature.type;
    Result<k1::Point> point = key.point;
    if (signature.type == KeyType::webauthn) {
        auto assertion = webauthn::check(signature, digest);
        if (!assertion) return fail(assertion.error());
        key.user_presence = assertion->user_presence;
        key.relying_party = std::move(assertion->relying_party);
        point = r1::recover(signature.compact, assertion->signed_digest, true);
    } else if (signature.type == KeyType::r1) {
        point = r1::recover(signature.compact, digest, false);
    } else {
        point = k1::recover(signature.compact, digest);
    }
    if (!point) return fail(point.error());
    key.point = *point;
    return key;
}

bool verify(const PublicKey& key, const Signature& signature, const Hash256& digest) {
    // Recovery costs little more than plain verification and knows no second opinion: one
    // signature belongs to exactly one key. And it has one form: byte 0 may also say that the key
    // is not compressed, as in transactions; then anyone could make a second signature of it.
    constexpr std::byte kCompressed{31};
    if (signature.compact[0] < kCompressed) return false;
    const Result<PublicKey> recovered = recover(signature, digest);
    return recovered && *recovered == key;
}

bool is_on_curve(const PublicKey& key) {
    return key.type == KeyType::k1 ? k1::is_on_curve(key.point) : r1::is_on_curve(key.point);
}

void encode(Writer& out, const PublicKey& key) {
    out.u8(static_cast<std::uint8_t>(key.type));
    out.raw(key.point);
    if (key.type == KeyType::webauthn) {
        out.u8(key.user_presence);
        out.string(key.relying_party);
    }
}

void encode(Writer& out, const Signature& signature) {
    out.u8(static_cast<std::uint8_t>(signature.type));
    out.raw(signature.compact);
    if (signature.type == KeyType::webauthn) {
        out.bytes(signature.auth_data);
        out.string(signature.client_json);
    }
}

namespace {

KeyType read_type(Reader& in, std::string_view field) {
    const std::uint8_t type = in.u8(field);
    if (type > static_cast<std::uint8_t>(KeyType::webauthn)) {
        in.set_error(field,
                     "unknown key type " + std::to_string(type) + "; 0 K1, 1 R1, 2 WebAuthn");
        return KeyType::k1;
    }
    return static_cast<KeyType>(type);
}

}  // namespace

void decode(Reader& in, PublicKey& key, std::string_view field) {
    key = {};
    key.type = read_type(in, field);
    key.point = in.hash<33>(field).bytes;
    if (key.type != KeyType::webauthn) return;
    key.user_presence = in.u8(field);
    if (key.user_presence > 2) in.set_error(field, "user presence above 2");
    key.relying_party = in.string(field, kRelyingPartyBytesMax);
    if (in.ok() && key.relying_party.empty()) {
        in.set_error(field, "webauthn pubkey must have non empty rpid");
    }
}

void decode(Reader& in, Signature& signature, std::string_view field) {
    signature = {};
    signature.type = read_type(in, field);
    signature.compact = in.hash<65>(field).bytes;
    if (signature.type != KeyType::webauthn) return;
    signature.auth_data = to_bytes(in.bytes(field, kAuthDataBytesMax));
    signature.client_json = in.string(field, kClientJsonBytesMax);
}

}  // namespace base::crypto
