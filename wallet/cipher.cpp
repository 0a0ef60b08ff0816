#include "wallet/cipher.hpp"

#include "base/check.hpp"

#include <openssl/evp.h>

#include <memory>

namespace wallet::cipher {

namespace {

constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kBlockBytes = 16;

struct Free {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, Free>;

Context new_context() {
    Context context(EVP_CIPHER_CTX_new());
    CHECK(context != nullptr);
    return context;
}

const unsigned char* raw(const std::byte* bytes) {
    return reinterpret_cast<const unsigned char*>(bytes);
}

unsigned char* raw(std::byte* bytes) {
    return reinterpret_cast<unsigned char*>(bytes);
}

// Feeds `in` and returns how many bytes came out. Inputs are files, far below INT_MAX.
template <class Update>
std::size_t feed(Update update, EVP_CIPHER_CTX* context, std::byte* out, base::ByteView in) {
    int written = 0;
    if (in.empty()) return 0;
    CHECK(update(context,
                 out == nullptr ? nullptr : raw(out),
                 &written,
                 raw(in.data()),
                 static_cast<int>(in.size())) == 1);
    return static_cast<std::size_t>(written);
}

}  // namespace

SecretBytes scrypt(std::string_view password, const Salt& salt, ScryptCost cost) {
    SecretBytes key(kKeyBytes);
    constexpr std::uint64_t kMemoryMax = std::uint64_t{512} << 20;
    CHECK(EVP_PBE_scrypt(password.data(),
                         password.size(),
                         raw(salt.data()),
                         salt.size(),
                         cost.n,
                         cost.r,
                         cost.p,
                         kMemoryMax,
                         raw(key.data()),
                         key.size()) == 1);
    return key;
}

base::Bytes seal(const SecretBytes& key,
                 const std::array<std::byte, 12>& nonce,
                 base::ByteView authenticated,
                 const SecretBytes& plain) {
    CHECK(key.size() == kKeyBytes);
    const Context context = new_context();
    CHECK(EVP_EncryptInit_ex(
              context.get(), EVP_aes_256_gcm(), nullptr, raw(key.data()), raw(nonce.data())) == 1);
    feed(EVP_EncryptUpdate, context.get(), nullptr, authenticated);
    base::Bytes sealed(plain.size() + kTagBytes);
    CHECK(feed(EVP_EncryptUpdate, context.get(), sealed.data(), plain) == plain.size());
    int more = 0;
    CHECK(EVP_EncryptFinal_ex(context.get(), raw(sealed.data() + plain.size()), &more) == 1);
    CHECK(EVP_CIPHER_CTX_ctrl(context.get(),
                              EVP_CTRL_GCM_GET_TAG,
                              static_cast<int>(kTagBytes),
                              sealed.data() + plain.size()) == 1);
    return sealed;
}

std::optional<SecretBytes> open(const SecretBytes& key,
                                const std::array<std::byte, 12>& nonce,
                                base::ByteView authenticated,
                                base::ByteView sealed) {
    CHECK(key.size() == kKeyBytes);
    if (sealed.size() < kTagBytes) return std::nullopt;
    base::Bytes tag = base::to_bytes(sealed.last(kTagBytes));
    sealed = sealed.first(sealed.size() - kTagBytes);
    const Context context = new_context();
    CHECK(EVP_DecryptInit_ex(
              context.get(), EVP_aes_256_gcm(), nullptr, raw(key.data()), raw(nonce.data())) == 1);
    feed(EVP_DecryptUpdate, context.get(), nullptr, authenticated);
    SecretBytes plain(sealed.size());
    CHECK(feed(EVP_DecryptUpdate, context.get(), plain.data(), sealed) == plain.size());
    CHECK(EVP_CIPHER_CTX_ctrl(
              context.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(kTagBytes), tag.data()) == 1);
    std::array<std::byte, kBlockBytes> rest{};
    int more = 0;
    if (EVP_DecryptFinal_ex(context.get(), raw(rest.data()), &more) != 1) return std::nullopt;
    return plain;
}

std::optional<SecretBytes> open_cbc(const SecretBytes& key,
                                    const std::array<std::byte, 16>& iv,
                                    base::ByteView sealed) {
    CHECK(key.size() == kKeyBytes);
    if (sealed.empty() || sealed.size() % kBlockBytes != 0) return std::nullopt;
    const Context context = new_context();
    CHECK(EVP_DecryptInit_ex(
              context.get(), EVP_aes_256_cbc(), nullptr, raw(key.data()), raw(iv.data())) == 1);
    SecretBytes plain(sealed.size() + kBlockBytes);
    const std::size_t size = feed(EVP_DecryptUpdate, context.get(), plain.data(), sealed);
    int more = 0;
    if (EVP_DecryptFinal_ex(context.get(), raw(plain.data() + size), &more) != 1) {
        return std::nullopt;
    }
    plain.resize(size + static_cast<std::size_t>(more));
    return plain;
}

}  // namespace wallet::cipher
