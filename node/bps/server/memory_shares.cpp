#include "node/bps/server/memory_shares.hpp"

#include "base/check.hpp"

namespace bps {

bool MemoryShares::try_take(Tenant tenant, std::size_t bytes, Use use) {
    const std::scoped_lock lock(mutex_);
    const std::size_t free = bytes_max_ - used_;
    const std::size_t share = use == Use::request ? free / 2 : free;
    const auto found = by_tenant_.find(tenant);
    const std::size_t has = found == by_tenant_.end() ? 0 : found->second;
    if (has + bytes > share) return false;
    used_ += bytes;
    by_tenant_[tenant] = has + bytes;
    return true;
}

void MemoryShares::give(Tenant tenant, std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    const auto found = by_tenant_.find(tenant);
    CHECK(found != by_tenant_.end() && found->second >= bytes && used_ >= bytes);
    used_ -= bytes;
    found->second -= bytes;
    if (found->second == 0) by_tenant_.erase(found);
}

std::size_t MemoryShares::used() const {
    const std::scoped_lock lock(mutex_);
    return used_;
}

}  // namespace bps
