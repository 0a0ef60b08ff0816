#include "node/option_names.hpp"

#include "node/options.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace node {

namespace {

constexpr std::array<std::string_view, 8> kImplied = {"chain_api_plugin",
                                                      "chain_plugin",
                                                      "http_plugin",
                                                      "producer_plugin",
                                                      "net_plugin",
                                                      "signature_provider_plugin",
                                                      "resource_monitor_plugin",
                                                      "db_size_plugin"};

// Letters to insert, erase or replace.
std::size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t i = 0; i <= b.size(); ++i)
        row[i] = i;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({above + 1, row[j - 1] + 1, replaced});
            diagonal = above;
        }
    }
    return row[b.size()];
}

}  // namespace

std::string_view reason_not_served(const std::string& name) {
    const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
    if (begins("rdma-") || begins("ntb-")) {
        return "this release has no such setting (but transport, rdma-address, ntb-device, "
               "ntb-memory); remove the line";
    }
    if (name == "max-clients") return "use p2p-max-peers";
    if (name == "agent-name" || begins("p2p-")) {
        return "this release has no such setting between nodes; remove the line";
    }
    if (name == "snapshot")
        return "it is for the first start, on the command line; remove the line";
    if (name == "snapshots-dir") return "snapshots lie in data-dir/snapshots; remove the line";
    if (name == "private-key") return "use signature-provider = PUB=KEY:file:PATH";
    if (name == "chain-state-db-size-mb" || name == "database-map-mode") {
        return "the state has no size to configure here; remove the line";
    }
    return {};
}

bool is_implied_plugin(const std::string& name) {
    return std::ranges::count(kImplied, name) != 0;
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& names) {
    const auto best = std::ranges::min_element(
        names, {}, [&](const std::string& each) { return distance(name, each); });
    if (best == names.end() || distance(name, *best) > std::max<std::size_t>(2, name.size() / 3)) {
        return {};
    }
    return *best;
}

}  // namespace node
