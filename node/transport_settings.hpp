#pragma once

#include "base/result.hpp"

#include <string>

namespace node {

// What an operator says of the ways to peers.
struct TransportSettings {
    // "auto" is all that both ends have, best first; "shm", "ntb", "rdma" are that kind, and TCP
    // where it is not to be had; "tcp".
    std::string choice = "auto";
    std::string rdma_address{};  // IP address of the RDMA device; empty: the first connected.
    std::string ntb_device{};    // PCI device that shares memory with a machine; empty: none.
    std::string ntb_memory{};    // Of a bridge: the file of the memory that it writes here.
};

// The form of what is said, whether or not it is of use; a device that is not there is no error,
// and found out later. invalid: names option, value and remedy.
[[nodiscard]] base::Result<void> check_transports(const TransportSettings& settings);

}  // namespace node
