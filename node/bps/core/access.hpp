#pragma once

#include "base/pinned.hpp"
#include "chain/types/name.hpp"
#include "node/bps/core/partition_id.hpp"
#include "node/bps/core/refusal.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace bps {

// What one wants of a topic or a group. `see`: it is there, and what it is like; any other right
// has it in it.
enum class Right : std::uint8_t { produce, consume, admin, see };

// What a token is for (spec 08): less than what its principal may.
struct TokenScope {
    struct Item {
        bool prefixed = false;  // `topic` is the beginning of names.
        std::string topic;
        std::set<Right> rights;
    };

    std::vector<Item> items;

    [[nodiscard]] bool has(std::string_view topic, Right right) const;
    // On groups, which it does not name.
    [[nodiscard]] bool has_groups(Right right) const;
    // An item has every right on every topic: as much as the principal may.
    [[nodiscard]] bool is_whole() const;
};

// Who asks: account@permission (spec 08, "Who is who"). The account is the tenant.
struct Principal {
    chain::Name account;
    chain::Name permission;
    std::shared_ptr<const TokenScope> scope = nullptr;  // Null: all that it may.
};

struct TopicAccess {
    TopicId id = 0;
    std::int32_t partitions = 0;
};

// Who may do what, by the last final rows of the contract. Asked for every item of every request,
// and again before an answer that waited leaves.
//
// Thread: that of the broker. Times are milliseconds since 1970, of the local clock.
class Access : base::Pinned {
  public:
    virtual ~Access() = default;

    // topic_authorization_failed: there is no such topic, or the caller has no such right; which of
    // both is not told. not_leader_or_follower: the rows are too old to act on.
    [[nodiscard]] virtual Verdict<TopicAccess> topic(const Principal& caller,
                                                     std::string_view name,
                                                     Right right,
                                                     std::int64_t now) const = 0;
    // Who owns the group: `owner` has it; nobody has: whom it will belong to when the caller makes
    // it. group_authorization_failed: the caller has no such right. coordinator_not_available: the
    // rows are too old.
    [[nodiscard]] virtual Verdict<chain::Name> group(const Principal& caller,
                                                     std::string_view name,
                                                     std::optional<chain::Name> owner,
                                                     Right right,
                                                     std::int64_t now) const = 0;
    // The name of a topic; nothing: it is deleted.
    [[nodiscard]] virtual std::optional<std::string> topic_name(TopicId id) const = 0;
    // The number in the account's producer ids; nothing: the account has no number so far.
    [[nodiscard]] virtual std::optional<std::uint32_t> id_space(chain::Name account) const = 0;
};

}  // namespace bps
