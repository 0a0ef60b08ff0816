#pragma once

#include "base/pinned.hpp"
#include "node/core/core.hpp"

#include <memory>

namespace node {

// Follows what the node does: indexers, the stream, metrics. Sees effects in their order, after
// they were carried out; can't change anything.
//
// Thread: core. Must not block; what takes long is handed to a thread of its own.
class Plugin : base::Pinned {
  public:
    virtual ~Plugin() = default;

    virtual void on_published(const std::shared_ptr<const Published>&) {}
    virtual void on_pending(const effect::Pending&) {}
    virtual void on_accepted(const effect::Accepted&) {}
    virtual void on_finalized(const effect::Finalized&) {}
    virtual void on_dropped(const effect::Dropped&) {}
};

}  // namespace node
