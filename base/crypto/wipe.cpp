#include "base/crypto/wipe.hpp"

#include "base/check.hpp"

#include <openssl/crypto.h>
#include <openssl/rand.h>

namespace base::crypto {

void secure_wipe(std::span<std::byte> secret) {
    OPENSSL_cleanse(secret.data(), secret.size());
}

void random_bytes(std::span<std::byte> out) {
    const auto size = static_cast<int>(out.size());
    CHECK(RAND_priv_bytes(reinterpret_cast<unsigned char*>(out.data()), size) == 1);
}

bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace base::crypto
