// Every node of a world recovers the keys of the same signatures, which took a third of all time.
// The linker calls these in place of libsecp256k1's pure functions (--wrap, CMakeLists.txt): the
// production code is what is shipped, and the curve is asked once.
#include "tests/sim/memo.hpp"

#include <algorithm>
#include <array>
#include <secp256k1.h>
#include <secp256k1_recovery.h>

namespace sim {

namespace {

constexpr std::size_t kRecoveries = 16'384;  // 2.7 MB; a world of four has some thousand.
constexpr std::size_t kKeys = 256;

using Bytes32 = std::array<unsigned char, 32>;

struct Signed {
    std::array<unsigned char, sizeof(secp256k1_ecdsa_recoverable_signature)> signature{};
    Bytes32 digest{};
};

struct Recovered {
    int done = 0;
    secp256k1_pubkey key{};
};

Bytes32 bytes_of(const unsigned char* from) {
    Bytes32 bytes;
    std::copy_n(from, bytes.size(), bytes.begin());
    return bytes;
}

template <class Array>
std::size_t number_in(const Array& bytes) {
    std::size_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
}

}  // namespace

extern "C" {

int real_recover(const secp256k1_context* context,
                 secp256k1_pubkey* key,
                 const secp256k1_ecdsa_recoverable_signature* signature,
                 const unsigned char* digest) __asm__("__real_secp256k1_ecdsa_recover");
int real_create(const secp256k1_context* context,
                secp256k1_pubkey* key,
                const unsigned char* secret) __asm__("__real_secp256k1_ec_pubkey_create");
int memo_recover(const secp256k1_context* context,
                 secp256k1_pubkey* key,
                 const secp256k1_ecdsa_recoverable_signature* signature,
                 const unsigned char* digest) __asm__("__wrap_secp256k1_ecdsa_recover");
int memo_create(const secp256k1_context* context,
                secp256k1_pubkey* key,
                const unsigned char* secret) __asm__("__wrap_secp256k1_ec_pubkey_create");

int memo_recover(const secp256k1_context* context,
                 secp256k1_pubkey* key,
                 const secp256k1_ecdsa_recoverable_signature* signature,
                 const unsigned char* digest) {
    thread_local Memo<Signed, Recovered> memo(kRecoveries);
    Signed asked;
    std::copy_n(std::begin(signature->data), asked.signature.size(), asked.signature.begin());
    asked.digest = bytes_of(digest);
    const std::size_t place = number_in(asked.signature) ^ number_in(asked.digest);
    const Recovered& found = memo.get(asked, place, [&] {
        Recovered made;
        made.done = real_recover(context, &made.key, signature, digest);
        return made;
    });
    *key = found.key;
    return found.done;
}

int memo_create(const secp256k1_context* context,
                secp256k1_pubkey* key,
                const unsigned char* secret) {
    thread_local Memo<Bytes32, Recovered> memo(kKeys);
    const Bytes32 asked = bytes_of(secret);
    const Recovered& found = memo.get(asked, number_in(asked), [&] {
        Recovered made;
        made.done = real_create(context, &made.key, secret);
        return made;
    });
    *key = found.key;
    return found.done;
}

}  // extern "C"

}  // namespace sim
