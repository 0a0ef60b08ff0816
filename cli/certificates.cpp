#include "cli/certificates.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace cli {

namespace {

constexpr long kDays = 3'650;
constexpr long kDaySeconds = 86'400;
constexpr std::size_t kHostBytesMax = 253;  // RFC 1035, 2.3.4.

struct OpensslFree {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
    void operator()(BIO* bio) const { BIO_free(bio); }
    void operator()(BIGNUM* number) const { BN_free(number); }
};
template <class T>
using OpensslPtr = std::unique_ptr<T, OpensslFree>;

tl::unexpected<base::Error> failed(const char* what) {
    const char* const reason = ERR_reason_error_string(ERR_get_error());
    ERR_clear_error();
    return base::fail(base::Errc::unavailable,
                      fmt::format("{}: {}", what, reason != nullptr ? reason : "no reason given"));
}

bool is_address(const std::string& host) {
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// What two certificates have in common: a name, ten years, a number that no other has.
OpensslPtr<X509> begin(EVP_PKEY& key, const char* name) {
    OpensslPtr<X509> made(X509_new());
    std::array<unsigned char, 16> number{};
    if (made == nullptr || RAND_bytes(number.data(), number.size()) != 1) return nullptr;
    number[0] &= 0x7FU;  // A serial number is above zero (RFC 5280, 4.1.2.2).
    const OpensslPtr<BIGNUM> serial(BN_bin2bn(number.data(), number.size(), nullptr));
    const bool is_numbered =
        serial != nullptr &&
        BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(made.get())) != nullptr;
    const auto* const text = reinterpret_cast<const unsigned char*>(name);
    const bool is_good =
        is_numbered && X509_set_version(made.get(), X509_VERSION_3) == 1 &&
        X509_NAME_add_entry_by_txt(
            X509_get_subject_name(made.get()), "CN", MBSTRING_ASC, text, -1, -1, 0) == 1 &&
        // A client's clock may be behind.
        X509_gmtime_adj(X509_getm_notBefore(made.get()), -kDaySeconds) != nullptr &&
        X509_gmtime_adj(X509_getm_notAfter(made.get()), kDays * kDaySeconds) != nullptr &&
        X509_set_pubkey(made.get(), &key) == 1;
    return is_good ? std::move(made) : nullptr;
}

using Extension = std::pair<int, std::string>;

bool sign(X509& made,
          const std::vector<Extension>& extensions,
          X509& issuer,
          EVP_PKEY& issuer_key) {
    if (X509_set_issuer_name(&made, X509_get_subject_name(&issuer)) != 1) return false;
    X509V3_CTX context;
    X509V3_set_ctx(&context, &issuer, &made, nullptr, nullptr, 0);
    for (const auto& [id, value] : extensions) {
        const OpensslPtr<X509_EXTENSION> each(
            X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()));
        if (each == nullptr || X509_add_ext(&made, each.get(), -1) != 1) return false;
    }
    return X509_sign(&made, &issuer_key, EVP_sha256()) > 0;
}

struct KeyAndCertificate {
    OpensslPtr<EVP_PKEY> key;
    OpensslPtr<X509> certificate;
};

// Signed by the issuer; null: by itself.
base::Result<KeyAndCertificate> make(const char* name,
                                     const std::vector<Extension>& extensions,
                                     const KeyAndCertificate* issuer) {
    KeyAndCertificate made{.key = OpensslPtr<EVP_PKEY>(EVP_EC_gen("P-256")), .certificate = {}};
    if (made.key == nullptr) return failed("no key was made");
    made.certificate = begin(*made.key, name);
    const KeyAndCertificate& by = issuer == nullptr ? made : *issuer;
    if (made.certificate == nullptr ||
        !sign(*made.certificate, extensions, *by.certificate, *by.key)) {
        return failed("a certificate was not made");
    }
    return made;
}

std::string contents_of(BIO& bio) {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(&bio, &bytes);
    return {bytes, static_cast<std::size_t>(std::max(size, 0L))};
}

base::Result<Certified> to_pem(X509& certificate, EVP_PKEY& key) {
    const OpensslPtr<BIO> shown(BIO_new(BIO_s_mem()));
    const OpensslPtr<BIO> secret(BIO_new(BIO_s_secmem()));
    const bool is_written =
        shown != nullptr && secret != nullptr && PEM_write_bio_X509(shown.get(), &certificate) &&
        PEM_write_bio_PrivateKey(secret.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) == 1;
    if (!is_written) return failed("a certificate was not written");
    return Certified{.certificate = contents_of(*shown), .key = contents_of(*secret)};
}

}  // namespace

bool is_host(const std::string& host) {
    if (is_address(host)) return true;
    const bool is_letters = std::ranges::all_of(host, [](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
               (letter >= '0' && letter <= '9') || letter == '-' || letter == '.';
    });
    return is_letters && !host.empty() && host.size() <= kHostBytesMax && host.front() != '.' &&
           host.front() != '-';
}

base::Result<BrokerCertificates> make_broker_certificates(const std::vector<std::string>& hosts) {
    std::string names;
    for (const std::string& host : hosts) {
        if (!is_host(host)) {
            return base::fail(base::Errc::invalid,
                              fmt::format("'{}' is neither an address nor a name of a host", host));
        }
        names +=
            fmt::format("{}{}:{}", names.empty() ? "" : ",", is_address(host) ? "IP" : "DNS", host);
    }
    const auto authority = make("BoR network",
                                {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                 {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                 {NID_subject_key_identifier, "hash"}},
                                nullptr);
    if (!authority) return base::fail(authority.error());
    const auto broker = make("BoR broker",
                             {{NID_basic_constraints, "critical,CA:FALSE"},
                              {NID_key_usage, "critical,digitalSignature"},
                              {NID_ext_key_usage, "serverAuth"},
                              {NID_authority_key_identifier, "keyid"},
                              {NID_subject_alt_name, names}},
                             &*authority);
    if (!broker) return base::fail(broker.error());
    auto first = to_pem(*authority->certificate, *authority->key);
    if (!first) return base::fail(first.error());
    auto second = to_pem(*broker->certificate, *broker->key);
    if (!second) return base::fail(second.error());
    return BrokerCertificates{.authority = *std::move(first), .broker = *std::move(second)};
}

}  // namespace cli
