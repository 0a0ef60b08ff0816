#include "transport/tcp/tls.hpp"

#include "base/check.hpp"
#include "base/crypto/secret.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <cstring>

namespace transport::tcp {

namespace {

constexpr long kCertificateBytesMax = 8192;

// Only the form is judged here. That the peer holds the key is proved by TLS itself, and whether
// the key may connect is asked after the handshake, when a reason can be told.
int verify_certificate(X509_STORE_CTX* store, void* /*unused*/) {
    X509* certificate = X509_STORE_CTX_get0_cert(store);
    if (certificate != nullptr && key_of(*certificate)) return 1;
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_UNTRUSTED);
    return 0;
}

}  // namespace

// OpenSSL's view of a session's two queues.
struct TlsBio {
    static TlsSession& session_of(BIO* bio) { return *static_cast<TlsSession*>(BIO_get_data(bio)); }

    static int read(BIO* bio, char* out, std::size_t size, std::size_t* count) {
        base::ByteView& inbound = session_of(bio).inbound_;
        BIO_clear_retry_flags(bio);
        if (inbound.empty()) {
            BIO_set_retry_read(bio);
            return 0;
        }
        *count = std::min(size, inbound.size());
        std::memcpy(out, inbound.data(), *count);
        inbound = inbound.subspan(*count);
        return 1;
    }

    static int write(BIO* bio, const char* bytes, std::size_t size, std::size_t* count) {
        BIO_clear_retry_flags(bio);
        session_of(bio).outbound_.append(base::as_bytes({bytes, size}));
        *count = size;
        return 1;
    }

    static long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
        return command == BIO_CTRL_FLUSH ? 1 : 0;
    }

    // Made once, for all sessions.
    static const BIO_METHOD* method() {
        static const BIO_METHOD* const kMethod = [] {
            BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "queues");
            CHECK(made != nullptr);
            BIO_meth_set_read_ex(made, read);
            BIO_meth_set_write_ex(made, write);
            BIO_meth_set_ctrl(made, control);
            return made;
        }();
        return kMethod;
    }
};

TlsContext::TlsContext(const base::crypto::PrivateKey& node_key)
    : context_(SSL_CTX_new(TLS_method())) {
    SSL_CTX* context = context_.get();
    CHECK(context != nullptr);
    const auto key = make_openssl_key(node_key);
    const auto certificate = make_certificate(*key);
    CHECK(SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1);
    CHECK(SSL_CTX_set_ciphersuites(context,
                                   "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256") == 1);
    CHECK(SSL_CTX_set1_groups_list(context, "X25519:P-256") == 1);
    CHECK(SSL_CTX_set1_sigalgs_list(context, "ECDSA+SHA256") == 1);
    CHECK(SSL_CTX_use_certificate(context, certificate.get()) == 1);
    CHECK(SSL_CTX_use_PrivateKey(context, key.get()) == 1);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    SSL_CTX_set_cert_verify_callback(context, verify_certificate, nullptr);
    SSL_CTX_set_max_cert_list(context, kCertificateBytesMax);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
}

TlsSession::TlsSession(const TlsContext& context, Role role) : session_(SSL_new(context.get())) {
    CHECK(session_ != nullptr);
    BIO* bio = BIO_new(TlsBio::method());
    CHECK(bio != nullptr);
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(session_.get(), bio, bio);  // Takes it.
    if (role == Role::client) {
        SSL_set_connect_state(session_.get());
    } else {
        SSL_set_accept_state(session_.get());
    }
}

TlsSession::~TlsSession() = default;

base::Result<bool> TlsSession::handshake() {
    ERR_clear_error();
    const int done = SSL_do_handshake(session_.get());
    base::crypto::wipe_stack();  // Our key may have signed.
    if (done == 1) return true;
    const int error = SSL_get_error(session_.get(), done);
    if (error == SSL_ERROR_WANT_READ) return false;
    return base::fail(base::Errc::invalid, "TLS handshake: " + openssl_error());
}

base::Result<std::size_t> TlsSession::read(std::span<std::byte> out) {
    std::size_t count = 0;
    ERR_clear_error();
    if (SSL_read_ex(session_.get(), out.data(), out.size(), &count) == 1) return count;
    switch (SSL_get_error(session_.get(), 0)) {
        case SSL_ERROR_WANT_READ:
            return std::size_t{0};
        case SSL_ERROR_ZERO_RETURN:
            return base::fail(base::Errc::unavailable, "the peer has shut its TLS session");
        default:
            return base::fail(base::Errc::invalid, "TLS: " + openssl_error());
    }
}

void TlsSession::write(base::ByteView plaintext) {
    std::size_t count = 0;
    // The queue takes everything, so a write never waits; it fails only after a fatal alert, and
    // then the next read says so.
    if (SSL_write_ex(session_.get(), plaintext.data(), plaintext.size(), &count) != 1) {
        ERR_clear_error();
    }
}

void TlsSession::shut() {
    SSL_shutdown(session_.get());
    ERR_clear_error();
}

base::Result<PeerKey> TlsSession::peer_key() const {
    X509* certificate = SSL_get0_peer_certificate(session_.get());
    if (certificate == nullptr) {
        return base::fail(base::Errc::invalid, "the peer sent no certificate");
    }
    return key_of(*certificate);
}

base::Hash256 TlsSession::exporter(std::string_view label, base::ByteView context) const {
    base::Hash256 out;
    CHECK(SSL_export_keying_material(session_.get(),
                                     reinterpret_cast<unsigned char*>(out.bytes.data()),
                                     out.bytes.size(),
                                     label.data(),
                                     label.size(),
                                     reinterpret_cast<const unsigned char*>(context.data()),
                                     context.size(),
                                     context.empty() ? 0 : 1) == 1);
    return out;
}

}  // namespace transport::tcp
