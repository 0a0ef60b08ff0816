#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "node/bps/server/tls.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace bps {

// What became of one try to read or write.
struct Transfer {
    enum class Kind : std::uint8_t {
        done,
        wait_read,   // Try again when the socket can be read,
        wait_write,  // or written.
        ended,       // The peer has closed its side.
        failed,
    };
    Kind kind = Kind::done;
    // Of `done`, more than 0; of bytes of a file also what was done before it had to wait.
    std::size_t bytes = 0;
    std::string text{};  // Of `failed`.
};

// A byte stream over a connected, non-blocking socket, in clear or with TLS.
//
// Thread: one. The socket outlives it.
class Stream : base::Pinned {
  public:
    virtual ~Stream() = default;

    // done: bytes may flow. Called again after each wait.
    [[nodiscard]] virtual Transfer handshake() = 0;
    // Fills `out`, which is not empty, then `behind`, where the stream has more at hand.
    [[nodiscard]] virtual Transfer read(std::span<std::byte> out, std::span<std::byte> behind) = 0;
    // `bytes` are not empty. After a wait the same bytes are given again. `more`: others follow.
    [[nodiscard]] virtual Transfer write(base::ByteView bytes, bool more) = 0;
    // Bytes of a file; fewer than wanted are done at a time. failed: the file ends before.
    struct FilePart {
        int descriptor = -1;
        std::uint64_t position = 0;
        std::size_t bytes = 0;
        bool has_more = false;  // Others follow.
    };
    [[nodiscard]] virtual Transfer write_file(const FilePart& part) = 0;
    // Tells the peer that nothing more will be written.
    virtual void shut() = 0;
    // SHA-256 of the 33 bytes of the P-256 key that the client has proved; nothing: it has none.
    [[nodiscard]] virtual std::optional<base::Hash256> certificate() const = 0;
};

[[nodiscard]] std::unique_ptr<Stream> make_plain_stream(int socket);
[[nodiscard]] std::unique_ptr<Stream> make_tls_stream(const ServerTls& tls, int socket);

}  // namespace bps
