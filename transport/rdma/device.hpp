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
};

// The device that has this IP address (librdmacm tells which); of an empty one, the first that is
// connected. unavailable: there is none, and what to do about it.
[[nodiscard]] base::Result<Device> open_device(const std::string& local_address);

}  // namespace transport::rdma
