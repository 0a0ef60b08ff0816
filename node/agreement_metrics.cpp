#include "node/agreement_metrics.hpp"

#include "chain/execution/schedule_rows.hpp"
#include "node/api/validator_json.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <utility>

namespace node {

namespace {

using p2p::PeerState;

template <class T>
double number(T value) {
    return static_cast<double>(value);
}

prometheus::Gauge& gauge(prometheus::Registry& registry,
                         const std::string& name,
                         const std::string& help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

double milliseconds(base::Duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

AgreementMetrics::AgreementMetrics(prometheus::Registry& registry)
    : votes_missing_(prometheus::BuildCounter()
                         .Name("bor_votes_missing_total")
                         .Help("Certificates of final blocks without the validator's vote")
                         .Register(registry)),
      slots_missed_(prometheus::BuildCounter()
                        .Name("bor_slots_missed_total")
                        .Help("Slots without a block on the branch of the head")
                        .Register(registry)
                        .Add({})),
      missed_in_a_row_(prometheus::BuildGauge()
                           .Name("bor_slots_missed_in_a_row")
                           .Help("Of a scheduled validator; max_missed takes it out")
                           .Register(registry)),
      quorum_(gauge(registry, "bor_quorum_votes", "Votes that make a block final")),
      validators_(gauge(registry, "bor_validators", "In the schedule in force")),
      peers_(prometheus::BuildGauge()
                 .Name("bor_peers")
                 .Help("Connections by transport and state")
                 .Register(registry)),
      fallbacks_(gauge(registry,
                       "bor_transport_fallbacks",
                       "From a faster transport to TCP, of the connections of now")),
      stalls_(gauge(registry,
                    "bor_transport_stalls",
                    "How often the peers of now left no room for what was queued")),
      bytes_in_(gauge(registry, "bor_p2p_received_bytes", "From the peers of now")),
      bytes_out_(gauge(registry, "bor_p2p_sent_bytes", "To the peers of now")),
      messages_in_(gauge(registry, "bor_p2p_received_messages", "From the peers of now")),
      messages_dropped_(
          gauge(registry, "bor_p2p_dropped_messages", "Beyond the budgets of the peers of now")),
      duplicates_(gauge(registry, "bor_p2p_duplicates", "Things received again since the start")),
      go_aways_sent_(gauge(registry, "bor_p2p_go_aways_sent", "Peers refused since the start")),
      go_aways_received_(
          gauge(registry, "bor_p2p_go_aways_received", "Refusals by peers since the start")),
      clock_offset_(gauge(registry,
                          "bor_clock_offset_milliseconds",
                          "Of the peer whose clock differs most: its clock minus ours")),
      round_trip_(
          gauge(registry, "bor_round_trip_milliseconds", "To the peer that is farthest away")),
      sync_target_(gauge(registry, "bor_sync_target_height", "Of the best peer's head")) {}

void AgreementMetrics::count_block(const chain::Block& block) {
    const chain::Slot slot = block.header.slot;
    // A head that moves to another branch may go back.
    if (last_slot_ != 0 && slot > last_slot_ + 1) {
        slots_missed_.Increment(number(slot - last_slot_ - 1));
    }
    last_slot_ = slot;
}

void AgreementMetrics::count_votes(const chain::Certificate& certificate,
                                   const chain::StateView& final_state) {
    const std::uint32_t version = certificate.data.schedule_version;
    if (!schedule_ || schedule_->version != version) {
        auto schedule = chain::load_schedule(final_state);
        if (!schedule || schedule->version != version) return;
        schedule_ = std::move(*schedule);
    }
    for (std::size_t i = 0; i < schedule_->entries.size(); ++i) {
        const std::string name = schedule_->entries[i].producer.to_string();
        votes_missing_.Add({{"validator", name}})
            .Increment(api::has_signed(certificate, i) ? 0.0 : 1.0);
    }
}

void AgreementMetrics::show(const Published& view,
                            const p2p::Status& status,
                            const std::vector<transport::ChannelStatus>& channels) {
    if (const auto schedule = chain::load_schedule(*view.final_state)) {
        quorum_.Set(number(schedule->quorum()));
        validators_.Set(number(schedule->entries.size()));
        const auto misses = chain::load_misses(*view.final_state);
        for (const chain::ScheduleEntry& entry : schedule->entries) {
            std::uint32_t slots = 0;
            if (misses) {
                const auto found =
                    std::ranges::find(*misses, entry.producer, &chain::Misses::producer);
                if (found != misses->end()) slots = found->slots;
            }
            missed_in_a_row_.Add({{"validator", entry.producer.to_string()}}).Set(number(slots));
        }
    }
    duplicates_.Set(number(status.duplicates_dropped));
    go_aways_sent_.Set(number(status.go_aways_sent));
    go_aways_received_.Set(number(status.go_aways_received));
    sync_target_.Set(number(status.sync.target));
    show_peers(status);
    show_channels(status, channels);
}

// A channel that is not up is TCP's.
void AgreementMetrics::show_channels(const p2p::Status& status,
                                     const std::vector<transport::ChannelStatus>& channels) {
    using transport::Kind;
    std::map<std::pair<Kind, PeerState>, std::size_t> counts;
    for (const Kind kind : {Kind::tcp, Kind::rdma, Kind::ntb, Kind::shm}) {
        for (const PeerState state : {PeerState::greeting, PeerState::accepted, PeerState::ready})
            counts[{kind, state}] = 0;
    }
    for (const p2p::PeerStatus& peer : status.peers) {
        const auto channel =
            std::ranges::find(channels, peer.channel, &transport::ChannelStatus::channel);
        const auto kind = channel == channels.end() ? Kind::tcp : channel->kind;
        ++counts[{kind, peer.state}];
    }
    for (const auto& [which, count] : counts) {
        const auto& [kind, state] = which;
        peers_
            .Add({{"transport", std::string(transport::to_string(kind))},
                  {"state", std::string(p2p::to_string(state))}})
            .Set(number(count));
    }
    std::uint64_t fallbacks = 0;
    std::uint64_t stalls = 0;
    for (const transport::ChannelStatus& channel : channels) {
        fallbacks += channel.fallbacks;
        stalls += channel.stalls;
    }
    fallbacks_.Set(number(fallbacks));
    stalls_.Set(number(stalls));
}

void AgreementMetrics::show_peers(const p2p::Status& status) {
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    std::uint64_t messages = 0;
    std::uint64_t dropped = 0;
    double offset = 0;
    double trip = 0;
    for (const p2p::PeerStatus& peer : status.peers) {
        in += peer.bytes_received;
        out += peer.bytes_sent;
        messages += peer.messages_received;
        dropped += peer.messages_dropped;
        if (peer.round_trip) trip = std::max(trip, milliseconds(*peer.round_trip));
        if (!peer.clock_offset) continue;
        const double theirs = milliseconds(*peer.clock_offset);
        if (std::abs(theirs) > std::abs(offset)) offset = theirs;
    }
    bytes_in_.Set(number(in));
    bytes_out_.Set(number(out));
    messages_in_.Set(number(messages));
    messages_dropped_.Set(number(dropped));
    clock_offset_.Set(offset);
    round_trip_.Set(trip);
}

}  // namespace node
