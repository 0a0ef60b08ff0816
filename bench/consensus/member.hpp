#pragma once

#include "bench/consensus/slow_disk.hpp"
#include "node/ledger.hpp"
#include "node/node.hpp"
#include "node/peers.hpp"
#include "node/runtime.hpp"
#include "transport/tcp/thread.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace bench {

// When each block came to whom, and when it was final there. Any thread.
class Moments {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Moments(std::size_t members) : members_(members) {}
    // By a member's index, below 32. A block that came again came before.
    void note_receipt(std::size_t member, const chain::BlockId& id);
    void note_final(std::size_t member, const chain::BlockId& id);
    // Milliseconds from the last receipt of a block to its being final at all, of those blocks
    // that were made by one and came to all others; in the order of their heights.
    [[nodiscard]] std::vector<double> to_final() const;
    [[nodiscard]] std::size_t complete() const;

  private:
    struct Times {
        std::uint32_t receipts = 0;  // Bits of members.
        std::uint32_t finals = 0;
        Clock::time_point last_receipt{};
        Clock::time_point last_final{};
    };

    const std::size_t members_;
    mutable std::mutex mutex_;
    std::map<chain::BlockId, Times> blocks_;  // Ids begin with the height.
};

// A validator with all that it has but HTTP: storage and journal on disk, TCP with TLS.
class Member final : public transport::Host, public node::Plugin {
  public:
    struct Parts {
        std::size_t index = 0;
        node::Options options;
        std::chrono::milliseconds sync_delay{0};
        Moments& moments;
        SyncTimes& times;
        base::LogSink& log;
    };
    explicit Member(const Parts& parts);
    ~Member() override;

    void start();
    void stop();

    [[nodiscard]] transport::Verdict admit(const transport::PeerKey& peer, bool outbound) override {
        return runtime_->admit(peer, outbound);
    }
    void on_events(std::vector<transport::Event>& events) override;
    void on_finalized(const node::effect::Finalized& finalized) override;

  private:
    [[nodiscard]] std::unique_ptr<node::NetworkedCore> open_core(node::Effects& first);

    const std::size_t index_;
    node::Options options_;
    Moments& moments_;
    base::LogSink& log_;
    node::Ledger ledger_;
    node::Execution execution_;
    SlowStorage storage_;
    node::PeerSettings peers_;
    std::unique_ptr<transport::tcp::Thread> transport_;
    std::unique_ptr<node::Runtime> runtime_;
    base::Bytes scratch_;
};

}  // namespace bench
