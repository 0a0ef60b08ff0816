#include "node/bps/core/admin.hpp"

#include "node/bps/core/actions.hpp"

#include <utility>
#include <variant>

namespace bps {

Admin::Admin(const World& world, std::string cluster_id)
    : world_(world),
      metadata_(world.rights, world.directory, std::move(cluster_id)),
      ids_(world.rights, world.directory, chain_) {}

bool Admin::on_request(std::int64_t now,
                       const Caller& caller,
                       const Request& request,
                       Effects& out) {
    const Asked by{.now = now, .caller = caller};
    if (const auto* create = std::get_if<CreateTopicsRequest>(&request)) {
        create_topics(by, *create, out);
    } else if (const auto* removal = std::get_if<DeleteTopicsRequest>(&request)) {
        delete_topics(by, *removal, out);
    } else if (const auto* records = std::get_if<DeleteRecordsRequest>(&request)) {
        delete_records(by, *records, out);
    } else if (const auto* partitions = std::get_if<CreatePartitionsRequest>(&request)) {
        create_partitions(by, *partitions, out);
    } else if (const auto* configs = std::get_if<AlterConfigsRequest>(&request)) {
        alter_configs(by, *configs, out);
    } else if (const auto* some = std::get_if<IncrementalAlterConfigsRequest>(&request)) {
        alter_configs(by, *some, out);
    } else if (const auto* acls = std::get_if<CreateAclsRequest>(&request)) {
        create_acls(by, *acls, out);
    } else if (const auto* filters = std::get_if<DeleteAclsRequest>(&request)) {
        delete_acls(by, *filters, out);
    } else if (const auto* election = std::get_if<ElectLeadersRequest>(&request)) {
        elect_leaders(by, *election, out);
    } else if (const auto* moves = std::get_if<AlterPartitionReassignmentsRequest>(&request)) {
        alter_reassignments(by, *moves, out);
    } else {
        return on_question(by, request, out);
    }
    return true;
}

// What is answered at once.
bool Admin::on_question(const Asked& by, const Request& request, Effects& out) {
    Texts texts;
    const Caller& caller = by.caller;
    const auto answer = [&](const auto& response) {
        out.replies.push_back(reply_to(caller, response));
    };
    if (std::holds_alternative<ApiVersionsRequest>(request)) {
        answer(api_versions());
    } else if (const auto* metadata = std::get_if<MetadataRequest>(&request)) {
        answer(metadata_.metadata(by.now, caller, *metadata, texts));
    } else if (const auto* cluster = std::get_if<DescribeClusterRequest>(&request)) {
        answer(metadata_.describe_cluster(caller, *cluster, texts));
    } else if (const auto* id = std::get_if<InitProducerIdRequest>(&request)) {
        answer(init_producer_id(by, *id, out));
    } else if (const auto* configs = std::get_if<DescribeConfigsRequest>(&request)) {
        answer(describe_configs(by, *configs, texts));
    } else if (const auto* acls = std::get_if<DescribeAclsRequest>(&request)) {
        answer(describe_acls(caller, *acls, texts));
    } else if (const auto* moves = std::get_if<ListPartitionReassignmentsRequest>(&request)) {
        answer(list_reassignments(by, *moves));
    } else {
        return false;
    }
    return true;
}

void Admin::on_called(std::uint64_t ticket, const Verdict<void>& outcome, Effects& out) {
    if (!ids_.on_called(ticket, outcome)) chain_.on_called(ticket, outcome, out);
}

Verdict<const rows::Topic*> Admin::administered(const Asked& by, std::string_view name) const {
    const auto allowed = world_.rights.topic(by.caller.principal, name, Right::admin, by.now);
    if (!allowed) return refuse(allowed.error());
    return world_.rights.find_topic(allowed->id);
}

Verdict<const rows::Topic*> Admin::changeable(const Asked& by,
                                              std::string_view name,
                                              chain::Name action) const {
    auto topic = administered(by, name);
    if (!topic) return topic;
    const auto delegated = world_.rights.delegated((*topic)->owner, action, name);
    if (!delegated) return refuse(delegated.error());
    return topic;
}

// Who comes while there are none is told to come again, as Kafka's brokers do between two blocks
// of ids; every client does.
InitProducerIdResponse Admin::init_producer_id(const Asked& by,
                                               const InitProducerIdRequest& request,
                                               Effects& out) {
    InitProducerIdResponse response;
    response.producer_epoch = -1;
    if (request.transactional_id) {
        response.error_code = ErrorCode::transactional_id_authorization_failed;
        return response;
    }
    const auto id = ids_.next(by.now, by.caller.principal.account, out);
    if (!id) {
        response.error_code = ErrorCode::coordinator_load_in_progress;
        return response;
    }
    response.producer_id = *id;
    response.producer_epoch = 0;
    return response;
}

}  // namespace bps
