// TLS: versions, certificates of clients, records through it, and what is refused.
#include "base/crypto/hash.hpp"
#include "tests/node/bps/server/served.hpp"

#include <openssl/evp.h>
#include <openssl/rsa.h>

namespace {

using namespace tests;  // NOLINT(google-build-using-namespace)

std::string refusal_of(bps::ListenerOptions options) {
    Files files;
    LogLines log;
    boost::asio::io_context context;
    bps::KafkaListener listener(context, std::move(options), files, base::Log(log, "kafka"));
    const auto started = listener.start();
    return started ? "" : started.error().detail;
}

}  // namespace

TEST_CASE("TLS 1.2 and 1.3 are spoken, older ones are not", "[bps][server][tls]") {
    const CertificateFiles certificate;
    Served served(certificate.options());
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        TlsClient client(served, version);
        REQUIRE(client.is_connected);
        for (int i = 0; i < 3; ++i) {
            const std::string body(1 + 40'000 * static_cast<std::size_t>(i), 'x');
            client.write(request(body) + request("next"));
            CHECK(client.answer() == body);
            CHECK(client.answer() == "next");
        }
        const bps::ClientPeer peer = served.peers().rbegin()->second;
        CHECK(peer.is_tls);
        CHECK(peer.is_loopback);
        CHECK_FALSE(peer.certificate);
    }
    CHECK_FALSE(TlsClient(served, TLS1_1_VERSION).is_connected);
    Client clear(served);
    clear.write(request("in clear"));
    while (!clear.read(1).empty()) {
    }  // An alert, then the end.
    CHECK(served.asked() == 12);
}

