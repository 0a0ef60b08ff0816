#pragma once

#include "base/log.hpp"
#include "node/core/core.hpp"

#include <memory>
#include <string>
#include <vector>

namespace node {

// One source of a key's signatures: a file, or a wallet's socket.
class KeySource : base::Pinned {
  public:
    virtual ~KeySource() = default;
    [[nodiscard]] virtual const base::crypto::PublicKey& key() const = 0;
    // unavailable: the wallet does not answer or is locked.
    [[nodiscard]] virtual base::Result<base::crypto::Signature> sign(
        const base::Hash256& digest) = 0;
};

// The key of PUB=KEY:file:PATH: a private key as text in a file.
// invalid: no such file, no key in it, or that of another public key.
[[nodiscard]] base::Result<std::unique_ptr<KeySource>> open_key_file(
    const base::crypto::PublicKey& key, const std::string& path);

// The key of PUB=WALLET:SOCKET: /v1/wallet/sign_digest of a wallet on a Unix socket.
[[nodiscard]] std::unique_ptr<KeySource> open_wallet(const base::crypto::PublicKey& key,
                                                     const std::string& socket);

// The keys of this node, from the option signature-provider.
//
// Thread: core, after make().
class NodeSigner final : public Signer {
  public:
    // invalid: a provider of another form, a key given twice, or open_key_file's reason.
    [[nodiscard]] static base::Result<std::unique_ptr<NodeSigner>> make(
        const std::vector<std::string>& providers);

    [[nodiscard]] std::vector<base::crypto::PublicKey> keys() const override;
    [[nodiscard]] base::Result<base::crypto::Signature> sign(const base::crypto::PublicKey& key,
                                                             const base::Hash256& digest) override;

  private:
    explicit NodeSigner(std::vector<std::unique_ptr<KeySource>> sources)
        : sources_(std::move(sources)) {}

    std::vector<std::unique_ptr<KeySource>> sources_;
};

}  // namespace node
