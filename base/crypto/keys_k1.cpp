// secp256k1, by libsecp256k1.
#include "base/check.hpp"
#include "base/crypto/curves.hpp"
#include "base/crypto/wipe.hpp"

#include <secp256k1.h>
#include <secp256k1_recovery.h>

namespace base::crypto::k1 {

namespace {

const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}

// Made once and kept; only read afterwards, so that all threads may use it. The random seed
// blinds signing against side channels and does not change its results.
const secp256k1_context* context() {
    static const secp256k1_context* const kContext = [] {
        secp256k1_context* made =
            secp256k1_context_create(SECP256K1_CONTEXT_SIGN | SECP256K1_CONTEXT_VERIFY);
        std::array<std::byte, 32> seed{};
        random_bytes(seed);
        CHECK(secp256k1_context_randomize(made, raw(seed.data())) == 1);
        return made;
    }();
    return kContext;
}

// nodeos signs again with the next nonce of RFC 6979 until r and s are canonical; the counter
// starts at 1. Equal keys and digests must give the same bytes as its wallet.
// NOLINTNEXTLINE(readability-function-size): libsecp256k1 calls it so.
int next_nonce(unsigned char* nonce,
               const unsigned char* digest,
               const unsigned char* secret,
               const unsigned char* algorithm,
               void* counter,
               unsigned int /*attempt*/) {
    auto* attempt = static_cast<unsigned int*>(counter);
    ++*attempt;
    return secp256k1_nonce_function_rfc6979(nonce, digest, secret, algorithm, nullptr, *attempt);
}

bool is_high(std::byte b) {
    return (b & std::byte{0x80}) != std::byte{0};
}

// r and s as DER would store them in exactly 32 bytes each.
bool is_canonical(const Compact& c) {
    const auto fits = [&](std::size_t at) {
        return !is_high(c[at]) && !(c[at] == std::byte{0} && !is_high(c[at + 1]));
    };
    return fits(1) && fits(33);
}

Point serialize(const secp256k1_pubkey& key) {
    Point point{};
    std::size_t size = point.size();
    CHECK(secp256k1_ec_pubkey_serialize(context(),
                                        reinterpret_cast<unsigned char*>(point.data()),
                                        &size,
                                        &key,
                                        SECP256K1_EC_COMPRESSED) == 1);
    return point;
}

}  // namespace

bool in_range(const Secret& secret) {
    return secp256k1_ec_seckey_verify(context(), raw(secret.data())) == 1;
}

Point public_point(const Secret& secret) {
    secp256k1_pubkey key;
    CHECK(secp256k1_ec_pubkey_create(context(), &key, raw(secret.data())) == 1);
    return serialize(key);
}

Compact sign(const Secret& secret, const Hash256& digest) {
    Compact out{};
    unsigned int counter = 0;
    do {
        secp256k1_ecdsa_recoverable_signature signature;
        CHECK(secp256k1_ecdsa_sign_recoverable(context(),
                                               &signature,
                                               raw(digest.bytes.data()),
                                               raw(secret.data()),
                                               next_nonce,
                                               &counter) == 1);
        int recovery_id = 0;
        secp256k1_ecdsa_recoverable_signature_serialize_compact(
            context(), reinterpret_cast<unsigned char*>(out.data() + 1), &recovery_id, &signature);
        out[0] = static_cast<std::byte>(recovery_id + 31);
    } while (!is_canonical(out));
    return out;
}

Result<Point> recover(const Compact& signature, const Hash256& digest) {
    const int first = std::to_integer<int>(signature[0]);
    if (first < 27 || first >= 35) {
        return fail(Errc::invalid, "unable to reconstruct public key from signature");
    }
    if (!is_canonical(signature)) {
        return fail(assertion(Errc::invalid, "is_canonical( c ): signature is not canonical"));
    }
    secp256k1_ecdsa_recoverable_signature parsed;
    secp256k1_pubkey key;
    const bool recovered =
        secp256k1_ecdsa_recoverable_signature_parse_compact(
            context(), &parsed, raw(signature.data() + 1), (first - 27) & 3) == 1 &&
        secp256k1_ecdsa_recover(context(), &key, &parsed, raw(digest.bytes.data())) == 1;
    if (!recovered) {
        return fail(assertion(Errc::invalid, "unable to reconstruct public key from signature"));
    }
    return serialize(key);
}

bool is_on_curve(const Point& point) {
    secp256k1_pubkey key;
    return secp256k1_ec_pubkey_parse(context(), &key, raw(point.data()), point.size()) == 1;
}

}  // namespace base::crypto::k1
