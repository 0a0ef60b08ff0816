#pragma once

#include "chain/execution/authority_checker.hpp"
#include "node/bps/core/token.hpp"
#include "node/runtime.hpp"

#include <map>
#include <vector>

namespace node {

// Whether keys satisfy a permission, by the state after the last final block that is durable here.
//
// Thread: that of the broker.
class FinalPermissions final : public bps::PermissionCheck {
  public:
    // Outlives this, and has started before anything is asked.
    explicit FinalPermissions(const Runtime& runtime) : runtime_(runtime) {}

    [[nodiscard]] std::uint32_t height() const override;
    [[nodiscard]] bool satisfies(chain::Name account,
                                 chain::Name permission,
                                 const std::vector<base::crypto::PublicKey>& keys) const override;

  private:
    struct Asked {
        chain::Name account;
        chain::Name permission;
        std::vector<base::crypto::PublicKey> keys;  // Ascending.

        friend auto operator<=>(const Asked&, const Asked&) = default;
    };

    const Runtime& runtime_;
    mutable chain::PermissionCache cache_;
    // What was asked of the state after this block: sessions of one account ask the same.
    mutable std::uint32_t height_ = 0;
    mutable std::map<Asked, bool> answers_;
};

}  // namespace node
