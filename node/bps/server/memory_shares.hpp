#pragma once

#include "base/pinned.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace bps {

// Whose bytes are counted together: the account of who logged in; 0 before the login.
using Tenant = std::uint64_t;

// Memory that all connections hold, shared out by tenant: one may hold as many bytes as are free
// (the dynamic threshold of shared-memory switches, Choudhury and Hahne 1998). So one alone has
// half of all, two have a third each, and whoever comes later finds something. Requests take half
// of that, so that there is memory for their answers.
//
// Thread: any.
class MemoryShares : base::Pinned {
  public:
    enum class Use : std::uint8_t { request, answer };

    explicit MemoryShares(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    // False: nothing was taken; ask again when something was given back.
    [[nodiscard]] bool try_take(Tenant tenant, std::size_t bytes, Use use);
    void give(Tenant tenant, std::size_t bytes);

    [[nodiscard]] std::size_t used() const;

  private:
    const std::size_t bytes_max_;
    mutable std::mutex mutex_;
    std::size_t used_ = 0;
    std::map<Tenant, std::size_t> by_tenant_;  // Those that hold some.
};

// Bytes held for as long as this lives. A value that moves.
class MemoryHold {
  public:
    MemoryHold() = default;
    // They were taken.
    MemoryHold(MemoryShares& shares, Tenant tenant, std::size_t bytes)
        : shares_(&shares), tenant_(tenant), bytes_(bytes) {}
    MemoryHold(MemoryHold&& other) noexcept
        : shares_(std::exchange(other.shares_, nullptr)),
          tenant_(other.tenant_),
          bytes_(other.bytes_) {}
    MemoryHold& operator=(MemoryHold&& other) noexcept {
        std::swap(shares_, other.shares_);
        std::swap(tenant_, other.tenant_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    // NOLINTNEXTLINE(bugprone-exception-escape): a mutex that cannot be locked ends the process.
    ~MemoryHold() {
        if (shares_ != nullptr) shares_->give(tenant_, bytes_);
    }

  private:
    MemoryShares* shares_ = nullptr;
    Tenant tenant_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace bps
