#include "node/bps/server/tls.hpp"

#include "base/check.hpp"
#include "base/crypto/hash.hpp"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <cerrno>
#include <system_error>
#include <unistd.h>

namespace bps {

namespace {

using transport::tcp::openssl_error;

constexpr long kCertificateBytesMax = 16'384;

// TLS itself proves that the client holds the key; whom it stands for is asked later.
int accept_certificate(X509_STORE_CTX* /*store*/, void* /*unused*/) {
    return 1;
}

// Nobody is there to type one.
int no_password(char* /*out*/, int /*size*/, int /*writing*/, void* /*unused*/) {
    return -1;
}

tl::unexpected<base::Error> unusable(std::string_view option, const std::string& file) {
    const bool is_readable = ::access(file.c_str(), R_OK) == 0;
    const std::string why = is_readable ? openssl_error() : std::generic_category().message(errno);
    return base::fail(base::Errc::invalid,
                      std::string(option) + " = " + file + " cannot be used: " + why);
}

}  // namespace

ServerTls::ServerTls() : context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX* context = context_.get();
    CHECK(context != nullptr);
    CHECK(SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1);
    CHECK(SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1);
    // The others cost the server milliseconds, as often as clients like.
    CHECK(SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384:P-521") == 1);
    SSL_CTX_set_default_passwd_cb(context, no_password);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_cert_verify_callback(context, accept_certificate, nullptr);
    SSL_CTX_set_max_cert_list(context, kCertificateBytesMax);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
    // Passwords may be in what is read: OpenSSL wipes what it keeps of it.
    SSL_CTX_set_options(context,
                        SSL_OP_CLEANSE_PLAINTEXT | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
                            SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                            SSL_OP_PRIORITIZE_CHACHA);
    // Idle connections keep no buffers; a record is written as far as the socket takes it.
    SSL_CTX_set_mode(context,
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                         SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // A client's updates of its keys are read one in a call, so that others have their turn
    // between.
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
}

base::Result<std::unique_ptr<ServerTls>> ServerTls::load(const std::string& certificate_file,
                                                         const std::string& key_file) {
    std::unique_ptr<ServerTls> made(new ServerTls());  // Its constructor is private.
    SSL_CTX* context = made->context();
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
        return unusable("bps-tls-cert", certificate_file);
    }
    if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1) {
        return unusable("bps-tls-key", key_file);
    }
    return made;
}

std::optional<base::Hash256> client_key_of(const SSL& session) {
    X509* certificate = SSL_get0_peer_certificate(&session);
    if (certificate == nullptr) return std::nullopt;
    const auto key = transport::tcp::key_of(*certificate);
    if (!key) return std::nullopt;
    return base::crypto::sha256(key->point);
}

}  // namespace bps
