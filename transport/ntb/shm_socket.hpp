#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "transport/descriptor.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>

// How two processes of one host hand each other their memory: a packet over a Unix socket, which
// afterwards is their doorbell.
namespace transport::ntb {

// Random: names a socket, or the window that a connection is for.
using Token = std::array<std::byte, 16>;
[[nodiscard]] Token random_token();

// Where a node of this host is found: in the namespace of abstract Unix sockets.
struct ShmAddress {
    std::string host{};  // The kernel's boot: the same for all that share memory with us.
    Token socket{};
};
[[nodiscard]] base::Bytes encode(const ShmAddress& address);
[[nodiscard]] base::Result<ShmAddress> decode_address(base::ByteView bytes);

// The first packet in each direction: which window it is for; with it goes the memory.
using HelloBytes = std::array<std::byte, 6 + sizeof(Token)>;
[[nodiscard]] HelloBytes encode_hello(const Token& token);
// malformed: anything else than exactly this.
[[nodiscard]] base::Result<Token> decode_hello(base::ByteView bytes);

struct Hello {
    Token token{};
    Descriptor memory;
};

// Sockets that keep packets apart and never block. unavailable: the text says why.
[[nodiscard]] base::Result<Descriptor> listen_at(const Token& name);
[[nodiscard]] base::Result<Descriptor> connect_to(const Token& name);
// Empty: nobody waits, or none can be taken now.
[[nodiscard]] Descriptor accept_from(int listener);
[[nodiscard]] base::Result<void> send_hello(int socket, const Token& token, int memory);
// would_block: none has come. malformed, unavailable: none will.
[[nodiscard]] base::Result<Hello> receive_hello(int socket);

// Rings; where the peer has not heard earlier ones yet, nothing is needed.
void ring_bell(int socket);
// Takes a ring; another one, which a peer has no need of before we sleep again, wakes us again.
// False: the peer has closed its end.
[[nodiscard]] bool take_bell(int socket);

}  // namespace transport::ntb
