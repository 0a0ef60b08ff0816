#pragma once

#include "base/pinned.hpp"
#include "chain/types/name.hpp"
#include "node/bps/core/actions.hpp"
#include "node/bps/core/chain_requests.hpp"
#include "node/bps/core/codec/requests.hpp"
#include "node/bps/core/directory.hpp"
#include "node/bps/core/metadata.hpp"
#include "node/bps/core/partitions.hpp"
#include "node/bps/core/producer_ids.hpp"
#include "node/bps/core/reply.hpp"
#include "node/bps/core/rights.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bps {

// The requests of administration (spec 08, "Protocol"). What changes topics, rights or leaders is
// an action on the chain: it is checked here by the final rows, so that a client is told with
// Kafka's code, and answered once it is final.
//
// Thread: that of the broker.
class Admin : base::Pinned {
  public:
    // All of it outlives this.
    struct World {
        const Rights& rights;
        const Directory& directory;
        const Partitions& partitions;
    };
    Admin(const World& world, std::string cluster_id);

    // False: it is another's to answer.
    [[nodiscard]] bool on_request(std::int64_t now,
                                  const Caller& caller,
                                  const Request& request,
                                  Effects& out);
    void on_called(std::uint64_t ticket, const Verdict<void>& outcome, Effects& out);
    void on_time(std::int64_t now, Effects& out) { chain_.on_time(now, out); }
    void on_closed(std::uint64_t connection) { chain_.on_closed(connection); }
    [[nodiscard]] std::optional<std::int64_t> next_time() const { return chain_.next_time(); }
    [[nodiscard]] const ChainRequests& chain() const { return chain_; }
    // ChainRequests::call().
    std::uint64_t call(chain::Name action, base::Bytes data, Effects& out) {
        return chain_.call(action, std::move(data), out);
    }

  private:
    using Place = ChainAnswer::Place;
    struct Asked {
        std::int64_t now = 0;
        const Caller& caller;
    };

    // Of requests that say none. Clients wait for 30 s or more.
    static constexpr std::int32_t kNoTimeoutSaidMs = 25'000;

    // --- admin.cpp --------------------------------------------------------------------------
    [[nodiscard]] bool on_question(const Asked& by, const Request& request, Effects& out);
    // A topic that the caller administers. Refused as Access does.
    [[nodiscard]] Verdict<const rows::Topic*> administered(const Asked& by,
                                                           std::string_view name) const;
    // The same, if this broker may push the action in its owner's name, too.
    [[nodiscard]] Verdict<const rows::Topic*> changeable(const Asked& by,
                                                         std::string_view name,
                                                         chain::Name action) const;
    [[nodiscard]] chain::Name self() const { return world_.rights.settings().broker_account; }
    template <class Action>
    [[nodiscard]] static ChainAnswer::Part part(const Action& action,
                                                const std::vector<Place>& places,
                                                std::string_view subject = {}) {
        return {.action = Action::kName,
                .data = chain::pack(action),
                .places = places,
                .subject = std::string(subject)};
    }
    [[nodiscard]] InitProducerIdResponse init_producer_id(const Asked& by,
                                                          const InitProducerIdRequest& request,
                                                          Effects& out);

    // --- admin_topics.cpp -------------------------------------------------------------------
    void create_topics(const Asked& by, const CreateTopicsRequest& request, Effects& out);
    [[nodiscard]] Verdict<void> check_new_name(const Asked& by, std::string_view name) const;
    [[nodiscard]] Verdict<actions::CreateTopic> new_topic(
        const Asked& by, const CreateTopicsRequest::Topic& topic) const;
    [[nodiscard]] Verdict<actions::Assignment> assignment_of(
        const CreateTopicsRequest::Topic& topic) const;
    void delete_topics(const Asked& by, const DeleteTopicsRequest& request, Effects& out);
    void create_partitions(const Asked& by, const CreatePartitionsRequest& request, Effects& out);
    [[nodiscard]] Verdict<actions::AddParts> more_partitions(
        const Asked& by, const CreatePartitionsRequest::Topic& topic) const;
    // --- admin_records.cpp ------------------------------------------------------------------
    void delete_records(const Asked& by, const DeleteRecordsRequest& request, Effects& out);
    void delete_records_of(const Asked& by,
                           const DeleteRecordsRequest::Topic& topic,
                           ChainAnswer& answer) const;

    // --- admin_leaders.cpp ------------------------------------------------------------------
    void elect_leaders(const Asked& by, const ElectLeadersRequest& request, Effects& out);
    // The partitions that need an election of this type.
    [[nodiscard]] std::vector<std::int32_t> in_need(const rows::Topic& topic,
                                                    std::int8_t type) const;
    // Which action gives the partition a better leader, if one can and must be.
    [[nodiscard]] Verdict<chain::Name> election_of(PartitionId id, std::int8_t type) const;
    void alter_reassignments(const Asked& by,
                             const AlterPartitionReassignmentsRequest& request,
                             Effects& out);
    // Nothing: it is as it is wanted.
    [[nodiscard]] Verdict<std::optional<actions::Reassign>> reassignment_of(
        const rows::Topic& topic,
        const AlterPartitionReassignmentsRequest::Partition& partition) const;
    [[nodiscard]] ListPartitionReassignmentsResponse list_reassignments(
        const Asked& by, const ListPartitionReassignmentsRequest& request) const;

    // --- admin_configs.cpp ------------------------------------------------------------------
    [[nodiscard]] DescribeConfigsResponse describe_configs(const Asked& by,
                                                           const DescribeConfigsRequest& request,
                                                           Texts& texts) const;
    [[nodiscard]] Verdict<std::vector<DescribeConfigsResponse::Config>> configs_of(
        const Asked& by,
        const DescribeConfigsRequest& request,
        const DescribeConfigsRequest::Resource& resource,
        Texts& texts) const;
    [[nodiscard]] std::vector<DescribeConfigsResponse::Config> configs_of_broker(
        std::int32_t id, Texts& texts) const;
    void alter_configs(const Asked& by, const AlterConfigsRequest& request, Effects& out);
    void alter_configs(const Asked& by,
                       const IncrementalAlterConfigsRequest& request,
                       Effects& out);
    template <class Response>
    void alter(const Asked& by, const auto& request, Effects& out);
    // Nothing: the settings are so already.
    template <class Resource>
    [[nodiscard]] Verdict<std::optional<actions::AlterTopic>> alteration(
        const Asked& by, const Resource& resource) const;

    // --- admin_acls.cpp ---------------------------------------------------------------------
    [[nodiscard]] DescribeAclsResponse describe_acls(const Caller& caller,
                                                     const DescribeAclsRequest& request,
                                                     Texts& texts) const;
    void create_acls(const Asked& by, const CreateAclsRequest& request, Effects& out);
    // What is left to grant, each with its owner.
    [[nodiscard]] Verdict<std::vector<actions::Grant>> grants_of(
        const Caller& caller, const CreateAclsRequest::Acl& acl) const;
    void delete_acls(const Asked& by, const DeleteAclsRequest& request, Effects& out);

    World world_;
    Metadata metadata_;
    ChainRequests chain_;
    ProducerIds ids_;
};

}  // namespace bps
