#include "base/crypto/secret.hpp"

#include "base/check.hpp"
#include "base/crypto/wipe.hpp"

#include <openssl/crypto.h>

#include <memory>
#include <span>
#include <utility>

namespace base::crypto {

namespace {

constexpr std::size_t kPieceBytesMin = 32;

}  // namespace

bool make_secret_area(std::size_t bytes) {
    return CRYPTO_secure_malloc_init(bytes, kPieceBytesMin) == 1;
}

void* allocate_secret(std::size_t bytes) {
    void* memory = OPENSSL_secure_malloc(bytes);
    if (memory == nullptr) memory = OPENSSL_malloc(bytes);
    CHECK(memory != nullptr);
    return memory;
}

void free_secret(void* memory, std::size_t bytes) {
    OPENSSL_secure_clear_free(memory, bytes);
}

Secret32::Secret32(const std::array<std::byte, 32>& bytes)
    : bytes_(new(allocate_secret(sizeof bytes)) std::array<std::byte, 32>(bytes)) {}

Secret32::~Secret32() {
    free_secret(bytes_, sizeof *bytes_);
}

Secret32::Secret32(const Secret32& other) : Secret32(*other.bytes_) {}

Secret32& Secret32::operator=(const Secret32& other) {
    if (this != &other) *bytes_ = *other.bytes_;
    return *this;
}

[[gnu::noinline]] void wipe_stack() {
    // libsecp256k1 and OpenSSL take less.
    constexpr std::size_t kBytes = std::size_t{16} << 10;
    std::array<std::byte, kBytes> below;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    secure_wipe(below);
}

void wipe(std::string& text) {
    secure_wipe(std::as_writable_bytes(std::span(text.data(), text.size())));
    text.clear();
}

SecretText::SecretText(SecretText&& other) noexcept : text_(std::move(other.text_)) {
    wipe(other.text_);  // Short texts are copied when moved.
}

SecretText& SecretText::operator=(SecretText&& other) noexcept {
    if (this != &other) {
        wipe(text_);
        text_ = std::move(other.text_);
        wipe(other.text_);
    }
    return *this;
}

}  // namespace base::crypto
