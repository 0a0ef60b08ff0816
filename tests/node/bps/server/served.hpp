#pragma once

#include "node/bps/server/kafka_listener.hpp"
#include "tests/support/temporary_directory.hpp"

#include <arpa/inet.h>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

// A listener on loopback whose broker's thread does as a test says, and clients that write chosen
// bytes.
namespace tests {

using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace tcp = transport::tcp;

// Whether `happens` becomes true; asks until it does, for a minute at most.
template <class Condition>
bool soon(Condition happens) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!happens()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(2ms);
    }
    return true;
}

class LogLines : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level /*level*/) const override { return true; }
    void write(base::Level /*level*/, std::string_view, std::string_view line) override {
        const std::scoped_lock lock(mutex_);
        text_ += std::string(line) + "\n";
        ++lines_;
    }
    [[nodiscard]] int lines() const {
        const std::scoped_lock lock(mutex_);
        return lines_;
    }
    // Waits: a client may see its end before the line is written.
    [[nodiscard]] bool has(std::string_view text) const {
        return soon([&] { return has_now(text); });
    }
    [[nodiscard]] bool has_now(std::string_view text) const {
        const std::scoped_lock lock(mutex_);
        return text_.find(text) != std::string::npos;
    }

  private:
    mutable std::mutex mutex_;
    std::string text_;
    int lines_ = 0;
};

// Segments in a directory; a log's number is its file's name.
class Files final : public bps::RecordFiles {
  public:
    base::Result<std::shared_ptr<const bps::RecordFile>> open(
        const bps::StoredRecords& records) override {
        const int descriptor = ::open(path(records.log).c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor < 0) return base::fail(base::Errc::not_found, "no such segment");
        const std::shared_ptr<const void> owner(
            nullptr, [descriptor](const void* /*none*/) { ::close(descriptor); });
        return std::make_shared<const bps::RecordFile>(descriptor, owner);
    }
    [[nodiscard]] std::string path(std::uint64_t log) const {
        return directory_ / std::to_string(log);
    }
    void write(std::uint64_t log, const std::string& bytes) const {
        std::ofstream(path(log), std::ios::binary) << bytes;
    }

  private:
    TemporaryDirectory directory_;
};

inline std::string text_of(bps::Frame& frame) {
    return std::string(base::as_text(frame.view()));
}

inline std::string framed(const std::string& body) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8)
        text += static_cast<char>(body.size() >> shift & 0xFFU);
    return text + body;
}

// As long as a request's header at least.
inline std::string request(const std::string& body) {
    return framed(std::string("\0\3\0\0\0\0\0\1", 8) + body);
}

inline bps::ResponseFrame response(const std::string& body) {
    return {.bytes = base::to_bytes(base::as_bytes(framed(body))), .splices = {}};
}

// Runs a listener on the broker's thread until the end of the test. By default who connects is
// of tenant 1, and each request is answered with what it says.
class Served : public bps::KafkaListener::Handler {
  public:
    explicit Served(bps::ListenerOptions options = {}) {
        if (options.listen.empty()) options.listen.push_back({.address = "127.0.0.1:0"});
        std::signal(SIGPIPE, SIG_IGN);
        listener_.emplace(context_, std::move(options), files, base::Log(log, "kafka"));
        if (const auto started = listener_->start(); !started) FAIL(started.error().detail);
        thread_ = std::thread([this] { run(); });
    }
    // NOLINTNEXTLINE(bugprone-exception-escape): no memory to stop ends the test.
    ~Served() override {
        finish();
        held.clear();
        CHECK(faults_ == 0);  // Here, since Catch2 counts on one thread only.
    }
    // Stops the listener, then the broker's thread.
    void finish(std::chrono::milliseconds grace = 0ms) {
        if (!thread_.joinable()) return;
        asio::post(context_, [this, grace] { listener_->stop(grace); });
        thread_.join();
    }

