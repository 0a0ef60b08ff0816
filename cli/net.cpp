#include "cli/output.hpp"
#include "cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cli {

namespace {

using base::fail;

base::Result<void> ask_about(const Session& session,
                             const Arguments& arguments,
                             std::string_view path) {
    const auto answer = operator_call(session, path, Json(arguments.at("host")));
    if (!answer) return fail(answer.error());
    if (session.json || !answer->is_string()) return print_json(*answer);
    fmt::print("{}\n", answer->get<std::string>());
    return {};
}

base::Result<void> connect(const Session& session, const Arguments& arguments) {
    return ask_about(session, arguments, "/v1/net/connect");
}

base::Result<void> disconnect(const Session& session, const Arguments& arguments) {
    return ask_about(session, arguments, "/v1/net/disconnect");
}

base::Result<void> status(const Session& session, const Arguments& arguments) {
    return ask_about(session, arguments, "/v1/net/status");
}

void print_peer(const Json& peer) {
    fmt::print("{:<13} {:<22} {:<5} {:<9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6}\n",
               shown(peer, "name"),
               shown(peer, "address"),
               shown(peer, "transport"),
               shown(peer, "state"),
               shown(member_of(peer, "head"), "block_num"),
               shown(peer, "round_trip_ms"),
               shown(peer, "clock_offset_ms"),
               number_of(peer, "bytes_in") >> 10U,
               number_of(peer, "bytes_out") >> 10U,
               number_of(peer, "stalls"));
    const std::string why_not = shown(peer, "why_not_faster");
    if (!why_not.empty() && why_not != "-") fmt::print("{:<13} nothing faster: {}\n", "", why_not);
}

// Of a node that has none by its configuration.
bool print_why_none(const Json& answer) {
    const std::string why = text_of(answer, "why_none");
    if (!why.empty()) fmt::print("none: {}\n", why);
    return !why.empty();
}

// Whether a peer that listens there has connected to us.
bool has_called(const Json& answer, const std::string& address) {
    return std::ranges::any_of(list_of(answer, "peers"), [&](const Json& peer) {
        return shown(peer, "listen_address") == address;
    });
}

// The addresses that the node is to be connected to, and is not.
void print_dials(const Json& answer) {
    for (const Json& dial : list_of(answer, "dials")) {
        const std::string address = shown(dial, "address");
        if (shown(dial, "connected") == "true" || has_called(answer, address)) continue;
        const std::string error = shown(dial, "last_error");
        fmt::print(
            "{:<13} {:<22} not connected{}\n", "-", address, error.empty() ? " yet" : ": " + error);
    }
}

base::Result<void> peers(const Session& session, const Arguments& /*arguments*/) {
    if (session.json) return ask_as_operator(session, "/v1/net/connections", Json());
    const auto answer = call(session.url, "/v1/bor/peers", Json());
    if (!answer) return fail(answer.error());
    if (print_why_none(*answer)) return {};
    if (list_of(*answer, "peers").empty() && list_of(*answer, "dials").empty()) {
        fmt::print(
            "none yet: this node connects to no other (p2p-peer-address), and no other has "
            "connected to it\n");
        return {};
    }
    fmt::print("{:<13} {:<22} {:<5} {:<9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6}\n",
               "peer",
               "address",
               "over",
               "state",
               "head",
               "trip ms",
               "clock ms",
               "KiB in",
               "KiB out",
               "stalls");
    for (const Json& peer : list_of(*answer, "peers"))
        print_peer(peer);
    print_dials(*answer);
    return {};
}

base::Result<void> transports(const Session& session, const Arguments& /*arguments*/) {
    const auto answer = call(session.url, "/v1/bor/transports", Json());
    if (!answer) return fail(answer.error());
    if (session.json) return print_json(*answer);
    if (print_why_none(*answer)) return {};
    fmt::print("transport = {}\n", shown(*answer, "transport"));
    for (const Json& kind : list_of(*answer, "transports")) {
        const std::string why_not = shown(kind, "why_not");
        fmt::print("{:<5} {:>3} peers  {}{}\n",
                   shown(kind, "kind"),
                   number_of(kind, "peers"),
                   shown(kind, "security"),
                   why_not.empty() ? "" : "; not to be had: " + why_not);
    }
    return {};
}

base::Result<void> sync(const Session& session, const Arguments& /*arguments*/) {
    const auto answer = call(session.url, "/v1/bor/sync", Json());
    if (!answer) return fail(answer.error());
    if (session.json) return print_json(*answer);
    if (text_of(*answer, "mode") == "none") {
        fmt::print("none: no peer is connected, so nothing is fetched\n");
        return {};
    }
    fmt::print("{}: {}\n", text_of(*answer, "mode"), sync_text(*answer));
    return {};
}

}  // namespace

void add_net_commands(std::vector<Command>& commands) {
    const Positional peer{"host", "HOST:PORT of the peer; to pin its key: HOST:PORT#PUB_R1_..."};
    commands.push_back({"net connect", "Connect to a peer", {peer}, {}, connect});
    commands.push_back({"net disconnect", "Leave a peer", {peer}, {}, disconnect});
    commands.push_back({"net status", "Show a connection", {peer}, {}, status});
    commands.push_back({"net peers", "Show all connections", {}, {}, peers});
    commands.push_back({"net sync", "Show how the node catches up", {}, {}, sync});
    commands.push_back({"net transports", "Show the ways to peers", {}, {}, transports});
}

}  // namespace cli
