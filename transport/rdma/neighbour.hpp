#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/descriptor.hpp"
#include "transport/rdma/parameters.hpp"

#include <cstdint>
#include <memory>

namespace transport::rdma {

// Asks the network where a peer is. A device asks too, when a queue pair is brought up, but the
// thread that brings it up then stands for up to a second; after this the answer is known.
//
// The kernel's connection manager is asked by its commands (rdma/rdma_user_cm.h). librdmacm would
// do the same, but opens the device and never closes it: then that can't be removed while we run.
//
// Thread: one.
class Neighbour : base::Pinned {
  public:
    // unavailable: it can't be asked.
    [[nodiscard]] static base::Result<std::unique_ptr<Neighbour>> seek(const Gid& own,
                                                                       const Gid& peer);

    // Readable when is_found() has something to say.
    [[nodiscard]] int event_fd() const { return manager_.get(); }
    // False: not yet. unavailable: nobody answers.
    [[nodiscard]] base::Result<bool> is_found();

  private:
    Neighbour() = default;

    Descriptor manager_;  // Closed, it forgets the question.
};

}  // namespace transport::rdma
