#include "node/transport_settings.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace node {

namespace {

using transport::Kind;

tl::unexpected<base::Error> invalid(std::string text) {
    return base::fail(base::Errc::invalid, std::move(text));
}

bool is_ip_address(const std::string& text) {
    std::array<std::byte, sizeof(in6_addr)> unused{};
    return ::inet_pton(AF_INET, text.c_str(), unused.data()) == 1 ||
           ::inet_pton(AF_INET6, text.c_str(), unused.data()) == 1;
}

bool is_hexadecimal(std::string_view text) {
    return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// As Linux names a PCI device: 0000:3a:00.0, with a longer domain behind some bridges.
bool is_pci_slot(std::string_view text) {
    constexpr std::string_view kRest = ":3a:00.0";
    if (text.size() < kRest.size() + 4 || text.size() > kRest.size() + 8) return false;
    const std::string_view domain = text.substr(0, text.size() - kRest.size());
    const std::string_view rest = text.substr(domain.size());
    const auto is_within = [](char c, char last) { return c >= '0' && c <= last; };
    return is_hexadecimal(domain) && rest[0] == ':' && is_hexadecimal(rest.substr(1, 2)) &&
           rest[3] == ':' && is_within(rest[4], '1') && is_hexadecimal(rest.substr(5, 1)) &&
           rest[6] == '.' && is_within(rest[7], '7');
}

}  // namespace

base::Result<std::vector<Kind>> kinds_of(std::string_view choice) {
    if (choice == "auto") return std::vector<Kind>(kFastKinds.begin(), kFastKinds.end());
    std::vector<Kind> out;
    if (choice == "tcp") return out;
    for (std::size_t begin = 0; begin <= choice.size();) {
        const std::size_t end = std::min(choice.find(',', begin), choice.size());
        const std::string_view name = choice.substr(begin, end - begin);
        const auto* const kind = std::ranges::find(
            kFastKinds, name, [](Kind each) { return transport::to_string(each); });
        if (kind == kFastKinds.end() || std::ranges::find(out, *kind) != out.end()) {
            return invalid(
                fmt::format("transport = {}: expected auto, tcp, or one or more of shm, "
                            "ntb and rdma, the preferred first, as rdma,shm",
                            choice));
        }
        out.push_back(*kind);
        begin = end + 1;
    }
    return out;
}

base::Result<void> check_transports(const TransportSettings& settings) {
    const auto kinds = kinds_of(settings.choice);
    if (!kinds) return base::fail(kinds.error());
    if (!settings.rdma_address.empty() && !is_ip_address(settings.rdma_address)) {
        return invalid("rdma-address = " + settings.rdma_address +
                       ": expected the IP address of an RDMA device's interface, as 10.0.0.1 "
                       "('bor-transport-probe' shows the interfaces, 'ip address' what they have)");
    }
    if (!settings.ntb_device.empty() && !is_pci_slot(settings.ntb_device)) {
        return invalid("ntb-device = " + settings.ntb_device +
                       ": expected the slot of a PCI device, as 0000:3a:00.0 "
                       "('bor-transport-probe' shows those that share memory)");
    }
    const bool names_ntb =
        settings.choice != "auto" && std::ranges::find(*kinds, Kind::ntb) != kinds->end();
    if ((names_ntb || !settings.ntb_memory.empty()) && settings.ntb_device.empty()) {
        return invalid("transport = ntb and ntb-memory need ntb-device, the slot of a PCI device");
    }
    return {};
}

}  // namespace node
