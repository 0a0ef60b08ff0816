#include "tests/hostile/many_signatures.hpp"

#include "chain/types/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

namespace hostile {

namespace {

using base::crypto::KeyType;
using base::crypto::PrivateKey;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetween{2};  // Two transactions of one node.
constexpr std::uint32_t kExpiresIn = 60;          // Seconds.

// One of the nodes, which speaks to all targets.
class Signer {
  public:
    Signer(const Plan& plan, const PrivateKey& key)
        : chain_id_(plan.genesis.chain_id()), peer_(key, chain_id_) {
        for (std::size_t i = 0; i < chain::kSignaturesMax; ++i)
            signatures_.push_back(PrivateKey::generate(KeyType::k1).sign({}));
        for (const Target& target : plan.targets)
            peer_.connect(target);
    }

    // False: nothing was heard of the head yet.
    bool send() {
        if (head_.height == 0) return false;
        const p2p::Body body = make();
        for (const transport::ChannelId channel : channels_) {
            peer_.say(channel, body);
            ++sent_;
        }
        return true;
    }
    void hear(std::chrono::milliseconds patience) {
        const auto heard = peer_.hear(patience);
        if (!heard || !heard->message) return;
        if (std::holds_alternative<p2p::Notice>(*heard->message)) channels_.insert(heard->channel);
        const auto* push = std::get_if<p2p::Blocks>(&*heard->message);
        if (push == nullptr || push->blocks.empty()) return;
        const chain::BlockHeader& header = push->blocks.front()->header;
        if (header.height > head_.height) head_ = header;
    }
    [[nodiscard]] std::size_t sent() const { return sent_; }
    [[nodiscard]] std::size_t channels() const { return channels_.size(); }
    [[nodiscard]] const std::vector<std::string>& closed() const { return peer_.closed(); }

  private:
    // Good but for who signs it. A signature of something else gives a key, too, another one for
    // each transaction: it costs who sends it nothing.
    [[nodiscard]] chain::PackedTransaction make() {
        const auto now = std::chrono::duration_cast<std::chrono::seconds>(
            std::chrono::system_clock::now().time_since_epoch());
        const auto eosio = *chain::Name::from_string("eosio");
        chain::SignedTransaction transaction;
        transaction.expiration.seconds = static_cast<std::uint32_t>(now.count()) + kExpiresIn;
        transaction.ref_block_num = static_cast<std::uint16_t>(head_.height);
        transaction.ref_block_prefix = chain::ref_block_prefix_of(head_.id());
        const std::string number = std::to_string(sent_);
        const auto bytes = base::as_bytes(number);
        transaction.actions.push_back({eosio,
                                       *chain::Name::from_string("reqauth"),
                                       {{eosio, *chain::Name::from_string("active")}},
                                       {bytes.begin(), bytes.end()}});
        transaction.signatures = signatures_;
        return chain::PackedTransaction::pack(transaction);
    }

    chain::ChainId chain_id_;
    std::vector<base::crypto::Signature> signatures_;
    Peer peer_;
    std::set<transport::ChannelId> channels_;
    chain::BlockHeader head_;  // The newest.
    std::size_t sent_ = 0;
};

}  // namespace

void sign_in_vain(const Plan& plan) {
    std::vector<std::unique_ptr<Signer>> signers;
    signers.reserve(plan.keys.size());
    for (const PrivateKey& key : plan.keys)
        signers.push_back(std::make_unique<Signer>(plan, key));
    const auto until = Clock::now() + plan.time;
    const auto have_all_sent = [&] {
        return std::ranges::all_of(signers, [&](const auto& each) {
            return each->sent() > 0 && each->channels() == plan.targets.size();
        });
    };
    while (Clock::now() < until || (!have_all_sent() && Clock::now() < until + kLateMax)) {
        for (const auto& each : signers) {
            each->send();
            each->hear(kBetween);
        }
    }
    std::size_t sent = 0;
    std::size_t channels = 0;
    for (const auto& each : signers) {
        sent += each->sent();
        channels += each->channels();
    }
    fmt::print("{} transactions over {} connections\n", sent, channels);
    for (const auto& each : signers) {
        for (const std::string& text : each->closed())
            fmt::print("closed: {}\n", text);
    }
}

}  // namespace hostile
