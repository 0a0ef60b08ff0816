#pragma once

#include "transport/types.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace transport {

// Parts of messages that were written straight into memory kept for them, one way.
struct LandingCount {
    std::uint64_t landings = 0;
    std::uint64_t bytes = 0;
};

// A channel at one moment, for people and metrics.
struct ChannelStatus {
    ChannelId channel;
    Kind kind = Kind::tcp;        // What carries its messages now.
    std::string why_not{};        // Why nothing faster does; empty: something does.
    std::uint64_t fallbacks = 0;  // From a faster kind to TCP.
    std::uint64_t stalls = 0;     // How often the peer left no room for what was queued.
    LandingCount landed_out{};
    LandingCount landed_in{};
};
using ChannelStatuses = std::shared_ptr<const std::vector<ChannelStatus>>;

}  // namespace transport
