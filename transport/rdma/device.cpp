#include "transport/rdma/device.hpp"

#include <arpa/inet.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace transport::rdma {

namespace {

// What names an entry of a port's table has 8 bits.
constexpr std::uint32_t kGidIndexMax = 255;

tl::unexpected<base::Error> none(std::string why) {
    return base::fail(base::Errc::unavailable, std::move(why));
}

// An IPv4 address as a GID: ::ffff:a.b.c.d.
std::optional<Gid> gid_of(const std::string& ip) {
    Gid out{};
    if (::inet_pton(AF_INET6, ip.c_str(), out.data()) == 1) return out;
    out = {};
    out[10] = out[11] = std::byte{0xff};
    if (::inet_pton(AF_INET, ip.c_str(), out.data() + kIpv4At) == 1) return out;
    return std::nullopt;
}

Gid value_of(const ibv_gid& gid) {
    Gid out{};
    std::memcpy(out.data(), gid.raw, out.size());
    return out;
}

// Whether what is written with immediate can be routed to it.
bool is_useful(const ibv_gid_entry& entry) {
    if (entry.gid_type == IBV_GID_TYPE_ROCE_V1) return false;
    return entry.gid_type == IBV_GID_TYPE_IB || special_use(value_of(entry.gid)).empty();
}

tl::unexpected<base::Error> silent(const Device& device, int error) {
    return none(why_failed("RDMA device " + device.name + " does not answer", error));
}

// All such, of every port.
base::Result<std::vector<ibv_gid_entry>> addresses_of(const Device& device) {
    std::size_t room = 0;
    for (std::uint32_t i = 1; i <= device.limits.phys_port_cnt; ++i) {
        ibv_port_attr port{};
        const int error =
            ::ibv_query_port(device.context.get(), static_cast<std::uint8_t>(i), &port);
        if (error != 0) return silent(device, error);
        room += static_cast<std::size_t>(std::max(port.gid_tbl_len, 0));
    }
    std::vector<ibv_gid_entry> all(room);
    if (room == 0) return all;
    const auto count = ::ibv_query_gid_table(device.context.get(), all.data(), all.size(), 0);
    if (count < 0) return silent(device, static_cast<int>(-count));
    all.resize(static_cast<std::size_t>(count));
    std::erase_if(all, [](const auto& entry) { return !is_useful(entry); });
    return all;
}

// The port's entry for an address; without one, the best.
std::optional<ibv_gid_entry> find_gid(const std::vector<ibv_gid_entry>& all,
                                      std::uint32_t port,
                                      const std::optional<Gid>& wanted) {
    const auto rank = [&](const ibv_gid_entry& entry) {
        const Gid gid = value_of(entry.gid);
        if (entry.port_num != port) return 0;
        if (wanted) return gid == *wanted ? 1 : 0;
        return is_ipv4(gid) ? 2 : 1;
    };
    const auto best = std::ranges::max_element(all, {}, rank);
    if (best == all.end() || rank(*best) == 0) return std::nullopt;
    return *best;
}

// Removed, its folder is gone, or is that of another which has its name.
std::uint64_t folder_of(const ibv_context& context) {
    struct stat folder {};
    return ::stat(context.device->dev_path, &folder) == 0 ? folder.st_ino : 0;
}

base::Result<void> use_port(Device& device, const ibv_gid_entry& gid) {
    ibv_port_attr port{};
    device.port = static_cast<std::uint8_t>(gid.port_num);
    if (const int error = ::ibv_query_port(device.context.get(), device.port, &port); error != 0)
        return silent(device, error);
    if (port.state != IBV_PORT_ACTIVE)
        return none("RDMA device " + device.name + " is not connected: its port is not active");
    if (gid.gid_index > kGidIndexMax) {
        return none("RDMA device " + device.name + " has the address at place " +
                    std::to_string(gid.gid_index) + " of its table, " +
                    std::to_string(kGidIndexMax) + " is the last that can be used: remove others");
    }
    device.gid_index = static_cast<std::uint8_t>(gid.gid_index);
    device.address = {.is_ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET,
                      .mtu = static_cast<std::uint8_t>(port.active_mtu),
                      .lid = port.lid,
                      .gid = value_of(gid.gid)};
    return {};
}

base::Result<Device> open(ibv_device& device, const std::optional<Gid>& wanted) {
    Device out;
    out.name = ::ibv_get_device_name(&device);
    out.context.reset(::ibv_open_device(&device));
    if (out.context == nullptr)
        return none(why_failed("RDMA device " + out.name + " can't be opened", errno));
    out.folder = folder_of(*out.context);
    if (const int error = ::ibv_query_device(out.context.get(), &out.limits); error != 0)
        return silent(out, error);
    if (device.transport_type == IBV_TRANSPORT_IWARP)
        return none("RDMA device " + out.name + " is iWARP, which has no write with immediate");
    const auto addresses = addresses_of(out);
    if (!addresses) return base::fail(addresses.error());
    std::string why =
        "RDMA device " + out.name + " has no " + (wanted ? "such address" : "address for RoCEv2");
    for (std::uint32_t port = 1; port <= out.limits.phys_port_cnt; ++port) {
        const auto gid = find_gid(*addresses, port, wanted);
        if (!gid) continue;
        const auto used = use_port(out, *gid);
        if (used) return out;
        why = used.error().detail;
    }
    return none(std::move(why));
}

}  // namespace

std::string why_failed(const std::string& call, int error) {
    return call + ": " + std::generic_category().message(error);
}

base::Result<Device> open_device(const std::string& local_address) {
    std::optional<Gid> wanted;
    if (!local_address.empty()) {
        wanted = gid_of(local_address);
        if (!wanted) {
            return base::fail(base::Errc::invalid,
                              "'" + local_address + "' is no IP address of an RDMA device");
        }
    }
    int count = 0;
    const std::unique_ptr<ibv_device*, Destroy<&ibv_free_device_list>> list(
        ::ibv_get_device_list(&count));
    if (list == nullptr || count == 0)
        return none("no RDMA: this machine has no RDMA device that is set up");
    std::string why;
    for (int i = 0; i < count; ++i) {
        auto device = open(*list.get()[i], wanted);
        if (device) return device;
        why += (why.empty() ? "" : "; ") + device.error().detail;
    }
    if (!wanted) return none(std::move(why));
    return none("no RDMA device can be used that has the address " + local_address +
                " (rdma link shows those there are): " + why);
}

bool is_there(const Device& device) {
    return device.folder == 0 || folder_of(*device.context) == device.folder;
}

bool has_address(const Device& device) {
    ibv_gid now{};
    return ::ibv_query_gid(device.context.get(), device.port, device.gid_index, &now) == 0 &&
           value_of(now) == device.address.gid;
}

}  // namespace transport::rdma
