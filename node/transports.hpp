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
namespace transport::link {
class FastKind;
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
        std::string why_not{};  // Why this node does without it now; empty: it has it.
    };

    // Gives `thread`, which outlives this, the kinds that the choice allows and this host has. What
    // is missing goes to the log and never ends the node.
    Transports(const TransportSettings& settings,
               transport::tcp::Thread& thread,
               const base::Log& log);

    [[nodiscard]] const std::string& choice() const { return choice_; }
    // Preferred first, and those that were not chosen last.
    [[nodiscard]] std::vector<Kind> kinds() const;
    // The channels, as of the last second; never null.
    [[nodiscard]] transport::ChannelStatuses channels() const;

  private:
    struct Entry {
        Kind kind;
        // Says why_not now; null: nothing changes. Owned by the thread.
        const transport::link::FastKind* source = nullptr;
    };

    void add(transport::Kind kind, const TransportSettings& settings, const base::Log& log);

    std::string choice_;
    transport::tcp::Thread& thread_;
    std::vector<Entry> entries_;
};

}  // namespace node
