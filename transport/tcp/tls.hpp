#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/tcp/certificate.hpp"
#include "transport/types.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace transport::tcp {

// What all TLS sessions of a node share: TLS 1.3 only, a certificate demanded from both sides,
// any P-256 key accepted (admission is by key, later), no session tickets, no early data.
//
// Thread: one; outlives its sessions.
class TlsContext : base::Pinned {
  public:
    explicit TlsContext(const base::crypto::PrivateKey& node_key);

    [[nodiscard]] SSL_CTX* get() const { return context_.get(); }

  private:
    OpensslPtr<SSL_CTX> context_;
};

// A stretch of bytes that is written at its end and read at its beginning.
class ByteQueue {
  public:
    [[nodiscard]] base::ByteView view() const { return base::ByteView(bytes_).subspan(begin_); }
    [[nodiscard]] bool empty() const { return begin_ == bytes_.size(); }
    void append(base::ByteView bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
    void consume(std::size_t count) {
        begin_ += count;
        if (!empty()) return;
        bytes_.clear();
        begin_ = 0;
    }

  private:
    std::vector<std::byte> bytes_;  // Keeps its memory.
    std::size_t begin_ = 0;
};

// One TLS connection without a socket: ciphertext in and out by the caller, so that it decides
// when a system call is made, and how many records go with one.
//
// Thread: one.
class TlsSession : base::Pinned {
  public:
    enum class Role : std::uint8_t { client, server };

    TlsSession(const TlsContext& context, Role role);
    ~TlsSession();

    // Ciphertext from the peer: all of it is read (or kept inside) before the next call.
    void put(base::ByteView ciphertext) { inbound_ = ciphertext; }
    // What was put and is not read yet, given back.
    [[nodiscard]] base::ByteView take_unread() { return std::exchange(inbound_, {}); }
    // Ciphertext for the peer; appended by handshake(), write() and shut().
    [[nodiscard]] ByteQueue& outbound() { return outbound_; }

    // True: done. False: the peer must answer first. invalid: the peer is refused or refuses us.
    [[nodiscard]] base::Result<bool> handshake();
    // Plaintext from what was put; 0: more ciphertext is needed. unavailable: the peer has shut
    // the session. invalid: bytes that are not the peer's.
    [[nodiscard]] base::Result<std::size_t> read(std::span<std::byte> out);
    void write(base::ByteView plaintext);
    // Tells the peer that nothing more will be written.
    void shut();

    // After the handshake.
    [[nodiscard]] base::Result<PeerKey> peer_key() const;
    // Keying material (RFC 8446, section 7.5): the same at both ends of this session only.
    [[nodiscard]] base::Hash256 exporter(std::string_view label, base::ByteView context = {}) const;

  private:
    friend struct TlsBio;

    OpensslPtr<SSL> session_;
    base::ByteView inbound_;
    ByteQueue outbound_;
};

}  // namespace transport::tcp
