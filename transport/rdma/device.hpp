#pragma once

#include "base/result.hpp"
#include "transport/rdma/parameters.hpp"
#include "transport/rdma/verbs.hpp"

#include <cstdint>
#include <string>

namespace transport::rdma {

// A port of an RDMA device, opened.
struct Device {
    ContextPtr context;
    std::string name;
    std::uint8_t port = 1;
    std::uint8_t gid_index = 0;  // Of our address, in the port's table.
    Address address{};
    ibv_device_attr limits{};
    std::uint64_t folder = 0;  // The number of its folder in sysfs; 0: it has none.
};

// The device that has this IP address in its table; of an empty one, the first that is connected.
// No other stays open: a device that is removed waits for who has it open. unavailable: there is
// none, and what to do about it. invalid: that is no IP address.
[[nodiscard]] base::Result<Device> open_device(const std::string& local_address);

// Whether the system has not taken it away; many drivers wait then, without a word, until nobody
// has it open.
[[nodiscard]] bool is_there(const Device& device);

// Whether its port still has the address.
[[nodiscard]] bool has_address(const Device& device);

}  // namespace transport::rdma
