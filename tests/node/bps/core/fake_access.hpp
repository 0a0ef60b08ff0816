#pragma once

#include "node/bps/core/access.hpp"

#include <map>
#include <set>
#include <string>

namespace support {

// Who may do what, as a test says.
class FakeAccess final : public bps::Access {
  public:
    [[nodiscard]] bps::Verdict<bps::TopicAccess> topic(const bps::Principal& caller,
                                                       std::string_view name,
                                                       bps::Right right,
                                                       std::int64_t /*now*/) const override {
        const auto at = topics.find(std::string(name));
        if (at == topics.end() || denied.contains({caller.account.value, right})) {
            return bps::refuse(bps::ErrorCode::topic_authorization_failed, "not allowed");
        }
        return at->second;
    }
    // A group is used by its owner only.
    [[nodiscard]] bps::Verdict<chain::Name> group(const bps::Principal& caller,
                                                  std::string_view /*name*/,
                                                  std::optional<chain::Name> owner,
                                                  bps::Right /*right*/,
                                                  std::int64_t /*now*/) const override {
        if (!owner || *owner == caller.account) return caller.account;
        return bps::refuse(bps::ErrorCode::group_authorization_failed, "not allowed");
    }
    [[nodiscard]] std::optional<std::string> topic_name(bps::TopicId id) const override {
        for (const auto& [name, access] : topics) {
            if (access.id == id) return name;
        }
        return std::nullopt;
    }

    std::map<std::string, bps::TopicAccess> topics;
    std::set<std::pair<std::uint64_t, bps::Right>> denied;
};

}  // namespace support
