#include "node/bps/server/stream.hpp"

#include "base/check.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace bps {

namespace {

using Kind = Transfer::Kind;

constexpr std::string_view kShortFile = "the file of the records is shorter than they are";
constexpr std::size_t kTlsPieceBytes = 16'384;                      // A TLS record's.
constexpr std::size_t kTlsFilePieceBytes = std::size_t{128} << 10;  // Read at once.
constexpr std::size_t kFilePieceBytes = std::size_t{512} << 10;  // Other connections wait for it.

Transfer failed(std::string text) {
    return {.kind = Kind::failed, .text = std::move(text)};
}

// After a system call gave -1: `wait` where the socket is not ready.
Transfer after_error(Kind wait) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {.kind = wait};
    if (errno == ECONNRESET || errno == EPIPE) return {.kind = Kind::ended};
    return failed(std::generic_category().message(errno));
}

class PlainStream final : public Stream {
  public:
    explicit PlainStream(int socket) : socket_(socket) {}

    Transfer handshake() override { return {}; }
    Transfer read(std::span<std::byte> out, std::span<std::byte> behind) override {
        std::array<iovec, 2> parts{iovec{out.data(), out.size()},
                                   iovec{behind.data(), behind.size()}};
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = parts.size();
        const ssize_t count = ::recvmsg(socket_, &message, MSG_DONTWAIT);
        if (count < 0) return after_error(Kind::wait_read);
        if (count == 0) return {.kind = Kind::ended};
        return {.bytes = static_cast<std::size_t>(count)};
    }
    Transfer write(base::ByteView bytes, bool more) override {
        const int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0);
        const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), flags);
        if (count < 0) return after_error(Kind::wait_write);
        return {.bytes = static_cast<std::size_t>(count)};
    }
    Transfer write_file(const FilePart& part) override {
        auto position = static_cast<off_t>(part.position);
        const ssize_t count =
            ::sendfile(socket_, part.descriptor, &position, std::min(part.bytes, kFilePieceBytes));
        if (count < 0) return after_error(Kind::wait_write);
        if (count == 0) return failed(std::string(kShortFile));
        return {.bytes = static_cast<std::size_t>(count)};
    }
    void shut() override { ::shutdown(socket_, SHUT_WR); }
    [[nodiscard]] std::optional<base::Hash256> certificate() const override { return std::nullopt; }

  private:
    int socket_;
};

class TlsStream final : public Stream {
  public:
    TlsStream(const ServerTls& tls, int socket)
        : socket_(socket), session_(SSL_new(tls.context())) {
        CHECK(session_ != nullptr && SSL_set_fd(session_.get(), socket) == 1);
        SSL_set_accept_state(session_.get());
    }

    Transfer handshake() override {
        ERR_clear_error();
        const int done = SSL_do_handshake(session_.get());
        return done == 1 ? Transfer{} : after(done);
    }
    // A record holds the end of one request and the next one's length at the best.
    Transfer read(std::span<std::byte> out, std::span<std::byte> /*behind*/) override {
        Transfer transfer;
        be_in_long(out.size() > kTlsPieceBytes);
        ERR_clear_error();
        const int done = SSL_read_ex(session_.get(), out.data(), out.size(), &transfer.bytes);
        return done == 1 ? transfer : after(done);
    }
    Transfer write(base::ByteView bytes, bool more) override {
        if (more) be_corked(true);
        Transfer transfer;
        ERR_clear_error();
        const int done = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &transfer.bytes);
        if (done != 1) return after(done);
        if (!more && transfer.bytes == bytes.size()) be_corked(false);
        return transfer;
    }
    // A try that waited is repeated with the same bytes, as OpenSSL wants: records do not change.
    Transfer write_file(const FilePart& part) override {
        std::array<std::byte, kTlsFilePieceBytes> piece;  // NOLINT(*-member-init): filled below.
        const std::size_t wanted = std::min(part.bytes, piece.size());
        const ssize_t count =
            ::pread(part.descriptor, piece.data(), wanted, static_cast<off_t>(part.position));
        if (count < 0) return failed(std::generic_category().message(errno));
        if (static_cast<std::size_t>(count) != wanted) return failed(std::string(kShortFile));
        Transfer all;
        while (all.kind == Kind::done && all.bytes < wanted) {
            const base::ByteView rest = base::ByteView(piece).first(wanted).subspan(all.bytes);
            be_in_long(part.bytes - all.bytes > kTlsPieceBytes);
            const Transfer one = write(rest, wanted < part.bytes || part.has_more);
            all.kind = one.kind;
            all.text = one.text;
            all.bytes += one.bytes;
        }
        return all;
    }
    void shut() override {
        SSL_shutdown(session_.get());
        ERR_clear_error();
        ::shutdown(socket_, SHUT_WR);
    }
    [[nodiscard]] std::optional<base::Hash256> certificate() const override {
        return client_key_of(*session_);
    }

  private:
    // In the middle of a long request or answer its records share a buffer, which is not wiped: to
    // make and wipe one for each costs as much as half of the cipher. Passwords are in short ones.
    void be_in_long(bool is_long) {
        if (is_long) {
            SSL_clear_mode(session_.get(), SSL_MODE_RELEASE_BUFFERS);
            SSL_clear_options(session_.get(), SSL_OP_CLEANSE_PLAINTEXT);
        } else {
            SSL_set_mode(session_.get(), SSL_MODE_RELEASE_BUFFERS);
            SSL_set_options(session_.get(), SSL_OP_CLEANSE_PLAINTEXT);
        }
    }
    // While more follows, segments leave full: else each record of 16 KiB is one, and wakes the
    // client.
    void be_corked(bool is_corked) {
        if (std::exchange(is_corked_, is_corked) == is_corked) return;
        const int on = is_corked ? 1 : 0;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
    }
    // After OpenSSL did not do it.
    Transfer after(int result) {
        const int errno_before = errno;
        switch (SSL_get_error(session_.get(), result)) {
            case SSL_ERROR_WANT_READ:
                return {.kind = Kind::wait_read};
            case SSL_ERROR_WANT_WRITE:
                return {.kind = Kind::wait_write};
            case SSL_ERROR_ZERO_RETURN:
                return {.kind = Kind::ended};
            case SSL_ERROR_SYSCALL:
                ERR_clear_error();
                if (errno_before == 0) return {.kind = Kind::ended};
                errno = errno_before;
                return after_error(Kind::wait_read);
            default:
                return failed("TLS: " + transport::tcp::openssl_error());
        }
    }

    int socket_;
    bool is_corked_ = false;
    transport::tcp::OpensslPtr<SSL> session_;
};

}  // namespace

std::unique_ptr<Stream> make_plain_stream(int socket) {
    return std::make_unique<PlainStream>(socket);
}

std::unique_ptr<Stream> make_tls_stream(const ServerTls& tls, int socket) {
    return std::make_unique<TlsStream>(tls, socket);
}

}  // namespace bps
