#include "genesis/join_line.hpp"
#include "node/operator_api.hpp"

#include <fmt/format.h>

#include <utility>

namespace node {

namespace {

using base::Errc;
using base::fail;
using genesis::HostPort;

// A snapshot proves blocks that are at most so far below it.
constexpr chain::Height kProvedBelow = 65'535;

// Where peers connect. invalid: nobody could; says what to set.
base::Result<HostPort> p2p_address(const JoinSources& sources) {
    const std::string& address = sources.p2p_address;
    if (!sources.node_key || address.empty()) {
        return fail(Errc::invalid,
                    "this node has no p2p-listen-endpoint: no other node can join from it");
    }
    auto place = HostPort::from_string(address);
    if (place && !place->is_wildcard()) return place;
    return fail(Errc::invalid,
                fmt::format("peers are told {}, where nobody can connect: set p2p-server-address "
                            "= HOST:PORT, under which other machines reach this node",
                            address));
}

// Where the genesis file is asked for: the join line has one host for both.
base::Result<std::uint16_t> http_port(const JoinSources& sources, const HostPort& p2p) {
    const std::vector<std::string> addresses = sources.http_addresses();
    std::string seen;
    for (const std::string& address : addresses) {
        const auto place = HostPort::from_string(address);
        if (place && (!place->is_loopback() || p2p.is_loopback())) return place->port;
        seen = address;
    }
    if (seen.empty()) {
        return fail(Errc::invalid,
                    "who joins asks for the genesis file over HTTP: set http-server-address = "
                    "HOST:PORT");
    }
    return fail(Errc::invalid,
                fmt::format("the API is served at {}, on this machine alone, and peers are told "
                            "{}: set http-server-address to an address that others reach",
                            seen,
                            p2p.host));
}

// A recent final block that can be proved to who joins: that of the newest snapshot, as long as
// newer ones prove it, too. One above that would have to wait for the next snapshot.
genesis::Checkpoint checkpoint_of(const ApiContext& context, const SnapshotStore& snapshots) {
    const chain::BlockPtr block = context.runtime.published()->finalized;
    const std::vector<SnapshotStore::Listed> all = snapshots.list();
    if (!all.empty()) {
        const genesis::SnapshotHead& head = all.back().head;
        const bool is_recent = head.height <= block->header.height &&
                               block->header.height - head.height <= kProvedBelow;
        if (is_recent) return {head.height, head.block};
    }
    return {block->header.height, block->id};
}

base::Result<genesis::JoinLine> line_of(const ApiContext& context, const JoinSources& sources) {
    const auto p2p = p2p_address(sources);
    if (!p2p) return fail(p2p.error());
    const auto http = http_port(sources, *p2p);
    if (!http) return fail(http.error());
    const auto peers = context.peers();
    const p2p::SyncStatus& sync = peers->sync;
    if (sync.mode == p2p::SyncMode::last_irr_catch_up) {
        return fail(Errc::unavailable,
                    fmt::format("this node is at block {} of {}: ask again when it has caught up",
                                sync.height,
                                sync.target));
    }
    return genesis::JoinLine{p2p->host,
                             p2p->port,
                             *http,
                             *sources.node_key,
                             context.chain_id,
                             checkpoint_of(context, sources.snapshots)};
}

}  // namespace

void add_join_call(Calls& calls, JoinSources sources) {
    const ApiContext& context = calls.context();
    const std::string file = genesis::to_json(context.genesis);
    calls.plain({.path = "/v1/bor/join"},
                [&context, file, sources = std::move(sources)](Params&) -> Answer {
                    const auto line = line_of(context, sources);
                    return Json{{"line", line ? Json(line->to_string()) : Json(nullptr)},
                                {"why_not", line ? "" : line.error().detail},
                                {"genesis", file}};
                });
}

}  // namespace node
