#pragma once

#include "base/log.hpp"
#include "transport/channel_status.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace transport::tcp {
class Thread;
}

namespace node {

// What the option `transport` may be: "auto" is all that both ends have, best first; another is
// that kind, and TCP where it is not to be had.
[[nodiscard]] std::span<const std::string_view> transport_choices();

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

    struct Settings {
        std::string choice{};        // One of transport_choices().
        std::string rdma_address{};  // IP address of the RDMA device; empty: the first connected.
        std::string ntb_device{};    // PCI device that shares memory with a machine; empty: none.
        std::string ntb_memory{};    // Of a bridge: the file of the memory that it writes here.
    };

    // Gives `thread`, which outlives this, the kinds that the choice allows and this host has. What
    // is missing goes to the log and never ends the node.
    Transports(const Settings& settings, transport::tcp::Thread& thread, const base::Log& log);

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
