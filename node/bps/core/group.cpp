#include "node/bps/core/group.hpp"

#include "base/check.hpp"
#include "base/codec.hpp"
#include "node/bps/core/codec/reader.hpp"

#include <algorithm>

namespace bps {

std::string_view to_text(GroupState state) {
    switch (state) {
        case GroupState::empty:
            return "Empty";
        case GroupState::preparing_rebalance:
            return "PreparingRebalance";
        case GroupState::completing_rebalance:
            return "CompletingRebalance";
        case GroupState::stable:
            return "Stable";
    }
    CHECK(false);
}

const GroupMember::Protocol* GroupMember::find_protocol(std::string_view name) const {
    const auto at = std::ranges::find(protocols, name, &Protocol::name);
    return at == protocols.end() ? nullptr : &*at;
}

GroupMember* Group::find_member(std::string_view id) {
    const auto at = members.find(id);
    return at == members.end() ? nullptr : &at->second;
}

std::set<std::string_view> Group::common_protocols(std::string_view except) const {
    std::map<std::string_view, std::size_t> known;
    std::size_t others = 0;
    for (const auto& [id, member] : members) {
        if (id == except) continue;
        ++others;
        std::set<std::string_view> names;
        for (const GroupMember::Protocol& each : member.protocols) {
            if (names.insert(each.name).second) ++known[each.name];
        }
    }
    std::set<std::string_view> common;
    for (const auto& [each, count] : known) {
        if (count == others) common.insert(each);
    }
    return common;
}

bool Group::accepts(std::string_view type,
                    const std::vector<JoinGroupRequest::Protocol>& protocols,
                    std::string_view except) const {
    if (type.empty() || protocols.empty()) return false;
    const bool is_alone = members.empty() || (members.size() == 1 && members.contains(except));
    if (is_alone || type != protocol_type) return is_alone;
    const auto common = common_protocols(except);
    return std::ranges::any_of(protocols,
                               [&](const auto& each) { return common.contains(each.name); });
}

std::optional<std::string> Group::select_protocol() const {
    if (members.empty()) return std::nullopt;
    const auto common = common_protocols({});
    std::map<std::string, std::size_t> votes;
    for (const auto& [id, member] : members) {
        const auto vote = std::ranges::find_if(
            member.protocols, [&](const auto& each) { return common.contains(each.name); });
        if (vote != member.protocols.end()) ++votes[vote->name];
    }
    // Of those with as many votes, the first by name.
    const auto most = std::ranges::max_element(
        votes, [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == votes.end() ? std::nullopt : std::optional(most->first);
}

bool Group::is_committing(PartitionId id) const {
    const auto at = committing.lower_bound({id, 0});
    return at != committing.end() && at->first == id;
}

bool Group::have_all_joined() const {
    return pending.empty() && std::ranges::all_of(members, [](const auto& entry) {
               return entry.second.joins.has_value();
           });
}

std::int32_t Group::rebalance_timeout_ms() const {
    // What a client says may be nothing; a deadline that is always over would never rest.
    std::int32_t longest = 1'000;
    for (const auto& [id, member] : members)
        longest = std::max(longest, member.rebalance_timeout_ms);
    return longest;
}

bool Group::elect_joined_leader() {
    if (const GroupMember* const now = find_member(leader); now != nullptr && now->joins) {
        return true;
    }
    const auto joined = std::ranges::find_if(
        members, [](const auto& entry) { return entry.second.joins.has_value(); });
    if (joined == members.end()) return false;
    leader = joined->first;
    return true;
}

std::optional<std::set<std::string>> Group::subscribed_topics() const {
    std::set<std::string> topics;
    for (const auto& [id, member] : members) {
        for (const GroupMember::Protocol& each : member.protocols) {
            auto named = topics_of_subscription(each.metadata);
            if (!named) return std::nullopt;
            topics.merge(*named);
        }
    }
    return topics;
}

std::set<PartitionId> Group::offset_ids() const {
    std::set<PartitionId> ids;
    for (const auto& [id, committed] : offsets)
        ids.insert(id);
    for (const auto& [id, write] : committing)
        ids.insert(id);
    return ids;
}

std::size_t Group::bytes() const {
    std::size_t all = kMemberBytes + name.size() + member_bytes();
    for (const auto& [id, committed] : offsets)
        all += kOffsetBytes + committed.metadata.size();
    return all;
}

std::size_t Group::member_bytes() const {
    std::size_t all = 0;
    for (const auto& [id, member] : members) {
        all += kMemberBytes + 2 * id.size() + member.client_id.size() + member.assignment.size();
        for (const GroupMember::Protocol& each : member.protocols)
            all += each.name.size() + each.metadata.size();
    }
    for (const auto& [id, until] : pending)
        all += kMemberBytes + id.size();
    return all;
}

bool Group::erase_offset(PartitionId id) {
    const std::size_t known = offsets.erase(id);
    const std::size_t coming =
        std::erase_if(committing, [id](const auto& entry) { return entry.first == id; });
    return known + coming > 0;
}

void Group::check_invariants() const {
    CHECK(leader.empty() || members.contains(leader));
    CHECK((state == GroupState::empty) <= members.empty());
    for (const auto& [instance, id] : instances)
        CHECK(members.at(id).instance == instance);
    for (const auto& [id, member] : members) {
        CHECK(member.id == id);
        if (member.instance) CHECK(instances.at(*member.instance) == id);
        CHECK(member.waits() != member.expires_at.has_value());
        if (member.joins) CHECK(state == GroupState::preparing_rebalance);
        if (member.syncs) CHECK(state == GroupState::completing_rebalance);
        const bool has_protocol =
            state == GroupState::completing_rebalance || state == GroupState::stable;
        if (has_protocol) CHECK(protocol && member.find_protocol(*protocol) != nullptr);
    }
}

base::Result<std::set<std::string>> topics_of_subscription(base::ByteView metadata) {
    Reader in(metadata);
    if (in.integer<std::int16_t>("version") < 0) in.set_error("version", "negative");
    std::set<std::string> topics;
    for (auto left = in.integer<std::int32_t>("topics"); left > 0 && in.ok(); --left) {
        const auto size = in.integer<std::int16_t>("topic");
        if (size < 0) in.set_error("topic", "negative length");
        if (!in.ok()) break;
        topics.emplace(base::as_text(in.raw(static_cast<std::size_t>(size), "topic")));
    }
    // What later versions have behind it is of no interest here.
    if (const auto good = in.status(); !good) return base::fail(good.error());
    return topics;
}

}  // namespace bps
