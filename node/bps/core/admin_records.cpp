// Records deleted: an action on the chain (spec 08, "Anchors").
#include "node/bps/core/admin.hpp"

#include <set>

namespace bps {

void Admin::delete_records(const Asked& by, const DeleteRecordsRequest& request, Effects& out) {
    ChainAnswer answer{DeleteRecordsResponse{}};
    auto& topics = std::get<DeleteRecordsResponse>(answer.response).topics;
    for (const DeleteRecordsRequest::Topic& topic : request.topics) {
        topics.emplace_back().name = answer.texts.keep(topic.name);
        delete_records_of(by, topic, answer);
    }
    chain_.start(by.now, by.caller, request.timeout_ms, std::move(answer), out);
}

// One action for all partitions of the topic: the last item in the answer. What is deleted already
// is none.
void Admin::delete_records_of(const Asked& by,
                              const DeleteRecordsRequest::Topic& topic,
                              ChainAnswer& answer) const {
    auto& topics = std::get<DeleteRecordsResponse>(answer.response).topics;
    auto& items = topics.back().partitions;
    const auto allowed = world_.rights.topic(by.caller.principal, topic.name, Right::admin, by.now);
    std::set<std::int32_t> named;
    std::vector<Place> places;
    actions::DeleteRecords action{.by = self(), .topic = allowed ? allowed->id : 0, .starts = {}};
    for (const DeleteRecordsRequest::Partition& asked : topic.partitions) {
        auto& item = items.emplace_back();
        item.partition_index = asked.partition_index;
        const Place at{topics.size() - 1, items.size() - 1};
        const auto partition = world_.partitions.get(allowed, asked.partition_index);
        const auto to = partition ? (*partition)->deletable(asked.offset)
                                  : Verdict<std::int64_t>(refuse(partition.error()));
        if (!to) {
            answer.refuse(at, to.error());
        } else if (!named.insert(asked.partition_index).second) {
            answer.refuse(at, {ErrorCode::invalid_request, "the partition is named twice"});
        } else if (*to <= (*partition)->log().start()) {
            item.low_watermark = (*partition)->log().start();
        } else {
            item.low_watermark = *to;
            places.push_back(at);
            action.starts.push_back({static_cast<std::uint32_t>(asked.partition_index), *to});
        }
    }
    if (places.empty()) return;
    const auto delegated = changeable(by, topic.name, actions::DeleteRecords::kName);
    if (delegated) {
        answer.parts.push_back(part(action, places));
        return;
    }
    for (const Place& at : places)
        answer.refuse(at, delegated.error());
}

}  // namespace bps
