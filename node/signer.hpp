#pragma once

#include "base/log.hpp"
#include "base/pinned.hpp"
#include "node/core/core.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace node {

// The key of PUB=KEY:file:PATH: a private key as text in a file.
// invalid: no such file, no key in it, or that of another public key.
[[nodiscard]] base::Result<std::unique_ptr<Signer>> open_key_file(
    const base::crypto::PublicKey& key, const std::string& path);

// The key of PUB=WALLET:SOCKET: a wallet on a Unix socket signs, headers and votes as the key's
// journal there allows (made by 'bor-cli wallet create_key --vote'), and what the node says of
// itself: nothing else.
[[nodiscard]] std::unique_ptr<Signer> open_wallet(const base::crypto::PublicKey& key,
                                                  const std::string& socket);

// Which keys did not sign when they were asked last, and why: that their wallet is locked or gone,
// or that its journal forbids it. Thread: any.
class SigningFailures : base::Pinned {
  public:
    void note(const base::crypto::PublicKey& key,
              const base::Result<base::crypto::Signature>& signature);
    // Empty: it signed.
    [[nodiscard]] std::string of(const base::crypto::PublicKey& key) const;

  private:
    mutable std::mutex mutex_;
    std::map<base::crypto::PublicKey, std::string> reasons_;
};

// The keys of this node, from the option signature-provider.
//
// Thread: core, after make().
class NodeSigner final : public Signer {
  public:
    // invalid: a provider of another form, a key given twice, or open_key_file's reason.
    [[nodiscard]] static base::Result<std::unique_ptr<NodeSigner>> make(
        const std::vector<std::string>& providers);

    [[nodiscard]] std::shared_ptr<const SigningFailures> failures() const { return failures_; }
    [[nodiscard]] std::vector<base::crypto::PublicKey> keys() const override;
    [[nodiscard]] base::Result<base::crypto::Signature> sign(const base::crypto::PublicKey& key,
                                                             const base::Hash256& digest) override;
    [[nodiscard]] base::Result<base::crypto::Signature> sign_header(
        const base::crypto::PublicKey& key,
        const chain::BlockHeader& header,
        const chain::ChainId& chain_id) override;
    [[nodiscard]] base::Result<base::crypto::Signature> sign_vote(
        const base::crypto::PublicKey& key,
        const chain::VoteData& vote,
        const chain::ChainId& chain_id) override;
    [[nodiscard]] base::Result<base::crypto::Signature> sign_transaction(
        const base::crypto::PublicKey& key,
        const chain::Transaction& transaction,
        const chain::ChainId& chain_id) override;
    [[nodiscard]] base::Result<base::crypto::Signature> sign_statement(
        const base::crypto::PublicKey& key,
        const p2p::VoteKeyStatement& statement,
        const p2p::StatementContext& context) override;
    [[nodiscard]] base::Result<base::crypto::Signature> sign_clock(
        const base::crypto::PublicKey& key,
        const p2p::ClockStatement& statement,
        const chain::ChainId& chain_id) override;
    [[nodiscard]] base::Result<base::crypto::Signature> sign_answer(
        const base::crypto::PublicKey& key,
        const genesis::RecoveryAnswer& answer,
        const chain::ChainId& chain_id) override;

  private:
    // A key with who signs with it.
    using Source = std::pair<base::crypto::PublicKey, std::unique_ptr<Signer>>;

    explicit NodeSigner(std::vector<Source> sources) : sources_(std::move(sources)) {}

    // What `ask` gives of the signer that has the key; unavailable: none has.
    template <class Ask>
    [[nodiscard]] base::Result<base::crypto::Signature> signed_by(
        const base::crypto::PublicKey& key, const Ask& ask) const;

    std::vector<Source> sources_;
    const std::shared_ptr<SigningFailures> failures_ = std::make_shared<SigningFailures>();
};

}  // namespace node
