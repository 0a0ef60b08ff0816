#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/rdma/verbs.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace transport::rdma {

// Memory that a device reads or writes: zero at first, on pages of 2 MiB if the system keeps some,
// and never that of a child process.
class Memory : base::Pinned {
  public:
    enum class Use : std::uint8_t {
        peer_writes,   // A peer writes it, and may do nothing else.
        device_reads,  // What we wrote is fetched from it.
    };

    // unavailable: there is none, or this process may lock no more; says what to set.
    [[nodiscard]] static base::Result<std::unique_ptr<Memory>> create(ibv_pd& domain,
                                                                      std::size_t bytes,
                                                                      Use use);
    ~Memory();

    [[nodiscard]] std::span<std::byte> bytes() { return {begin_, bytes_}; }
    [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(begin_); }
    [[nodiscard]] std::uint32_t local_key() const { return region_->lkey; }
    [[nodiscard]] std::uint32_t remote_key() const { return region_->rkey; }
    [[nodiscard]] bool is_huge() const { return is_huge_; }
    // Whole pages; what is locked.
    [[nodiscard]] std::size_t locked_bytes() const { return mapped_; }
    // The most that is locked for so many bytes.
    [[nodiscard]] static std::size_t locked_bytes_max(std::size_t bytes);

  private:
    Memory() = default;

    std::byte* begin_ = nullptr;
    std::size_t bytes_ = 0;   // Asked for.
    std::size_t mapped_ = 0;  // Whole pages.
    bool is_huge_ = false;
    RegionPtr region_;
};

// Whether the system has a page of 2 MiB left for us.
[[nodiscard]] bool has_huge_pages();

// How much memory this process may lock. Empty: any amount.
[[nodiscard]] std::optional<std::size_t> lockable_bytes();

}  // namespace transport::rdma
