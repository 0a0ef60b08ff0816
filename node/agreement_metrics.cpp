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

double milliseconds(base::Duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

AgreementMetrics::AgreementMetrics(prometheus::Registry& registry)
    : registry_(registry),
      votes_missing_(prometheus::BuildCounter()
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
      peers_(prometheus::BuildGauge()
                 .Name("bor_peers")
                 .Help("Connections by transport and state")
                 .Register(registry)) {}

void AgreementMetrics::count_block(const chain::Block& block) {
    const chain::Slot slot = block.header.slot;
    // A head that moves to another branch may go back.
    if (last_slot_ != 0 && slot > last_slot_ + 1) {
        slots_missed_.Increment(static_cast<double>(slot - last_slot_ - 1));
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
        set("bor_quorum_votes", "Votes that make a block final", schedule->quorum());
        set("bor_validators", "In the schedule in force", schedule->entries.size());
        const auto misses = chain::load_misses(*view.final_state);
        for (const chain::ScheduleEntry& entry : schedule->entries) {
            std::uint32_t slots = 0;
            if (misses) {
                const auto found =
                    std::ranges::find(*misses, entry.producer, &chain::Misses::producer);
                if (found != misses->end()) slots = found->slots;
            }
            missed_in_a_row_.Add({{"validator", entry.producer.to_string()}}).Set(slots);
        }
    }
    set("bor_p2p_duplicates", "Things received again since the start", status.duplicates_dropped);
    set("bor_p2p_go_aways_sent", "Peers refused since the start", status.go_aways_sent);
    set("bor_p2p_go_aways_received", "Refusals by peers since the start", status.go_aways_received);
    set("bor_sync_target_height", "Of the best peer's head", status.sync.target);
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
            .Set(static_cast<double>(count));
    }
    std::uint64_t fallbacks = 0;
    std::uint64_t stalls = 0;
    for (const transport::ChannelStatus& channel : channels) {
        fallbacks += channel.fallbacks;
        stalls += channel.stalls;
    }
    set("bor_transport_fallbacks",
        "From a faster transport to TCP, of the connections of now",
        fallbacks);
    set("bor_transport_stalls",
        "How often the peers of now left no room for what was queued",
        stalls);
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
    set("bor_p2p_received_bytes", "From the peers of now", in);
    set("bor_p2p_sent_bytes", "To the peers of now", out);
    set("bor_p2p_received_messages", "From the peers of now", messages);
    set("bor_p2p_dropped_messages", "Beyond the budgets of the peers of now", dropped);
    set("bor_clock_offset_milliseconds",
        "Of the peer whose clock differs most: its clock minus ours",
        offset);
    set("bor_round_trip_milliseconds", "To the peer that is farthest away", trip);
}

}  // namespace node
