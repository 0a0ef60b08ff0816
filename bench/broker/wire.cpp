#include "bench/broker/wire.hpp"

#include "bench/ledger/report.hpp"
#include "node/bps/core/codec/reader.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <unistd.h>

namespace bench {

namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kBufferBytes = 8U << 20U;
constexpr std::size_t kCopyBytes = 128U << 10U;

[[noreturn]] void give_up_at(const std::string& what) {
    give_up(what + ": " + std::strerror(errno));
}

struct FreeContext {
    void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
};
// A session keeps what it is made from.
using Context = std::unique_ptr<SSL_CTX, FreeContext>;

void read_identity(SSL_CTX& context, const Identity& identity) {
    const bool good =
        ::SSL_CTX_use_certificate_chain_file(&context, identity.certificate_file.c_str()) == 1 &&
        ::SSL_CTX_use_PrivateKey_file(&context, identity.key_file.c_str(), SSL_FILETYPE_PEM) == 1;
    if (!good) give_up("the certificate or its key cannot be read: " + identity.certificate_file);
}

void set_no_delay(int socket) {
    const int on = 1;
    if (::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
        give_up_at("TCP_NODELAY");
}

sockaddr_in address_of(const std::string& host, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) give_up("no address: " + host);
    return address;
}

}  // namespace

std::unique_ptr<Wire> Wire::connect(const std::string& address, bool with_tls) {
    const std::size_t colon = address.rfind(':');
    if (colon == std::string::npos) give_up("expected HOST:PORT, not " + address);
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)));
    const sockaddr_in to = address_of(address.substr(0, colon), port);
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0 || ::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
        give_up_at(address);
    }
    set_no_delay(socket);
    SSL* session = nullptr;
    if (with_tls) {
        session = ::SSL_new(Context(::SSL_CTX_new(::TLS_client_method())).get());
        if (::SSL_set_fd(session, socket) != 1 || ::SSL_connect(session) != 1) {
            give_up("no TLS with " + address);
        }
    }
    return std::unique_ptr<Wire>(new Wire(socket, session));
}

int Wire::open_listener(std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    const sockaddr_in at = address_of("127.0.0.1", port);
    const bool good = socket >= 0 &&
                      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                      ::bind(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
                      ::listen(socket, SOMAXCONN) == 0;
    if (!good) give_up_at("port " + std::to_string(port));
    return socket;
}

std::unique_ptr<Wire> Wire::accept(int listener, const Identity& identity) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) give_up_at("accept");
    set_no_delay(socket);
    SSL* session = nullptr;
    if (!identity.certificate_file.empty()) {
        const Context context(::SSL_CTX_new(::TLS_server_method()));
        read_identity(*context, identity);
        session = ::SSL_new(context.get());
        if (::SSL_set_fd(session, socket) != 1 || ::SSL_accept(session) != 1) give_up("no TLS");
    }
    return std::unique_ptr<Wire>(new Wire(socket, session));
}

Wire::~Wire() {
    if (session_ != nullptr) ::SSL_free(session_);
    ::close(socket_);
}

void Wire::send(base::ByteView bytes) {
    while (!bytes.empty()) {
        const auto sent =
            session_ == nullptr
                ? ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL)
                : ::SSL_write(session_,
                              bytes.data(),
                              static_cast<int>(std::min<std::size_t>(bytes.size(), 1U << 30U)));
        if (sent <= 0) give_up_at("send");
        bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
}

void Wire::send_file(int file, std::uint64_t position, std::size_t bytes) {
    auto offset = static_cast<off_t>(position);
    base::Bytes copy(session_ == nullptr ? 0 : kCopyBytes);
    while (bytes > 0) {
        ssize_t sent = 0;
        if (session_ == nullptr) {
            sent = ::sendfile(socket_, file, &offset, bytes);
        } else {
            sent = ::pread(file, copy.data(), std::min(bytes, copy.size()), offset);
            if (sent > 0) {
                send(base::ByteView(copy).first(static_cast<std::size_t>(sent)));
                offset += sent;
            }
        }
        if (sent <= 0) give_up_at("a part of a file");
        bytes -= static_cast<std::size_t>(sent);
    }
}

bool Wire::fill() {
    if (buffer_.empty()) buffer_.resize(kBufferBytes);
    if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (end_ == buffer_.size()) give_up("a frame is larger than the buffer");
    if (!read_some()) return false;
    // By TLS no more than a record comes at once.
    while (session_ != nullptr && end_ < buffer_.size() && has_more())
        if (!read_some()) return false;
    return true;
}

bool Wire::read_some() {
    const std::size_t room = buffer_.size() - end_;
    const auto came = session_ == nullptr
                          ? ::recv(socket_, buffer_.data() + end_, room, 0)
                          : ::SSL_read(session_, buffer_.data() + end_, static_cast<int>(room));
    if (came <= 0) return false;
    end_ += static_cast<std::size_t>(came);
    return true;
}

bool Wire::has_more() const {
    pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
    return ::SSL_pending(session_) > 0 || ::poll(&waiting, 1, 0) == 1;
}

std::optional<base::ByteView> Wire::frame() {
    const base::ByteView rest = base::ByteView(buffer_).subspan(begin_, end_ - begin_);
    if (rest.size() < kLengthBytes) return std::nullopt;
    const auto length = bps::Reader(rest).integer<std::uint32_t>("length");
    if (rest.size() - kLengthBytes < length) return std::nullopt;
    begin_ += kLengthBytes + length;
    return rest.subspan(kLengthBytes, length);
}

}  // namespace bench
