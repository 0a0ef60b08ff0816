#include "transport/tcp/certificate.hpp"

#include "base/check.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/x509.h>

#include <array>
#include <cstring>

namespace transport::tcp {

namespace {

constexpr const char* kCurve = "prime256v1";
constexpr std::size_t kUncompressedPointBytes = 65;

struct BuildFree {
    void operator()(BIGNUM* number) const { BN_clear_free(number); }
    void operator()(OSSL_PARAM_BLD* build) const { OSSL_PARAM_BLD_free(build); }
    void operator()(OSSL_PARAM* params) const { OSSL_PARAM_free(params); }
    void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};
template <class T>
using BuildPtr = std::unique_ptr<T, BuildFree>;

void set_name(X509_NAME* name, const char* field, const char* value) {
    CHECK(
        X509_NAME_add_entry_by_txt(
            name, field, MBSTRING_ASC, reinterpret_cast<const unsigned char*>(value), -1, -1, 0) ==
        1);
}

}  // namespace

OpensslPtr<EVP_PKEY> make_openssl_key(const base::crypto::PrivateKey& key) {
    CHECK(key.type() == base::crypto::KeyType::r1);
    const BuildPtr<BIGNUM> secret(
        BN_bin2bn(reinterpret_cast<const unsigned char*>(key.secret().data()),
                  static_cast<int>(key.secret().size()),
                  BN_secure_new()));
    const auto point = key.public_key().point;
    const BuildPtr<OSSL_PARAM_BLD> build(OSSL_PARAM_BLD_new());
    CHECK(secret != nullptr && build != nullptr);
    BN_set_flags(secret.get(), BN_FLG_CONSTTIME);
    CHECK(OSSL_PARAM_BLD_push_utf8_string(build.get(), OSSL_PKEY_PARAM_GROUP_NAME, kCurve, 0) == 1);
    CHECK(OSSL_PARAM_BLD_push_octet_string(
              build.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) == 1);
    CHECK(OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_PRIV_KEY, secret.get()) == 1);
    const BuildPtr<OSSL_PARAM> params(OSSL_PARAM_BLD_to_param(build.get()));
    const BuildPtr<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
    EVP_PKEY* out = nullptr;
    CHECK(context != nullptr && EVP_PKEY_fromdata_init(context.get()) == 1);
    CHECK(EVP_PKEY_fromdata(context.get(), &out, EVP_PKEY_KEYPAIR, params.get()) == 1);
    return OpensslPtr<EVP_PKEY>(out);
}

OpensslPtr<X509> make_certificate(EVP_PKEY& key) {
    OpensslPtr<X509> out(X509_new());
    CHECK(out != nullptr);
    CHECK(X509_set_version(out.get(), 2) == 1);
    CHECK(ASN1_INTEGER_set(X509_get_serialNumber(out.get()), 1) == 1);
    CHECK(ASN1_TIME_set_string(X509_getm_notBefore(out.get()), "20200101000000Z") == 1);
    CHECK(ASN1_TIME_set_string(X509_getm_notAfter(out.get()), "99991231235959Z") == 1);
    X509_NAME* name = X509_get_subject_name(out.get());
    set_name(name, "CN", "BoR node");
    CHECK(X509_set_issuer_name(out.get(), name) == 1);
    CHECK(X509_set_pubkey(out.get(), &key) == 1);
    CHECK(X509_sign(out.get(), &key, EVP_sha256()) > 0);
    return out;
}

base::Result<PeerKey> key_of(X509& certificate) {
    EVP_PKEY* key = X509_get0_pubkey(&certificate);
    std::array<char, 32> curve{};
    std::array<unsigned char, kUncompressedPointBytes> point{};
    std::size_t size = 0;
    const bool is_p256 = key != nullptr && EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
                         EVP_PKEY_get_group_name(key, curve.data(), curve.size(), nullptr) == 1 &&
                         std::strcmp(curve.data(), kCurve) == 0 &&
                         EVP_PKEY_get_octet_string_param(
                             key, OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size(), &size) == 1;
    // The length depends on the form that the certificate used.
    if (!is_p256 || (size != kUncompressedPointBytes && size != PeerKey{}.point.size())) {
        ERR_clear_error();
        return base::fail(base::Errc::invalid, "the certificate's key is not a P-256 key");
    }
    PeerKey out;
    out.type = base::crypto::KeyType::r1;
    const bool is_odd = (point[kUncompressedPointBytes - 1] & 1U) != 0;
    if (size == kUncompressedPointBytes) point[0] = is_odd ? 3 : 2;
    std::memcpy(out.point.data(), point.data(), out.point.size());
    return out;
}

std::string openssl_error() {
    const unsigned long code = ERR_get_error();
    ERR_clear_error();
    if (code == 0) return "no reason given";
    const char* reason = ERR_reason_error_string(code);
    return reason != nullptr ? reason : "error " + std::to_string(code);
}

}  // namespace transport::tcp
