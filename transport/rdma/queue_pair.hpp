#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/rdma/device.hpp"
#include "transport/rdma/memory.hpp"
#include "transport/rdma/parameters.hpp"
#include "transport/rdma/verbs.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace transport::rdma {

// What a work request's number says: the receives of a node all have this one, writes count from 1.
inline constexpr std::uint64_t kReceiveId = 0;

// A reliable connection to one peer, of which only writes are used. Writes are gathered and handed
// to the device together; one in 64 reports its completion, and with it that of those before.
//
// Thread: one.
class QueuePair : base::Pinned {
  public:
    static constexpr std::uint32_t kSendsMax = 256;

    struct Queues {
        ibv_pd* domain = nullptr;
        ibv_cq* completions = nullptr;
        ibv_srq* receives = nullptr;  // Null: this pair has its own, so many:
        std::uint32_t own_receives = 0;
    };
    // How patient it is: retries of 67 ms each, and of a peer that has no receive.
    struct Patience {
        std::uint8_t retries = 6;  // The software device takes 7 as for ever.
        std::uint8_t receive_retries = 7;
    };
    // A write into the peer's memory.
    struct Write {
        // In `from`; until post(). Empty: only asks whether the peer is there.
        base::ByteView bytes{};
        const Memory* from = nullptr;
        std::uint64_t to = 0;
        std::optional<Immediate> immediate{};
        bool is_reported = false;
    };

    // Takes the peer's writes from now on, once connected.
    [[nodiscard]] static base::Result<std::unique_ptr<QueuePair>> create(const Device& device,
                                                                         const Queues& queues);

    [[nodiscard]] std::uint32_t number() const { return pair_->qp_num; }
    // malformed, unavailable: the device does not accept what the peer told.
    [[nodiscard]] base::Result<void> connect(const Device& device,
                                             const Address& peer,
                                             const Parameters& peers,
                                             std::uint32_t first_packet,
                                             const Patience& patience);
    // Of a pair with its own receives.
    void post_receives(std::uint32_t count);

    // How many writes can be added now.
    [[nodiscard]] std::size_t room() const { return kSendsMax - (added_ - completed_); }
    void add(const Write& write);
    // Hands all to the device. unavailable: it takes none.
    [[nodiscard]] base::Result<void> post();
    // All up to this one have completed.
    void complete(std::uint64_t id) { completed_ = id; }
    [[nodiscard]] bool is_idle() const { return completed_ == added_; }

    // Nothing comes and goes any more; what is outstanding completes with an error.
    void stop();

  private:
    QueuePair() = default;

    PairPtr pair_;
    std::uint32_t peer_key_ = 0;
    std::uint32_t inline_max_ = 0;
    std::uint64_t added_ = 0;
    std::uint64_t completed_ = 0;
    std::uint64_t reported_ = 0;  // The last that reports.
    std::vector<ibv_send_wr> requests_;
    std::vector<ibv_sge> parts_;
};

}  // namespace transport::rdma
