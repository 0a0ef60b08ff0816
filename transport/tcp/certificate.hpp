#pragma once

#include "base/crypto/keys.hpp"
#include "base/result.hpp"
#include "transport/types.hpp"

#include <openssl/ssl.h>

#include <memory>

namespace transport::tcp {

// OpenSSL's objects, freed as they want to be.
struct OpensslFree {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* session) const { SSL_free(session); }
};
template <class T>
using OpensslPtr = std::unique_ptr<T, OpensslFree>;

// OpenSSL's form of a P-256 private key. The key must be R1.
[[nodiscard]] OpensslPtr<EVP_PKEY> make_openssl_key(const base::crypto::PrivateKey& key);

// A self-signed certificate: only the container in which TLS carries the node key. Who may
// connect is decided by key, so it says nothing else and never expires.
[[nodiscard]] OpensslPtr<X509> make_certificate(EVP_PKEY& key);

// The node key in a certificate. invalid: the key is not on P-256; nothing else is looked at.
[[nodiscard]] base::Result<PeerKey> key_of(X509& certificate);

// What OpenSSL last complained of on this thread, in its words.
[[nodiscard]] std::string openssl_error();

}  // namespace transport::tcp
