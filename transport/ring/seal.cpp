#include "transport/ring/seal.hpp"

#include "base/check.hpp"
#include "base/crypto/wipe.hpp"
#include "transport/number.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <array>
#include <cstring>
#include <string_view>

namespace transport::ring {

namespace {

constexpr unsigned kEpochShift = 34;  // 16 GiB.
constexpr std::size_t kKeyBytes = 16;
constexpr std::size_t kNonceBytes = 12;

const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* raw(std::byte* bytes) {
    return reinterpret_cast<unsigned char*>(bytes);
}

// EVP_CIPHER_CTX_ctrl() makes the same, with more steps.
std::array<OSSL_PARAM, 2> tag_at(std::byte* tag) {
    return {OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag, kTagBytes),
            OSSL_PARAM_construct_end()};
}

using Key = std::array<std::byte, kKeyBytes>;

// HKDF-Expand(secret, "bor ring key" || epoch).
Key derive_key(const base::Hash256& secret, std::uint64_t epoch) {
    constexpr std::string_view kLabel = "bor ring key";
    std::array<std::byte, kLabel.size() + sizeof epoch> info{};
    std::memcpy(info.data(), kLabel.data(), kLabel.size());
    store_number(std::span(info).subspan<kLabel.size()>(), epoch);
    const std::unique_ptr<EVP_PKEY_CTX, void (*)(EVP_PKEY_CTX*)> context(
        EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr), EVP_PKEY_CTX_free);
    Key key{};
    std::size_t size = key.size();
    CHECK(context != nullptr && EVP_PKEY_derive_init(context.get()) == 1 &&
          EVP_PKEY_CTX_set_hkdf_mode(context.get(), EVP_PKEY_HKDEF_MODE_EXPAND_ONLY) == 1 &&
          EVP_PKEY_CTX_set_hkdf_md(context.get(), EVP_sha256()) == 1 &&
          EVP_PKEY_CTX_set1_hkdf_key(context.get(),
                                     raw(secret.bytes.data()),
                                     static_cast<int>(secret.bytes.size())) == 1 &&
          EVP_PKEY_CTX_add1_hkdf_info(
              context.get(), raw(info.data()), static_cast<int>(info.size())) == 1 &&
          EVP_PKEY_derive(context.get(), raw(key.data()), &size) == 1 && size == key.size());
    return key;
}

}  // namespace

void Seal::Free::operator()(evp_cipher_ctx_st* context) const {
    EVP_CIPHER_CTX_free(context);
}

Seal::Seal(const base::Hash256& secret, Use use)
    : context_(EVP_CIPHER_CTX_new()), secret_(secret), use_(use) {
    CHECK(context_ != nullptr);
    choose_key(0);
}

Seal::~Seal() {
    base::crypto::secure_wipe(secret_.bytes);
}

void Seal::choose_key(std::uint64_t position) {
    const std::uint64_t epoch = position >> kEpochShift;
    if (epoch == epoch_) return;
    Key key = derive_key(secret_, epoch);
    const int encrypts = use_ == Use::seal ? 1 : 0;
    CHECK(EVP_CipherInit_ex(
              context_.get(), EVP_aes_128_gcm(), nullptr, raw(key.data()), nullptr, encrypts) == 1);
    base::crypto::secure_wipe(key);
    epoch_ = epoch;
}

void Seal::begin(std::uint64_t position, std::uint64_t word) {
    choose_key(position);
    std::array<std::byte, kNonceBytes> nonce{};
    store_number(std::span(nonce).last<sizeof position>(), position);
    std::array<std::byte, kWordBytes> associated{};
    store_number(associated, word);
    int count = 0;
    CHECK(EVP_CipherInit_ex2(context_.get(), nullptr, nullptr, raw(nonce.data()), -1, nullptr) ==
          1);
    CHECK(EVP_CipherUpdate(context_.get(),
                           nullptr,
                           &count,
                           raw(associated.data()),
                           static_cast<int>(associated.size())) == 1);
}

void Seal::update(base::ByteView in, std::byte* out) {
    if (in.empty()) return;
    int count = 0;
    CHECK(EVP_CipherUpdate(
              context_.get(), raw(out), &count, raw(in.data()), static_cast<int>(in.size())) == 1);
    CHECK(static_cast<std::size_t>(count) == in.size());
}

void Seal::seal(std::uint64_t position,
                std::uint64_t word,
                base::ByteView plain,
                std::span<std::byte> out) {
    CHECK(use_ == Use::seal && plain.size() <= kSealedBytesMax);
    CHECK(out.size() >= plain.size() + kTagBytes);
    begin(position, word);
    update(plain, out.data());
    int count = 0;
    CHECK(EVP_CipherFinal_ex(context_.get(), raw(out.data() + plain.size()), &count) == 1);
    std::array<OSSL_PARAM, 2> tag = tag_at(out.data() + plain.size());
    CHECK(EVP_CIPHER_CTX_get_params(context_.get(), tag.data()) == 1);
}

bool Seal::open(std::uint64_t position, std::uint64_t word, std::span<std::byte> bytes) {
    CHECK(bytes.size() >= kTagBytes);
    const std::size_t size = bytes.size() - kTagBytes;
    Tag tag{};
    std::memcpy(tag.data(), bytes.data() + size, tag.size());
    return open(position, word, bytes.first(size), tag);
}

bool Seal::open(std::uint64_t position, std::uint64_t word, std::span<std::byte> payload, Tag tag) {
    CHECK(use_ == Use::open);
    begin(position, word);
    update(payload, payload.data());
    std::array<OSSL_PARAM, 2> expected = tag_at(tag.data());
    CHECK(EVP_CIPHER_CTX_set_params(context_.get(), expected.data()) == 1);
    int count = 0;
    return EVP_CipherFinal_ex(context_.get(), raw(tag.data()), &count) == 1;
}

}  // namespace transport::ring
