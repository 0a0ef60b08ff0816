// The only file that uses OpenSSL's low-level digests. OpenSSL 3 calls them deprecated, but
// they need neither a fetch per call nor the legacy provider in which ripemd160 now lives.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/crypto/hash.hpp"

#include "base/check.hpp"
#include "base/crypto/wipe.hpp"

#include <openssl/ripemd.h>
#include <openssl/sha.h>

#include <cstring>

namespace base::crypto {

namespace {

template <std::size_t N>
unsigned char* raw(Hash<N>& hash) {
    return reinterpret_cast<unsigned char*>(hash.bytes.data());
}

// Init, Update and Final of one of OpenSSL's digests, whose state is a Context.
template <class Result, class Context, auto Init, auto Update, auto Final>
Result digest(ByteView data, GoesOn goes_on) {
    Context context;  // NOLINT(cppcoreguidelines-pro-type-member-init): Init() sets it.
    Result hash;
    Init(&context);
    for (; data.size() > kPieceBytes; data = data.subspan(kPieceBytes)) {
        Update(&context, data.data(), kPieceBytes);
        if (!goes_on()) return {};
    }
    Update(&context, data.data(), data.size());
    Final(raw(hash), &context);
    return hash;
}

}  // namespace

Hash256 sha256(ByteView data, GoesOn goes_on) {
    return digest<Hash256, SHA256_CTX, SHA256_Init, SHA256_Update, SHA256_Final>(data, goes_on);
}

Hash512 sha512(ByteView data, GoesOn goes_on) {
    return digest<Hash512, SHA512_CTX, SHA512_Init, SHA512_Update, SHA512_Final>(data, goes_on);
}

Hash160 sha1(ByteView data, GoesOn goes_on) {
    return digest<Hash160, SHA_CTX, SHA1_Init, SHA1_Update, SHA1_Final>(data, goes_on);
}

Hash160 ripemd160(ByteView data, GoesOn goes_on) {
    return digest<Hash160, RIPEMD160_CTX, RIPEMD160_Init, RIPEMD160_Update, RIPEMD160_Final>(
        data, goes_on);
}

static_assert(sizeof(SHA256_CTX) <= 128 && alignof(SHA256_CTX) <= 8);

// SHA256_Init() sets the whole state, in place.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
Sha256::Sha256() {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory)
    SHA256_Init(new (state_.data()) SHA256_CTX);
}

Sha256::~Sha256() {
    secure_wipe(state_);
}

Sha256& Sha256::update(ByteView data) {
    SHA256_Update(reinterpret_cast<SHA256_CTX*>(state_.data()), data.data(), data.size());
    return *this;
}

Hash256 Sha256::finish() {
    auto* context = reinterpret_cast<SHA256_CTX*>(state_.data());
    Hash256 hash;
    SHA256_Final(raw(hash), context);
    SHA256_Init(context);
    return hash;
}

Hash256 hmac_sha256(ByteView key, ByteView data) {
    constexpr std::size_t kBlock = 64;
    std::array<std::byte, kBlock> pad{};
    if (key.size() > kBlock) {
        const Hash256 hashed = sha256(key);
        std::memcpy(pad.data(), hashed.bytes.data(), hashed.bytes.size());
    } else if (!key.empty()) {
        std::memcpy(pad.data(), key.data(), key.size());
    }
    for (std::byte& b : pad)
        b ^= std::byte{0x36};
    Sha256 hasher;
    const Hash256 inner = hasher.update(pad).update(data).finish();
    for (std::byte& b : pad)
        b ^= std::byte{0x36 ^ 0x5C};
    const Hash256 outer = hasher.update(pad).update(inner.view()).finish();
    secure_wipe(pad);
    return outer;
}

}  // namespace base::crypto