    void on_open(std::uint64_t connection, const bps::ClientPeer& peer) override {
        const std::scoped_lock lock(mutex_);
        peers_[connection] = peer;
        ++opened_;
        if (admits) listener_->admit(connection, tenant);
    }
    void on_request(const bps::RequestId& id, bps::Frame frame) override {
        {
            const std::scoped_lock lock(mutex_);
            // In the order in which they came, on a connection that is open.
            const bool is_next = id.number == ++numbers_[id.connection];
            if (!is_next || !peers_.contains(id.connection)) ++faults_;
            ++asked_;
        }
        if (on_ask) return on_ask(id, std::move(frame));
        say(id, text_of(frame).substr(8));
    }
    void on_closed(std::uint64_t connection) override {
        const std::scoped_lock lock(mutex_);
        if (peers_.erase(connection) != 1) ++faults_;
        ++closed_;
    }
    void say(const bps::RequestId& id, const std::string& body) {
        listener_->send({.id = id, .response = response(body), .close_reason = {}});
    }
    // Does this on the broker's thread, and waits until it is done.
    void as_broker(const std::function<void()>& what) {
        std::promise<void> done;
        asio::post(context_, [&] {
            what();
            listener_->write_answers();
            done.set_value();
        });
        REQUIRE(done.get_future().wait_for(60s) == std::future_status::ready);
    }

    [[nodiscard]] bps::KafkaListener& listener() { return *listener_; }
    [[nodiscard]] int asked() const { return locked(asked_); }
    [[nodiscard]] int opened() const { return locked(opened_); }
    [[nodiscard]] int closed() const { return locked(closed_); }
    [[nodiscard]] std::map<std::uint64_t, bps::ClientPeer> peers() const { return locked(peers_); }
    [[nodiscard]] std::uint16_t port(std::size_t index = 0) const {
        const std::string& address = listener_->addresses()[index];
        return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    }

    // Set before a client connects.
    bool admits = true;
    bps::Tenant tenant = 1;
    std::function<void(const bps::RequestId&, bps::Frame)> on_ask;
    // Of the broker's thread.
    std::deque<std::pair<bps::RequestId, bps::Frame>> held;

    LogLines log;
    Files files;

  private:
    template <class T>
    T locked(const T& value) const {
        const std::scoped_lock lock(mutex_);
        return value;
    }
    void run() {
        while (!listener_->has_ended()) {
            if (!listener_->has_more()) context_.run_one();
            context_.poll();
            listener_->deliver(*this);
            listener_->write_answers();
        }
        listener_->deliver(*this);
    }

    boost::asio::io_context context_;
    std::optional<bps::KafkaListener> listener_;
    mutable std::mutex mutex_;
    std::map<std::uint64_t, bps::ClientPeer> peers_;
    std::map<std::uint64_t, std::uint64_t> numbers_;
    int asked_ = 0;
    int opened_ = 0;
    int closed_ = 0;
    int faults_ = 0;  // Of the order in which things are delivered.
    std::thread thread_;
};

