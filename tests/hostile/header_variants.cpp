#include "tests/hostile/header_variants.hpp"

#include "base/crypto/hash.hpp"

#include <fmt/format.h>

#include <set>
#include <string>

namespace hostile {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kEach = 28;  // In four slots a peer lets 32 pass.

class Variants {
  public:
    explicit Variants(const Plan& plan)
        : plan_(plan),
          chain_id_(plan.genesis.chain_id()),
          own_(plan.signing->public_key()),
          peer_(plan.keys.front(), chain_id_) {
        for (const Target& target : plan.targets)
            peer_.connect(target);
    }
    void run() {
        const auto until = Clock::now() + plan_.time;
        const auto has_sent = [&] { return sent_ > 0 && channels_.size() == plan_.targets.size(); };
        while (Clock::now() < until || (!has_sent() && Clock::now() < until + kLateMax)) {
            hear();
            const chain::Slot slot = slot_now();
            if (head_.height == 0 || slot <= last_ || slot <= head_.slot) continue;
            if (owner_of(slot).signing_key != own_) continue;
            last_ = slot;
            send(slot);
        }
        fmt::print("{} headers over {} connections\n", sent_, channels_.size());
        for (const std::string& text : peer_.closed())
            fmt::print("closed: {}\n", text);
    }

  private:
    [[nodiscard]] const chain::ScheduleEntry& owner_of(chain::Slot slot) const {
        const auto& entries = plan_.genesis.schedule.entries;
        const auto repetitions = static_cast<chain::Slot>(plan_.genesis.parameters.repetitions);
        return entries[slot / repetitions % entries.size()];
    }
    [[nodiscard]] chain::Slot slot_now() const {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        return plan_.genesis.times.slot_at(chain::TimePoint::from_timestamp(
            base::Timestamp(std::chrono::duration_cast<base::Duration>(now))));
    }
    // On what honest validators make.
    void hear() {
        const auto heard = peer_.hear(std::chrono::milliseconds(2));
        if (!heard || !heard->message) return;
        if (std::holds_alternative<p2p::Notice>(*heard->message)) channels_.insert(heard->channel);
        const auto* push = std::get_if<p2p::HeaderPush>(&*heard->message);
        if (push == nullptr) return;
        const chain::BlockHeader& header = push->signed_header.header;
        if (owner_of(header.slot).signing_key != own_ && header.slot > head_.slot) head_ = header;
    }
    void send(chain::Slot slot) {
        chain::BlockHeader header = head_;
        header.slot = slot;
        header.height = head_.height + 1;
        header.producer = owner_of(slot).producer;
        header.previous = head_.id();
        header.schedule_change.reset();
        for (const transport::ChannelId channel : channels_) {
            for (std::size_t i = 0; i < kEach; ++i) {
                header.state_digest = base::crypto::sha256(base::as_bytes(std::to_string(++sent_)));
                const auto signature = plan_.signing->sign(header.signing_digest(chain_id_));
                peer_.say(channel, p2p::HeaderPush{{header, signature}, {}});
            }
        }
    }

    const Plan& plan_;
    chain::ChainId chain_id_;
    base::crypto::PublicKey own_;
    Peer peer_;
    std::set<transport::ChannelId> channels_;
    chain::BlockHeader head_;  // The newest.
    chain::Slot last_ = 0;     // For which it has sent.
    std::size_t sent_ = 0;
};

}  // namespace

void vary_headers(const Plan& plan) {
    Variants(plan).run();
}

}  // namespace hostile
