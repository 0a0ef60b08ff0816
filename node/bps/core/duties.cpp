#include "node/bps/core/duties.hpp"

#include "node/bps/core/actions.hpp"
#include "node/bps/core/placement.hpp"

#include <algorithm>
#include <cstddef>

namespace bps {

namespace {

constexpr std::size_t kOffsetsPartitions = 8;  // Groups are spread over so many coordinators.
// The last segment is not compacted, and all is read when a coordinator starts.
constexpr const char* kOffsetsSegmentBytes = "1048576";

}  // namespace

template <class Action>
void Duties::ask(std::int64_t now, Duty& duty, const Action& action, Effects& out) {
    duty.ticket = world_.admin.call(Action::kName, chain::pack(action), out);
    duty.asked_at = now;
}

void Duties::on_final(std::int64_t now, Effects& out) {
    answer_suspicion(now, out);
    elect(now, out);
}

// Anybody may ask for an election. Who becomes the leader does, so that not all brokers do.
void Duties::elect(std::int64_t now, Effects& out) {
    if (!election_.is_due(now)) return;
    actions::Elect action;
    for (const auto& [id, row] : world_.directory.partitions()) {
        if (world_.directory.live_leader(row) || !would_lead(row)) continue;
        action.partitions.push_back(
            {.topic = id.topic, .partition = static_cast<std::uint32_t>(id.index)});
        if (action.partitions.size() == actions::kListMax) break;
    }
    if (action.partitions.empty()) return;
    ask(now, election_, action, out);
}

bool Duties::would_lead(const rows::Partition& row) const {
    const auto next = std::ranges::find_if(row.replicas, [this](const rows::Replica& each) {
        return world_.directory.is_in_sync(each) && world_.directory.is_live(each.broker);
    });
    return next != row.replicas.end() && next->broker == self();
}

void Duties::answer_suspicion(std::int64_t now, Effects& out) {
    const rows::Broker* const row = world_.directory.find_broker(self());
    if (row == nullptr || (!row->fenced && row->suspected_at == 0) || !answer_.is_due(now)) return;
    ask(now, answer_, actions::Alive{.broker = self(), .boot = row->boot}, out);
}

Verdict<void> Duties::make_offsets_topic(std::int64_t now, Effects& out) {
    const Rights::Settings& settings = world_.rights.settings();
    if (!offsets_topic_.is_due(now)) return {};
    auto delegated =
        world_.rights.delegated(settings.contract, actions::CreateTopic::kName, kOffsetsTopic);
    if (!delegated) return delegated;
    auto assignment =
        place(world_.directory, kOffsetsPartitions, default_replication(world_.directory));
    if (!assignment) return refuse(assignment.error());
    const actions::CreateTopic action{
        .by = settings.broker_account,
        .owner = settings.contract,
        .name = std::string(kOffsetsTopic),
        .settings = {{"cleanup.policy", "compact"}, {"segment.bytes", kOffsetsSegmentBytes}},
        .assignment = *std::move(assignment)};
    ask(now, offsets_topic_, action, out);
    return {};
}

bool Duties::on_called(std::uint64_t ticket, const Verdict<void>& outcome) {
    for (Duty* const duty : {&election_, &answer_, &offsets_topic_}) {
        if (duty->ticket != ticket) continue;
        duty->ticket.reset();
        duty->is_refused = !outcome.has_value();
        return true;
    }
    return false;
}

}  // namespace bps
