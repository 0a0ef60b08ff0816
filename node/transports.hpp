#pragma once

#include "base/log.hpp"
#include "node/transport_settings.hpp"
#include "transport/channel_status.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace transport::tcp {
class Thread;
}

namespace node {

// The ways to peers that this node has: TCP always, and what is faster.
//
// Threads: made before the I/O thread runs; then any.
class Transports {
  public:
    struct Kind {
        transport::Kind kind = transport::Kind::tcp;
        std::string_view security{};
        std::string why_not{};  // Why this node does without it; empty: it has it.
    };

    // Gives `thread`, which outlives this, the kinds that the choice allows and this host has. What
    // is missing goes to the log and never ends the node.
    Transports(const TransportSettings& settings,
               transport::tcp::Thread& thread,
               const base::Log& log);

    [[nodiscard]] const std::string& choice() const { return choice_; }
    // Best first.
    [[nodiscard]] const std::vector<Kind>& kinds() const { return kinds_; }
    // The channels, as of the last second; never null.
    [[nodiscard]] transport::ChannelStatuses channels() const;

  private:
    std::string choice_;
    transport::tcp::Thread& thread_;
    std::vector<Kind> kinds_;
};

}  // namespace node
