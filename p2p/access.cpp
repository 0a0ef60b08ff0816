#include "p2p/access.hpp"

#include <fmt/format.h>

namespace p2p {

namespace {
constexpr std::size_t kFormerMax = 4'096;
}

void Access::set_registry(const std::vector<RegisteredNode>& nodes) {
    for (const auto& [key, node] : nodes_) {
        if (former_.size() < kFormerMax) former_.insert(key);
    }
    nodes_.clear();
    organisations_.clear();
    for (const RegisteredNode& node : nodes) {
        nodes_[node.key] = node;
        organisations_.insert(node.organisation);
        former_.erase(node.key);
    }
}

void Access::set_lists(const std::vector<PublicKey>& allow, const std::vector<PublicKey>& deny) {
    allow_ = {allow.begin(), allow.end()};
    deny_ = {deny.begin(), deny.end()};
}

Access::Answer Access::check(const PublicKey& key, bool may_be_unknown) const {
    if (deny_.contains(key)) {
        return {Reason::not_permitted, key.to_string() + " is on this node's deny list"};
    }
    if (!allow_.empty() && !allow_.contains(key)) {
        return {Reason::not_permitted, key.to_string() + " is not on this node's allow list"};
    }
    const auto at = nodes_.find(key);
    if (at != nodes_.end()) {
        return {{}, {}, at->second.organisation, at->second.roles, true};
    }
    if (former_.contains(key)) {
        return {Reason::revoked,
                key.to_string() + " was removed from the registry; regnode adds a new key"};
    }
    if (may_be_unknown) return {};
    return {Reason::not_permitted,
            fmt::format("{} is not one of the {} registered nodes; regnode registers it",
                        key.to_string(),
                        nodes_.size())};
}

std::optional<GoAway> Door::refusal(const PublicKey& key) const {
    // Ourselves, or a twin of ours: its hello tells which.
    if (key == own_) return {};
    Access::Answer answer = access_.check(key, false);
    if (!answer.refusal) return {};
    return GoAway{*answer.refusal, std::move(answer.text)};
}

}  // namespace p2p
