#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace bench {

// What a server proves itself with; empty: it speaks without TLS.
struct Identity {
    std::string certificate_file;
    std::string key_file;
};

// A connection that carries Kafka's frames, for one thread, which waits for it. Whatever fails ends
// the program.
class Wire : base::Pinned {
  public:
    // To HOST:PORT with a numeric host. The peer's certificate is not looked at.
    [[nodiscard]] static std::unique_ptr<Wire> connect(const std::string& address, bool with_tls);
    // Serves one connection after another at a port of 127.0.0.1, for ever.
    template <class Serve>
    [[noreturn]] static void listen(std::uint16_t port, const Identity& identity, Serve serve) {
        const int socket = open_listener(port);
        while (true)
            serve(*accept(socket, identity));
    }
    ~Wire();

    void send(base::ByteView bytes);
    // A part of a file: by sendfile, but with TLS, by read and write.
    void send_file(int file, std::uint64_t position, std::size_t bytes);
    // Waits for bytes, and takes what has come. False: the peer has closed.
    [[nodiscard]] bool fill();
    // The next whole frame that has come, without its length; it stays as it is until fill().
    [[nodiscard]] std::optional<base::ByteView> frame();
    [[nodiscard]] int socket() const { return socket_; }

  private:
    Wire(int socket, SSL* session) : socket_(socket), session_(session) {}
    [[nodiscard]] bool read_some();
    [[nodiscard]] bool has_more() const;
    [[nodiscard]] static int open_listener(std::uint16_t port);
    [[nodiscard]] static std::unique_ptr<Wire> accept(int listener, const Identity& identity);

    const int socket_;
    SSL* const session_;  // Null: without TLS.
    base::Bytes buffer_;
    std::size_t begin_ = 0;  // Of what was not taken yet.
    std::size_t end_ = 0;    // Of what has come.
};

}  // namespace bench
