#pragma once

#include <bor/datastream.hpp>

#include <array>
#include <string>
#include <string_view>

namespace bor {

template <std::size_t Size>
struct Digest {
    std::array<uint8_t, Size> bytes{};
    constexpr auto operator<=>(const Digest&) const = default;
    BOR_FIELDS(bytes)
};
using Checksum160 = Digest<20>;
using Checksum256 = Digest<32>;
using Checksum512 = Digest<64>;

inline Checksum160 sha1(std::string_view data) {
    Checksum160 digest;
    host::sha1(data.data(), data.size(), digest.bytes.data());
    return digest;
}
inline Checksum256 sha256(std::string_view data) {
    Checksum256 digest;
    host::sha256(data.data(), data.size(), digest.bytes.data());
    return digest;
}
inline Checksum512 sha512(std::string_view data) {
    Checksum512 digest;
    host::sha512(data.data(), data.size(), digest.bytes.data());
    return digest;
}
inline Checksum160 ripemd160(std::string_view data) {
    Checksum160 digest;
    host::ripemd160(data.data(), data.size(), digest.bytes.data());
    return digest;
}
// SHA3-256, or Keccak-256 as Ethereum uses it.
inline Checksum256 sha3(std::string_view data, bool keccak = false) {
    Checksum256 digest;
    host::sha3(data.data(),
               data.size(),
               reinterpret_cast<char*>(digest.bytes.data()),
               digest.bytes.size(),
               keccak ? 1 : 0);
    return digest;
}
inline void assert_sha256(std::string_view data, const Checksum256& digest) {
    host::assert_sha256(data.data(), data.size(), digest.bytes.data());
}

// The curve of a key or signature.
enum class KeyType : uint8_t { k1 = 0, r1 = 1, webauthn = 2 };

struct PublicKey {
    KeyType type = KeyType::k1;
    std::array<uint8_t, 33> point{};
    uint8_t user_presence = 0;  // Of WebAuthn keys only, as the next.
    std::string relying_party;
    bool operator==(const PublicKey&) const = default;
};
template <class Out>
void encode(Out& out, const PublicKey& key) {
    encode(out, key.type);
    encode(out, key.point);
    if (key.type != KeyType::webauthn) return;
    encode(out, key.user_presence);
    encode(out, key.relying_party);
}
inline void decode(Reader& in, PublicKey& key) {
    decode(in, key.type);
    decode(in, key.point);
    if (key.type != KeyType::webauthn) return;
    decode(in, key.user_presence);
    decode(in, key.relying_party);
}

struct Signature {
    KeyType type = KeyType::k1;
    std::array<uint8_t, 65> compact{};
    Bytes auth_data;  // Of WebAuthn signatures only, as the next.
    std::string client_json;
    bool operator==(const Signature&) const = default;
};
template <class Out>
void encode(Out& out, const Signature& signature) {
    encode(out, signature.type);
    encode(out, signature.compact);
    if (signature.type != KeyType::webauthn) return;
    encode(out, signature.auth_data);
    encode(out, signature.client_json);
}
inline void decode(Reader& in, Signature& signature) {
    decode(in, signature.type);
    decode(in, signature.compact);
    if (signature.type != KeyType::webauthn) return;
    decode(in, signature.auth_data);
    decode(in, signature.client_json);
}

// The key that made this signature of this digest.
inline PublicKey recover_key(const Checksum256& digest, const Signature& signature) {
    const Bytes packed = pack(signature);
    Bytes key(512);
    const int32_t size = host::recover_key(
        digest.bytes.data(), packed.data(), packed.size(), key.data(), key.size());
    key.resize(static_cast<std::size_t>(size));
    return unpack<PublicKey>(key);
}
inline void assert_recover_key(const Checksum256& digest,
                               const Signature& signature,
                               const PublicKey& key) {
    const Bytes packed = pack(signature);
    const Bytes packed_key = pack(key);
    host::assert_recover_key(
        digest.bytes.data(), packed.data(), packed.size(), packed_key.data(), packed_key.size());
}

}  // namespace bor
