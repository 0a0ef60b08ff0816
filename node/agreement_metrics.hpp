#pragma once

#include "node/core/core.hpp"
#include "p2p/status.hpp"
#include "transport/channel_status.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <optional>
#include <string>
#include <vector>

namespace node {

// Sets a gauge without labels, which is made when it is first set. Thread: any.
template <class T>
void set_gauge(prometheus::Registry& registry,
               const std::string& name,
               const std::string& help,
               T value) {
    prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({}).Set(
        static_cast<double>(value));
}

// The part of the metrics that is about other validators and peers.
//
// Threads: count_* on the core thread, show() on any, one at a time.
class AgreementMetrics {
  public:
    explicit AgreementMetrics(prometheus::Registry& registry);

    // Slots without a block, between a head and the one before.
    void count_block(const chain::Block& block);
    // Validators whose COMMIT is not in the certificate.
    void count_votes(const chain::Certificate& certificate, const chain::StateView& final_state);

    void show(const Published& view,
              const p2p::Status& status,
              const std::vector<transport::ChannelStatus>& channels);

  private:
    void show_peers(const p2p::Status& status);
    void show_channels(const p2p::Status& status,
                       const std::vector<transport::ChannelStatus>& channels);

    template <class T>
    void set(const char* name, const char* help, T value) {
        set_gauge(registry_, name, help, value);
    }

    prometheus::Registry& registry_;
    prometheus::Family<prometheus::Counter>& votes_missing_;
    prometheus::Counter& slots_missed_;
    prometheus::Family<prometheus::Gauge>& missed_in_a_row_;
    prometheus::Family<prometheus::Gauge>& peers_;

    // Core thread only.
    chain::Slot last_slot_ = 0;
    std::optional<chain::Schedule> schedule_;
};

}  // namespace node