// A blocking client. Reads and writes give up after a minute.
class Client : base::Pinned {
  public:
    explicit Client(std::uint16_t port) : Client(Tried{}, port) { CHECK(is_connected_); }
    // Where nobody may listen any more: then it is ended.
    struct Tried {};
    Client(Tried /*tag*/, std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        const timeval limit{60, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        is_connected_ =
            ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    }
    explicit Client(const Served& served) : Client(served.port()) {}
    virtual ~Client() { ::close(socket_); }

    // How much was taken before the other side ended.
    virtual std::size_t send_some(const char* bytes, std::size_t size) {
        const ssize_t count = ::send(socket_, bytes, size, MSG_NOSIGNAL);
        return count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    virtual std::size_t receive_some(char* out, std::size_t size) {
        const ssize_t count = ::recv(socket_, out, size, 0);
        return count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    void write(const std::string& bytes) {
        for (std::size_t at = 0; at < bytes.size();) {
            const std::size_t count = send_some(bytes.data() + at, bytes.size() - at);
            if (count == 0) return;  // The other side has ended, which a read shows.
            at += count;
        }
    }
    // Shorter than asked for where the other side ended.
    std::string read(std::size_t size) {
        std::string bytes(size, '\0');
        std::size_t at = 0;
        while (at < size) {
            const std::size_t count = receive_some(bytes.data() + at, size - at);
            if (count == 0) break;
            at += count;
        }
        bytes.resize(at);
        return bytes;
    }
    // The body of the next answer; nothing: the other side ended.
    std::optional<std::string> answer() {
        const std::string length = read(4);
        if (length.size() < 4) return std::nullopt;
        std::size_t size = 0;
        for (const char byte : length)
            size = size << 8U | static_cast<unsigned char>(byte);
        std::string body = read(size);
        if (body.size() < size) return std::nullopt;
        return body;
    }
    // Whether the other side ended without another byte; waits for it.
    bool is_ended() { return !is_connected_ || read(1).empty(); }
    [[nodiscard]] int socket() const { return socket_; }

  private:
    int socket_;
    bool is_connected_ = false;
};

// In parts, so that the broker waits for the rest of it, then for another one.
inline void check_long_then_short(Client& client) {
    client.write(request("short"));  // It is logged in once this is answered.
    CHECK(client.answer() == "short");
    const std::string body(300'000, 'x');
    const std::string all = request(body);
    const std::array<std::size_t, 4> ends = {100'000, 290'000, all.size() - 1, all.size()};
    std::size_t at = 0;
    for (const std::size_t end : ends) {
        client.write(all.substr(at, end - at));
        std::this_thread::sleep_for(20ms);
        at = end;
    }
    CHECK(client.answer() == body);
    client.write(request("short"));
    CHECK(client.answer() == "short");
}

inline auto open_to_write(const std::string& path) {
    return std::unique_ptr<std::FILE, int (*)(std::FILE*)>(std::fopen(path.c_str(), "w"),
                                                           &std::fclose);
}

// Files of a certificate and a key of P-256 that are made for the test.
struct CertificateFiles {
    CertificateFiles() {
        const auto openssl_key = tcp::make_openssl_key(key);
        const auto made = tcp::make_certificate(*openssl_key);
        PEM_write_X509(open_to_write(certificate).get(), made.get());
        PEM_write_PrivateKey(open_to_write(key_file).get(),
                             openssl_key.get(),
                             nullptr,
                             nullptr,
                             0,
                             nullptr,
                             nullptr);
    }
    [[nodiscard]] bps::ListenerOptions options() const {
        bps::ListenerOptions made;
        made.listen.push_back({.address = "127.0.0.1:0", .is_tls = true});
        made.certificate_file = certificate;
        made.key_file = key_file;
        return made;
    }

    TemporaryDirectory directory;
    std::string certificate = directory / "cert.pem";
    std::string key_file = directory / "key.pem";
    base::crypto::PrivateKey key = base::crypto::PrivateKey::generate(base::crypto::KeyType::r1);
};

// A client with TLS of one version, and with a certificate where it has a key.
class TlsClient final : public Client {
  public:
    explicit TlsClient(const Served& served, int version = TLS1_3_VERSION, EVP_PKEY* key = nullptr)
        : Client(served), context_(SSL_CTX_new(TLS_client_method())) {
        static const auto kIgnored = std::signal(SIGPIPE, SIG_IGN);  // OpenSSL's writes.
        (void)kIgnored;
        SSL_CTX_set_security_level(context_.get(), 0);
        SSL_CTX_set_min_proto_version(context_.get(), version);
        SSL_CTX_set_max_proto_version(context_.get(), version);
        if (key != nullptr) {
            const auto certificate = tcp::make_certificate(*key);
            SSL_CTX_use_certificate(context_.get(), certificate.get());
            SSL_CTX_use_PrivateKey(context_.get(), key);
        }
        session_.reset(SSL_new(context_.get()));
        SSL_set_fd(session_.get(), socket());
        is_connected = SSL_connect(session_.get()) == 1;
    }
    ~TlsClient() override = default;

    std::size_t send_some(const char* bytes, std::size_t size) override {
        std::size_t count = 0;
        return SSL_write_ex(session_.get(), bytes, size, &count) == 1 ? count : 0;
    }
    std::size_t receive_some(char* out, std::size_t size) override {
        std::size_t count = 0;
        return SSL_read_ex(session_.get(), out, size, &count) == 1 ? count : 0;
    }

    // The end was announced, as TLS has it: nobody in between cut the connection.
    [[nodiscard]] bool was_told() const {
        return (SSL_get_shutdown(session_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
    }

    bool is_connected = false;

  private:
    tcp::OpensslPtr<SSL_CTX> context_;
    tcp::OpensslPtr<SSL> session_;
};

}  // namespace tests
