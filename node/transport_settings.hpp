#pragma once

#include "base/result.hpp"
#include "transport/types.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace node {

// What an operator says of the ways to peers.
struct TransportSettings {
    // What is tried before TCP: "auto" is all, "tcp" nothing; else kinds with commas between, the
    // preferred first. Of two ends, the choice is that of who opened the connection.
    std::string choice = "auto";
    std::string rdma_address{};  // IP address of the RDMA device; empty: the first connected.
    std::string ntb_device{};    // PCI device that shares memory with a machine; empty: none.
    std::string ntb_memory{};    // Of a bridge: the file of the memory that it writes here.
};

// Besides TCP; the best first.
inline constexpr std::array kFastKinds = {
    transport::Kind::shm, transport::Kind::ntb, transport::Kind::rdma};

// The kinds of a choice in order. invalid: names choice and remedy.
[[nodiscard]] base::Result<std::vector<transport::Kind>> kinds_of(std::string_view choice);

// The form of what is said, whether or not it is of use; a device that is not there is no error,
// and found out later. invalid: names option, value and remedy.
[[nodiscard]] base::Result<void> check_transports(const TransportSettings& settings);

}  // namespace node
