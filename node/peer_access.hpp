#pragma once

#include "base/pinned.hpp"
#include "p2p/network.hpp"

#include <memory>

namespace node {

// What the API may know of the conversation with peers, and ask of it.
//
// Thread: any. The status is immutable, replaced as a whole.
class PeerAccess : base::Pinned {
  public:
    virtual ~PeerAccess() = default;

    // As it was published last; never null.
    [[nodiscard]] virtual std::shared_ptr<const p2p::Status> peer_status() const = 0;
    // Carried out soon: Dial, Hangup.
    virtual void say_to_peers(p2p::Input said) = 0;
};

// Of a node that talks to nobody.
class NoPeers final : public PeerAccess {
  public:
    [[nodiscard]] std::shared_ptr<const p2p::Status> peer_status() const override {
        return std::make_shared<const p2p::Status>();
    }
    void say_to_peers(p2p::Input /*said*/) override {}
};

}  // namespace node