TEST_CASE("a client's P-256 key is known by its hash, others are not", "[bps][server][tls]") {
    const CertificateFiles certificate;
    Served served(certificate.options());
    const auto key = base::crypto::PrivateKey::generate(base::crypto::KeyType::r1);
    const auto openssl_key = tcp::make_openssl_key(key);
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        TlsClient client(served, version, openssl_key.get());
        client.write(request("one"));
        CHECK(client.answer() == "one");
        CHECK(served.peers().rbegin()->second.certificate ==
              base::crypto::sha256(key.public_key().point));
    }
    const tcp::OpensslPtr<EVP_PKEY> rsa(EVP_RSA_gen(2'048));
    TlsClient other(served, TLS1_3_VERSION, rsa.get());
    other.write(request("one"));
    CHECK(other.answer() == "one");
    CHECK_FALSE(served.peers().rbegin()->second.certificate);
}

TEST_CASE("records go through TLS as they are in the file", "[bps][server][tls]") {
    const CertificateFiles certificate;
    Served served(certificate.options());
    std::string content(std::size_t{4} << 20, '\0');
    for (std::size_t i = 0; i < content.size(); ++i)
        content[i] = static_cast<char>(i * 31 >> 7);
    served.files.write(7, content);
    served.on_ask = [&](const bps::RequestId& id, const bps::Frame& /*frame*/) {
        bps::ResponseFrame frame = response(std::string(content.size() + 2, 'x'));
        frame.bytes.resize(4 + 2);
        frame.splices = {
            {.at = 5, .records = {.log = 7, .bytes = static_cast<std::uint32_t>(content.size())}}};
        served.listener().send({.id = id, .response = std::move(frame), .close_reason = {}});
    };
    TlsClient client(served);
    for (int i = 0; i < 3; ++i)
        client.write(request("fetch"));
    std::this_thread::sleep_for(200ms);  // So that the socket is full in the middle of a record.
    for (int i = 0; i < 3; ++i)
        CHECK(client.answer() == "x" + content + "x");
}

TEST_CASE("a short request behind a long one is read through TLS, too", "[bps][server][tls]") {
    const CertificateFiles certificate;
    Served served(certificate.options());
    TlsClient client(served);
    check_long_then_short(client);
}

TEST_CASE("updates of keys are read one at a time", "[bps][server][tls]") {
    const CertificateFiles certificate;
    const auto tls = bps::ServerTls::load(certificate.certificate, certificate.key_file);
    REQUIRE(tls);
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    const auto stream = bps::make_tls_stream(**tls, ends[0]);
    std::thread client([&] {
        const tcp::OpensslPtr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
        const tcp::OpensslPtr<SSL> session(SSL_new(context.get()));
        SSL_set_fd(session.get(), ends[1]);
        SSL_connect(session.get());
        for (int i = 0; i < 100; ++i) {
            SSL_key_update(session.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
            SSL_do_handshake(session.get());
        }
        SSL_write(session.get(), "x", 1);
    });
    while (stream->handshake().kind == bps::Transfer::Kind::wait_read)
        std::this_thread::sleep_for(1ms);
    client.join();
    std::array<std::byte, 10> out{};
    int waits = 0;
    bps::Transfer transfer = stream->read(out, {});
    for (; transfer.kind == bps::Transfer::Kind::wait_read; ++waits)
        transfer = stream->read(out, {});
    CHECK(transfer.bytes == 1);
    CHECK(waits >= 100);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_CASE("a handshake that does not end is closed in time", "[bps][server][tls]") {
    const CertificateFiles certificate;
    bps::ListenerOptions options = certificate.options();
    options.login_time = 200ms;
    Served served(std::move(options));
    Client client(served);
    client.write("\x16\x03\x01");
    CHECK(client.is_ended());
    CHECK(served.opened() == 0);
    CHECK(served.closed() == 0);
}

TEST_CASE("the last answer arrives through TLS, too", "[bps][server][tls]") {
    const CertificateFiles certificate;
    Served served(certificate.options());
    served.on_ask = [&](const bps::RequestId& id, const bps::Frame& /*frame*/) {
        served.listener().send(
            {.id = id, .response = response("refused"), .close_reason = "wrong login"});
    };
    TlsClient client(served);
    client.write(request("one") + request("two"));
    CHECK(client.answer() == "refused");
    CHECK(client.is_ended());
}

TEST_CASE("a client of TLS is told that the broker ends the connection", "[bps][server][tls]") {
    const CertificateFiles certificate;
    Served served(certificate.options());
    TlsClient client(served);
    client.write(request("one"));
    CHECK(client.answer() == "one");
    const std::uint64_t id = served.peers().begin()->first;
    served.as_broker([&] { served.listener().close(id, "token revoked"); });
    CHECK(client.is_ended());
    CHECK(client.was_told());
}

TEST_CASE("what cannot be served is refused at the start", "[bps][server][tls]") {
    const CertificateFiles certificate;
    const CertificateFiles other;
    CHECK(refusal_of({.listen = {{.address = "0.0.0.0:0"}}}) ==
          "Kafka clients on 0.0.0.0:0 would send tokens in clear: give bps-tls-cert and "
          "bps-tls-key, or listen on 127.0.0.1");
    CHECK(refusal_of({.listen = {{.address = "0.0.0.0:0", .is_tls = true}},
                      .certificate_file = certificate.certificate,
                      .key_file = certificate.key_file})
              .empty());
    CHECK(refusal_of({.listen = {{.address = "nonsense"}}}).find("host:port") != std::string::npos);
    bps::ListenerOptions options = certificate.options();
    options.certificate_file = "/nonexistent";
    CHECK(refusal_of(options) ==
          "bps-tls-cert = /nonexistent cannot be used: No such file or directory");
    options = certificate.options();
    options.key_file = other.key_file;
    CHECK(refusal_of(options).starts_with("bps-tls-key = " + other.key_file));
    options.key_file = certificate.certificate;
    CHECK(refusal_of(options).starts_with("bps-tls-key = "));
    const Served served;
    CHECK(refusal_of({.listen = {{.address = "127.0.0.1:" + std::to_string(served.port())}}})
              .starts_with("cannot listen on "));
}

TEST_CASE("a key with a password is refused and nobody is asked for it", "[bps][server][tls]") {
    const CertificateFiles certificate;
    const auto key = tcp::make_openssl_key(certificate.key);
    unsigned char password[] = "secret";
    PEM_write_PrivateKey(open_to_write(certificate.key_file).get(),
                         key.get(),
                         EVP_aes_256_cbc(),
                         password,
                         6,
                         nullptr,
                         nullptr);
    CHECK(refusal_of(certificate.options()).starts_with("bps-tls-key = "));
}
