#pragma once

#include <cstdint>

namespace transport::tcp {

// How many bytes the peer may have under way to us. What waits in the kernel to be read is what an
// urgent message stands behind: so no more than the path itself holds, and a little more where
// reader and writer wake in turns.
//
// Left to itself the kernel doubles its buffer as long as its reader keeps up, and TCP_WINDOW_CLAMP
// with it. Only a length that was set (SO_RCVBUF) stays.
//
// Thread: one.
class ReceiveWindow {
  public:
    static constexpr std::uint64_t kMin = std::uint64_t{128} << 10U;
    static constexpr std::uint64_t kMax = std::uint64_t{4} << 20U;

    // Sets it for the socket by the shortest round trip of its last minutes. Where the system does
    // not allow as much as one such trip may bring (net.core.rmem_max), the kernel goes on by
    // itself. Best effort: a socket that fails tells so when it is read.
    void tune(int socket);

  private:
    std::uint64_t wanted_ = 0;  // When it was set last.
};

}  // namespace transport::tcp
