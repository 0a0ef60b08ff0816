#include "node/signer.hpp"

#include "node/disk/file.hpp"

#include <algorithm>
#include <string_view>

namespace node {

namespace {

using base::Errc;
using base::crypto::PublicKey;

constexpr std::size_t kKeyFileBytesMax = 4096;

base::Error invalid(const std::string& provider, const std::string& reason) {
    // Not the whole text: someone may have put a private key there.
    const std::string name = provider.substr(0, provider.find('='));
    return {Errc::invalid, "signature-provider = " + name + "=...: " + reason};
}

class FileSource final : public KeySource {
  public:
    explicit FileSource(const base::crypto::PrivateKey& key)
        : key_(key), public_(key_.public_key()) {}
    [[nodiscard]] const PublicKey& key() const override { return public_; }
    [[nodiscard]] base::Result<base::crypto::Signature> sign(const base::Hash256& digest) override {
        return key_.sign(digest);
    }

  private:
    base::crypto::PrivateKey key_;
    PublicKey public_;
};

base::Result<std::unique_ptr<KeySource>> open_provider(const std::string& provider) {
    const std::size_t equals = provider.find('=');
    if (equals == std::string::npos) {
        return base::fail(invalid(provider, "expected PUB=KEY:file:PATH or PUB=WALLET:SOCKET"));
    }
    auto key = PublicKey::from_string(provider.substr(0, equals));
    if (!key) return base::fail(invalid(provider, key.error().detail));
    const std::string_view rest = std::string_view(provider).substr(equals + 1);
    constexpr std::string_view kFile = "KEY:file:";
    constexpr std::string_view kWallet = "WALLET:";
    if (rest.starts_with(kFile)) {
        return open_key_file(*key, std::string(rest.substr(kFile.size())));
    }
    if (rest.starts_with(kWallet))
        return open_wallet(*key, std::string(rest.substr(kWallet.size())));
    if (rest.starts_with("KEY:")) {
        return base::fail(invalid(provider,
                                  "private keys do not belong into options; put the key into a "
                                  "file of mode 0600 and write KEY:file:PATH"));
    }
    return base::fail(invalid(provider, "expected PUB=KEY:file:PATH or PUB=WALLET:SOCKET"));
}

}  // namespace

base::Result<std::unique_ptr<KeySource>> open_key_file(const PublicKey& key,
                                                       const std::string& path) {
    auto bytes = read_file(path, kKeyFileBytesMax);
    if (!bytes) {
        return base::fail(Errc::invalid, "key file " + path + ": " + bytes.error().detail);
    }
    std::string_view text = base::as_text(*bytes);
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
        text.remove_suffix(1);
    }
    auto secret = base::crypto::PrivateKey::from_string(text);
    std::ranges::fill(*bytes, std::byte{0});
    if (!secret) return base::fail(Errc::invalid, "key file " + path + " holds no private key");
    if (secret->public_key() != key) {
        return base::fail(Errc::invalid,
                          "key file " + path + " is of " + secret->public_key().to_string() +
                              ", not of " + key.to_string());
    }
    return std::unique_ptr<KeySource>(std::make_unique<FileSource>(*secret));
}

base::Result<std::unique_ptr<NodeSigner>> NodeSigner::make(
    const std::vector<std::string>& providers) {
    std::vector<std::unique_ptr<KeySource>> sources;
    for (const std::string& provider : providers) {
        auto source = open_provider(provider);
        if (!source) return base::fail(source.error());
        for (const auto& other : sources) {
            if (other->key() == (*source)->key()) {
                return base::fail(invalid(provider, "this key is given twice"));
            }
        }
        sources.push_back(std::move(*source));
    }
    return std::unique_ptr<NodeSigner>(new NodeSigner(std::move(sources)));
}

std::vector<PublicKey> NodeSigner::keys() const {
    std::vector<PublicKey> keys;
    keys.reserve(sources_.size());
    for (const auto& source : sources_)
        keys.push_back(source->key());
    return keys;
}

base::Result<KeySource*> NodeSigner::source_of(const PublicKey& key) const {
    for (const auto& source : sources_) {
        if (source->key() == key) return source.get();
    }
    return base::fail(Errc::unavailable, "no signature-provider has the key " + key.to_string());
}

base::Result<base::crypto::Signature> NodeSigner::sign(const PublicKey& key,
                                                       const base::Hash256& digest) {
    auto source = source_of(key);
    if (!source) return base::fail(std::move(source).error());
    return (*source)->sign(digest);
}

base::Result<base::crypto::Signature> NodeSigner::sign_header(const PublicKey& key,
                                                              const chain::BlockHeader& header) {
    auto source = source_of(key);
    if (!source) return base::fail(std::move(source).error());
    return (*source)->sign_header(header);
}

base::Result<base::crypto::Signature> NodeSigner::sign_vote(const PublicKey& key,
                                                            const chain::VoteData& vote,
                                                            const chain::ChainId& chain_id) {
    auto source = source_of(key);
    if (!source) return base::fail(std::move(source).error());
    return (*source)->sign_vote(vote, chain_id);
}

base::Result<base::crypto::Signature> NodeSigner::sign_transaction(
    const PublicKey& key, const chain::Transaction& transaction, const chain::ChainId& chain_id) {
    auto source = source_of(key);
    if (!source) return base::fail(std::move(source).error());
    return (*source)->sign_transaction(transaction, chain_id);
}

base::Result<base::crypto::Signature> NodeSigner::sign_statement(
    const PublicKey& key,
    const p2p::VoteKeyStatement& statement,
    const p2p::StatementContext& context) {
    auto source = source_of(key);
    if (!source) return base::fail(std::move(source).error());
    return (*source)->sign_statement(statement, context);
}

}  // namespace node
