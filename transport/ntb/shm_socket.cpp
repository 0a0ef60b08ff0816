#include "transport/ntb/shm_socket.hpp"

#include "base/codec.hpp"
#include "base/crypto/wipe.hpp"
#include "base/pinned.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace transport::ntb {

namespace {

constexpr std::uint32_t kMagic = 0x73526f42;  // "BoRs".
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kHostBytesMax = 64;
constexpr int kBacklog = 64;
constexpr int kSocketType = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;

tl::unexpected<base::Error> failed(const std::string& what) {
    const std::string reason = std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): glibc's is.
    return base::fail(base::Errc::unavailable, what + ": " + reason);
}

struct SocketAddress {
    explicit SocketAddress(const Token& name) {
        address.sun_family = AF_UNIX;
        // A zero first: no file, gone with its process.
        const std::string text = "bor-" + base::to_hex(name);
        std::memcpy(address.sun_path + 1, text.data(), text.size());
        size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    }
    [[nodiscard]] const sockaddr* get() const {
        return reinterpret_cast<const sockaddr*>(&address);
    }

    sockaddr_un address{};
    socklen_t size = 0;
};

// One packet, with room for one descriptor: the kernel closes what does not fit.
struct Packet : base::Pinned {
    explicit Packet(std::span<std::byte> bytes) : part{bytes.data(), bytes.size()} {
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
    }

    alignas(cmsghdr) std::array<std::byte, CMSG_LEN(sizeof(int))> control{};
    iovec part;
    msghdr message{};
};

Descriptor take_descriptor(msghdr& message) {
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(sizeof(int))) {
        return {};
    }
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return Descriptor(descriptor);
}

}  // namespace

Token random_token() {
    Token out{};
    base::crypto::random_bytes(out);
    return out;
}

base::Bytes encode(const ShmAddress& address) {
    base::Writer out;
    out.string(address.host);
    out.raw(address.socket);
    return out.take();
}

base::Result<ShmAddress> decode_address(base::ByteView bytes) {
    base::Reader in(bytes);
    ShmAddress out{.host = in.string("host", kHostBytesMax)};
    const base::ByteView socket = in.raw(out.socket.size(), "socket");
    std::ranges::copy(socket, out.socket.begin());
    if (auto done = in.finish(); !done) return base::fail(done.error());
    return out;
}

HelloBytes encode_hello(const Token& token) {
    base::Writer out;
    out.u32(kMagic);
    out.u16(kVersion);
    out.raw(token);
    HelloBytes bytes{};
    std::ranges::copy(out.view(), bytes.begin());
    return bytes;
}

base::Result<Token> decode_hello(base::ByteView bytes) {
    base::Reader in(bytes);
    if (in.u32("magic") != kMagic) in.set_error("magic", "is not ours");
    if (in.u16("version") != kVersion) in.set_error("version", "is not ours");
    Token token{};
    std::ranges::copy(in.raw(token.size(), "token"), token.begin());
    if (auto done = in.finish(); !done) return base::fail(done.error());
    return token;
}

base::Result<Descriptor> listen_at(const Token& name) {
    Descriptor socket(::socket(AF_UNIX, kSocketType, 0));
    const SocketAddress address(name);
    if (!socket || ::bind(socket.get(), address.get(), address.size) != 0 ||
        ::listen(socket.get(), kBacklog) != 0) {
        return failed("no socket for shared memory");
    }
    return socket;
}

base::Result<Descriptor> connect_to(const Token& name) {
    Descriptor socket(::socket(AF_UNIX, kSocketType, 0));
    const SocketAddress address(name);
    // It either is connected at once, or the other's backlog is full.
    if (!socket || ::connect(socket.get(), address.get(), address.size) != 0) {
        return failed("the peer's socket for shared memory is out of reach");
    }
    return socket;
}

Descriptor accept_from(int listener) {
    return Descriptor(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

base::Result<void> send_hello(int socket, const Token& token, int memory) {
    HelloBytes hello = encode_hello(token);
    Packet packet(hello);
    cmsghdr* header = CMSG_FIRSTHDR(&packet.message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof memory);
    std::memcpy(CMSG_DATA(header), &memory, sizeof memory);
    if (::sendmsg(socket, &packet.message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        return failed("the peer takes no memory");
    }
    return {};
}

base::Result<Hello> receive_hello(int socket) {
    std::array<std::byte, sizeof(HelloBytes) + 1> bytes{};
    Packet packet(bytes);
    const ssize_t count = ::recvmsg(socket, &packet.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
        return base::fail(base::Errc::would_block, "no memory has come");
    }
    if (count < 0) return failed("the peer sends no memory");
    if (count == 0) {
        return base::fail(base::Errc::unavailable, "the peer closed its socket for shared memory");
    }
    Hello hello;
    hello.memory = take_descriptor(packet.message);
    const auto token = decode_hello(base::ByteView(bytes).first(static_cast<std::size_t>(count)));
    if (!token) return base::fail(token.error());
    if (!hello.memory) return base::fail(base::Errc::malformed, "a hello brings no memory");
    hello.token = *token;
    return hello;
}

void ring_bell(int socket) {
    const std::byte nothing{};
    // A full socket holds rings enough; one that is closed shows when it is read.
    (void)::send(socket, &nothing, sizeof nothing, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool take_bell(int socket) {
    std::byte nothing{};
    const ssize_t count = ::recv(socket, &nothing, sizeof nothing, MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    // The end of the connection looks like an empty packet.
    return count > 0;
}

}  // namespace transport::ntb
