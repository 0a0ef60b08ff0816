#pragma once

#include "chain/execution/authority_checker.hpp"
#include "node/bps/core/token.hpp"
#include "node/runtime.hpp"

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
    const Runtime& runtime_;
    mutable chain::PermissionCache cache_;
};

}  // namespace node
