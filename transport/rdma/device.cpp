#include "transport/rdma/device.hpp"

#include "transport/rdma/neighbour.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace transport::rdma {

namespace {

constexpr std::size_t kGidsMax = 256;

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

struct Place {
    ibv_device* device = nullptr;
    std::uint8_t port = 1;
};

// Asks librdmacm which device an address belongs to.
base::Result<Place> resolve(const Gid& gid, const std::string& ip) {
    const CmEventsPtr channel(::rdma_create_event_channel());
    if (channel == nullptr) return none(why_failed("no RDMA: librdmacm", errno));
    rdma_cm_id* id = nullptr;
    if (::rdma_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP) != 0)
        return none(why_failed("no RDMA: librdmacm", errno));
    const CmIdPtr owned(id);
    const int bound = ::rdma_bind_addr(id, SocketAddress(gid).get());
    if (bound != 0 || id->verbs == nullptr)
        return none("no RDMA device has the address " + ip + " (rdma link shows those there are)");
    return Place{id->verbs->device, id->port_num};
}

// The entry of the port's table for an address; without one, the best of those that can be routed.
std::optional<ibv_gid_entry> find_gid(ibv_context& context,
                                      std::uint8_t port,
                                      const std::optional<Gid>& wanted) {
    std::vector<ibv_gid_entry> all(kGidsMax);
    const auto count = ::ibv_query_gid_table(&context, all.data(), all.size(), 0);
    if (count <= 0) return std::nullopt;
    all.resize(static_cast<std::size_t>(count));
    const auto rank = [&](const ibv_gid_entry& entry) {
        Gid gid{};
        std::memcpy(gid.data(), entry.gid.raw, gid.size());
        if (entry.port_num != port || entry.gid_type == IBV_GID_TYPE_ROCE_V1) return 0;
        if (wanted) return gid == *wanted ? 1 : 0;
        return is_ipv4(gid) ? 2 : 1;
    };
    const auto best = std::ranges::max_element(all, {}, rank);
    if (rank(*best) == 0) return std::nullopt;
    return *best;
}

base::Result<Device> open_port(const Place& place, const std::optional<Gid>& wanted) {
    Device out;
    out.name = ::ibv_get_device_name(place.device);
    out.port = place.port;
    out.context.reset(::ibv_open_device(place.device));
    if (out.context == nullptr)
        return none(why_failed("RDMA device " + out.name + " can't be opened", errno));
    ibv_port_attr port{};
    if (::ibv_query_device(out.context.get(), &out.limits) != 0 ||
        ::ibv_query_port(out.context.get(), out.port, &port) != 0) {
        return none("RDMA device " + out.name + " does not answer");
    }
    if (port.state != IBV_PORT_ACTIVE)
        return none("RDMA device " + out.name + " is not connected: its port is not active");
    if (out.context->device->transport_type == IBV_TRANSPORT_IWARP)
        return none("RDMA device " + out.name + " is iWARP, which has no write with immediate");
    const auto gid = find_gid(*out.context, out.port, wanted);
    if (!gid) return none("RDMA device " + out.name + " has no address for RoCEv2");
    out.gid_index = static_cast<std::uint8_t>(gid->gid_index);
    out.address = {.is_ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET,
                   .mtu = static_cast<std::uint8_t>(port.active_mtu),
                   .lid = port.lid};
    std::memcpy(out.address.gid.data(), gid->gid.raw, out.address.gid.size());
    return out;
}

// The first that has the address; of none, the first that is connected.
base::Result<Device> open_first(const std::optional<Gid>& wanted) {
    int count = 0;
    const std::unique_ptr<ibv_device*, Destroy<&ibv_free_device_list>> list(
        ::ibv_get_device_list(&count));
    if (list == nullptr || count == 0)
        return none("no RDMA: this machine has no RDMA device that is set up");
    std::string why;
    for (int i = 0; i < count; ++i) {
        auto device = open_port({.device = list.get()[i]}, wanted);
        if (device) return device;
        why += (why.empty() ? "" : "; ") + device.error().detail;
    }
    return none(std::move(why));
}

}  // namespace

std::string why_failed(const std::string& call, int error) {
    return call + ": " + std::generic_category().message(error);
}

base::Result<Device> open_device(const std::string& local_address) {
    if (local_address.empty()) return open_first(std::nullopt);
    const auto gid = gid_of(local_address);
    if (!gid) return none("'" + local_address + "' is no IP address of an RDMA device");
    const auto place = resolve(*gid, local_address);
    if (!place) return base::fail(place.error());
    auto device = open_port(*place, gid);
    // What librdmacm knows may be a device that is gone, and had the same name or port.
    if (!device) {
        if (auto other = open_first(gid)) return other;
    }
    return device;
}

}  // namespace transport::rdma
