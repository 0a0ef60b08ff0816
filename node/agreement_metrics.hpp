#pragma once

#include "node/core/core.hpp"
#include "p2p/status.hpp"
#include "transport/channel_status.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <optional>
#include <vector>

namespace node {

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

    prometheus::Family<prometheus::Counter>& votes_missing_;
    prometheus::Counter& slots_missed_;
    prometheus::Family<prometheus::Gauge>& missed_in_a_row_;
    prometheus::Gauge& quorum_;
    prometheus::Gauge& validators_;
    prometheus::Family<prometheus::Gauge>& peers_;
    prometheus::Gauge& fallbacks_;
    prometheus::Gauge& stalls_;
    prometheus::Gauge& bytes_in_;
    prometheus::Gauge& bytes_out_;
    prometheus::Gauge& messages_in_;
    prometheus::Gauge& messages_dropped_;
    prometheus::Gauge& duplicates_;
    prometheus::Gauge& go_aways_sent_;
    prometheus::Gauge& go_aways_received_;
    prometheus::Gauge& clock_offset_;
    prometheus::Gauge& round_trip_;
    prometheus::Gauge& sync_target_;

    // Core thread only.
    chain::Slot last_slot_ = 0;
    std::optional<chain::Schedule> schedule_;
};

}  // namespace node
