#include "base/crypto/chacha.hpp"

#include "base/check.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>

namespace base::crypto {

namespace {

struct Free {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

// Setting up a context costs more than a key-stream, so each thread keeps one.
EVP_CIPHER_CTX* context_of_thread() {
    thread_local const std::unique_ptr<EVP_CIPHER_CTX, Free> kContext = [] {
        std::unique_ptr<EVP_CIPHER_CTX, Free> made(EVP_CIPHER_CTX_new());
        CHECK(made != nullptr);
        CHECK(EVP_EncryptInit_ex(made.get(), EVP_chacha20(), nullptr, nullptr, nullptr) == 1);
        return made;
    }();
    return kContext.get();
}

constexpr std::array<unsigned char, 2'048> kZeros{};

}  // namespace

void chacha20_keystream(const Hash256& key, std::span<std::byte> out) {
    EVP_CIPHER_CTX* context = context_of_thread();
    const auto* raw_key = reinterpret_cast<const unsigned char*>(key.bytes.data());
    CHECK(EVP_EncryptInit_ex(context, nullptr, nullptr, raw_key, kZeros.data()) == 1);
    while (!out.empty()) {
        const std::size_t size = std::min(out.size(), kZeros.size());
        int written = 0;
        CHECK(EVP_EncryptUpdate(context,
                                reinterpret_cast<unsigned char*>(out.data()),
                                &written,
                                kZeros.data(),
                                static_cast<int>(size)) == 1);
        CHECK(written == static_cast<int>(size));
        out = out.subspan(size);
    }
}

}  // namespace base::crypto
