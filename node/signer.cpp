#include "node/signer.hpp"

#include "base/crypto/typed_keys.hpp"
#include "node/disk/secret_file.hpp"
#include "node/http/listener.hpp"

#include <algorithm>
#include <string_view>

namespace node {

namespace {

using base::Errc;
using base::crypto::PublicKey;
using base::crypto::Signature;

constexpr const char* kExpected = "expected PUB=KEY:file:PATH or PUB=WALLET:SOCKET";

base::Error invalid(const std::string& provider, const std::string& reason) {
    // Not the whole text: someone may have put a private key there.
    const std::string name = provider.substr(0, provider.find('='));
    return {Errc::invalid, "signature-provider = " + name + "=...: " + reason};
}

class FileSigner final : public Signer {
  public:
    explicit FileSigner(const base::crypto::PrivateKey& key) : key_(key) {}

    [[nodiscard]] std::vector<PublicKey> keys() const override { return {key_.public_key()}; }
    [[nodiscard]] base::Result<Signature> sign(const PublicKey& /*its own*/,
                                               const base::Hash256& digest) override {
        return key_.sign(digest);
    }

  private:
    base::crypto::PrivateKey key_;
};

base::Result<std::unique_ptr<Signer>> open_provider(const PublicKey& key,
                                                    const std::string& provider) {
    const std::size_t equals = provider.find('=');
    const std::string_view rest = std::string_view(provider).substr(equals + 1);
    constexpr std::string_view kFile = "KEY:file:";
    constexpr std::string_view kWallet = "WALLET:";
    if (rest.starts_with(kFile)) {
        return open_key_file(key, std::string(rest.substr(kFile.size())));
    }
    if (rest.starts_with(kWallet)) {
        const std::string socket(rest.substr(kWallet.size()));
        if (auto good = http::check_unix_path(socket); !good) {
            return base::fail(invalid(provider, good.error().detail));
        }
        return open_wallet(key, socket);
    }
    if (rest.starts_with("KEY:")) {
        return base::fail(invalid(provider,
                                  "private keys do not belong into options; put the key into a "
                                  "file of mode 0600 and write KEY:file:PATH"));
    }
    return base::fail(invalid(provider, kExpected));
}

}  // namespace

base::Result<std::unique_ptr<Signer>> open_key_file(const PublicKey& key, const std::string& path) {
    const auto secret = read_key_file(path);
    if (!secret) {
        return base::fail(Errc::invalid, "key file " + path + ": " + secret.error().detail);
    }
    if (secret->public_key() != key) {
        return base::fail(Errc::invalid,
                          "key file " + path + " is of " + secret->public_key().to_string() +
                              ", not of " + key.to_string());
    }
    return std::unique_ptr<Signer>(std::make_unique<FileSigner>(*secret));
}

void SigningFailures::note(const PublicKey& key, const base::Result<Signature>& signature) {
    const std::scoped_lock lock(mutex_);
    if (signature) {
        reasons_.erase(key);
    } else {
        reasons_.insert_or_assign(key, signature.error().detail);
    }
}

std::string SigningFailures::of(const PublicKey& key) const {
    const std::scoped_lock lock(mutex_);
    const auto found = reasons_.find(key);
    return found == reasons_.end() ? std::string() : found->second;
}

base::Result<std::unique_ptr<NodeSigner>> NodeSigner::make(
    const std::vector<std::string>& providers) {
    std::vector<Source> sources;
    for (const std::string& provider : providers) {
        const std::size_t equals = provider.find('=');
        if (equals == std::string::npos) return base::fail(invalid(provider, kExpected));
        const auto key = base::crypto::read_public_key(provider.substr(0, equals));
        if (!key) return base::fail(invalid(provider, key.error().detail));
        auto signer = open_provider(*key, provider);
        if (!signer) return base::fail(signer.error());
        if (std::ranges::find(sources, *key, &Source::first) != sources.end()) {
            return base::fail(invalid(provider, "this key is given twice"));
        }
        sources.emplace_back(*key, std::move(*signer));
    }
    return std::unique_ptr<NodeSigner>(new NodeSigner(std::move(sources)));
}

std::vector<PublicKey> NodeSigner::keys() const {
    std::vector<PublicKey> keys;
    keys.reserve(sources_.size());
    for (const Source& source : sources_)
        keys.push_back(source.first);
    return keys;
}

template <class Ask>
base::Result<Signature> NodeSigner::signed_by(const PublicKey& key, const Ask& ask) const {
    const auto source = std::ranges::find(sources_, key, &Source::first);
    if (source == sources_.end()) {
        return base::fail(Errc::unavailable,
                          "no signature-provider has the key " + key.to_string());
    }
    auto signature = ask(*source->second);
    failures_->note(key, signature);
    return signature;
}

base::Result<Signature> NodeSigner::sign(const PublicKey& key, const base::Hash256& digest) {
    return signed_by(key, [&](Signer& signer) { return signer.sign(key, digest); });
}

base::Result<Signature> NodeSigner::sign_header(const PublicKey& key,
                                                const chain::BlockHeader& header,
                                                const chain::ChainId& chain_id) {
    return signed_by(key,
                     [&](Signer& signer) { return signer.sign_header(key, header, chain_id); });
}

base::Result<Signature> NodeSigner::sign_vote(const PublicKey& key,
                                              const chain::VoteData& vote,
                                              const chain::ChainId& chain_id) {
    return signed_by(key, [&](Signer& signer) { return signer.sign_vote(key, vote, chain_id); });
}

base::Result<Signature> NodeSigner::sign_transaction(const PublicKey& key,
                                                     const chain::Transaction& transaction,
                                                     const chain::ChainId& chain_id) {
    return signed_by(
        key, [&](Signer& signer) { return signer.sign_transaction(key, transaction, chain_id); });
}

base::Result<Signature> NodeSigner::sign_statement(const PublicKey& key,
                                                   const p2p::VoteKeyStatement& statement,
                                                   const p2p::StatementContext& context) {
    return signed_by(
        key, [&](Signer& signer) { return signer.sign_statement(key, statement, context); });
}

base::Result<Signature> NodeSigner::sign_clock(const PublicKey& key,
                                               const p2p::ClockStatement& statement,
                                               const chain::ChainId& chain_id) {
    return signed_by(key,
                     [&](Signer& signer) { return signer.sign_clock(key, statement, chain_id); });
}

base::Result<Signature> NodeSigner::sign_answer(const PublicKey& key,
                                                const genesis::RecoveryAnswer& answer,
                                                const chain::ChainId& chain_id) {
    return signed_by(key,
                     [&](Signer& signer) { return signer.sign_answer(key, answer, chain_id); });
}

}  // namespace node
