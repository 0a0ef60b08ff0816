#pragma once

#include "p2p/network.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace p2p {

// Who may connect (spec 05): the registry, or the genesis list, narrowed by the local lists.
class Access {
  public:
    struct Answer {
        std::optional<Reason> refusal;  // not_permitted or revoked.
        std::string text{};
        chain::Name organisation{};
        std::uint8_t roles = 0;
        bool is_listed = false;  // Else we take from it what certificates prove, no more.
    };

    void set_registry(const std::vector<RegisteredNode>& nodes);
    void set_lists(const std::vector<PublicKey>& allow, const std::vector<PublicKey>& deny);

    // `may_be_unknown`: we dialled it, and know but the genesis list yet.
    [[nodiscard]] Answer check(const PublicKey& key, bool may_be_unknown) const;
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    // Whether the registry, or the genesis list, has it.
    [[nodiscard]] bool has(const PublicKey& key) const { return nodes_.contains(key); }
    // Those that the nodes there belong to.
    [[nodiscard]] const std::set<chain::Name>& organisations() const { return organisations_; }

  private:
    std::map<PublicKey, RegisteredNode> nodes_;
    std::set<chain::Name> organisations_;
    std::set<PublicKey> former_;  // Listed once, and no more.
    std::set<PublicKey> allow_;
    std::set<PublicKey> deny_;
};

// What Access says of callers, for the threads of transports: a stranger's handshake ends there
// (spec 10, "anybody at the p2p port"). The conversation asks Access again: this may be a moment
// older. Immutable; any thread.
class Door {
  public:
    Door(Access access, const PublicKey& own) : access_(std::move(access)), own_(own) {}

    // What a caller who shows this key is told; nothing: it may come in.
    [[nodiscard]] std::optional<GoAway> refusal(const PublicKey& key) const;

  private:
    Access access_;
    PublicKey own_;
};

}  // namespace p2p
