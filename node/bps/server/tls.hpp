#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/tcp/certificate.hpp"

#include <memory>
#include <optional>
#include <string>

namespace bps {

// What all TLS sessions with clients share: TLS 1.2 and 1.3, forward secrecy, no renegotiation, no
// resumption. A client may show any certificate: whom its key stands for is a row of the contract,
// so that no authority is asked.
//
// Thread: one; outlives its sessions.
class ServerTls : base::Pinned {
  public:
    // invalid: a file cannot be read, is no PEM, needs a password, or the two do not belong
    // together; the message names the option and the file.
    [[nodiscard]] static base::Result<std::unique_ptr<ServerTls>> load(
        const std::string& certificate_file, const std::string& key_file);

    [[nodiscard]] SSL_CTX* context() const { return context_.get(); }

  private:
    ServerTls();

    transport::tcp::OpensslPtr<SSL_CTX> context_;
};

// SHA-256 of the 33 bytes of the P-256 key in the peer's certificate; nothing: it showed none, or
// one with a key of another kind.
[[nodiscard]] std::optional<base::Hash256> client_key_of(const SSL& session);

}  // namespace bps
