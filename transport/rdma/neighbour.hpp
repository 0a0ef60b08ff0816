#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/rdma/parameters.hpp"
#include "transport/rdma/verbs.hpp"

#include <rdma/rdma_cma.h>

#include <memory>

namespace transport::rdma {

using CmEventsPtr = std::unique_ptr<rdma_event_channel, Destroy<&rdma_destroy_event_channel>>;
using CmIdPtr = std::unique_ptr<rdma_cm_id, Destroy<&rdma_destroy_id>>;

// The socket address of a GID that is an IP address, to be handed to librdmacm.
struct SocketAddress {
    explicit SocketAddress(const Gid& gid);
    [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }

    sockaddr_storage bytes{};
};

// Asks the network where a peer is. A device asks too, when a queue pair is brought up, but the
// thread that brings it up then stands for up to a second; after this the answer is known.
//
// Thread: one.
class Neighbour : base::Pinned {
  public:
    // unavailable: it can't be asked.
    [[nodiscard]] static base::Result<std::unique_ptr<Neighbour>> seek(const Gid& own,
                                                                       const Gid& peer);

    // Readable when is_found() has something to say.
    [[nodiscard]] int event_fd() const { return events_->fd; }
    // False: not yet. unavailable: nobody answers.
    [[nodiscard]] base::Result<bool> is_found();

  private:
    Neighbour() = default;

    CmEventsPtr events_;
    CmIdPtr id_;
};

}  // namespace transport::rdma
