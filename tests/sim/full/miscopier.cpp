#include "tests/sim/full/miscopier.hpp"

#include <array>
#include <utility>
#include <vector>

namespace sim::full {

namespace {
constexpr std::uint64_t kMiscopierSalt = 0x6D697363;
constexpr int kAnswersPercent = 40;
constexpr int kBlocksPercent = 10;

// With the digest of its first transaction in the place of the transaction: that gives the same
// root.
chain::BlockPtr without_first(const chain::Block& block) {
    std::vector<chain::TransactionReceipt> receipts = block.transactions;
    auto& first = receipts.front().transaction;
    if (const auto* packed = std::get_if<chain::PackedTransaction>(&first)) {
        const chain::TransactionId digest = packed->packed_digest();
        first = digest;
    }
    return chain::make_block({block.header, block.signature}, std::move(receipts), block.witness);
}
}  // namespace

Miscopier::Miscopier(std::uint64_t seed) : dice_(seed ^ kMiscopierSalt) {}

p2p::SharedBytes Miscopier::falsify(const p2p::SharedBytes& bytes) {
    const auto envelope = p2p::read_envelope(*bytes);
    const bool is_answer =
        envelope && envelope->type == p2p::MessageType::blocks && envelope->correlation != 0;
    if (!is_answer || !dice_.percent(kAnswersPercent)) return bytes;
    const auto body = p2p::read_body(*envelope, *bytes);
    if (!body) return bytes;
    std::vector<chain::BlockPtr> blocks = std::get<p2p::Blocks>(*body).blocks;
    for (chain::BlockPtr& block : blocks) {
        if (dice_.percent(kBlocksPercent)) block = miscopy(*block);
    }
    return p2p::pack_message(p2p::Blocks{std::move(blocks)},
                             {.correlation = envelope->correlation, .flags = envelope->flags});
}

chain::BlockPtr Miscopier::miscopy(const chain::Block& block) {
    ++copies_;
    if (!block.transactions.empty() && dice_.percent(50)) return without_first(block);
    std::array<std::byte, 32> secret{};
    secret.fill(std::byte{0x4D});
    const base::crypto::PrivateKey stranger{base::crypto::KeyType::k1, secret};
    const base::crypto::Signature wrong = stranger.sign(block.header.state_digest);
    chain::Witness witness = block.witness;
    auto& certificate = witness.justify ? witness.justify : witness.finalized;
    if (!certificate || dice_.percent(50)) {
        return chain::make_block({block.header, wrong}, block.transactions, block.witness);
    }
    certificate->signatures.front() = wrong;
    return chain::make_block({block.header, block.signature}, block.transactions, witness);
}

}  // namespace sim::full
