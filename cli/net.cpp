#include "cli/output.hpp"

namespace cli {

namespace {

base::Result<void> no_peers(const Session& /*session*/, const Arguments& /*arguments*/) {
    return base::fail(base::Errc::unavailable,
                      "not yet: needs the peer-to-peer layer, which this version does not have");
}

}  // namespace

void add_net_commands(std::vector<Command>& commands) {
    const Positional peer{"host", "HOST:PORT of the peer"};
    commands.push_back({"net connect", "Connect to a peer (not yet)", {peer}, {}, no_peers});
    commands.push_back({"net disconnect", "Leave a peer (not yet)", {peer}, {}, no_peers});
    commands.push_back({"net status", "Show a connection (not yet)", {peer}, {}, no_peers});
    commands.push_back({"net peers", "Show all connections (not yet)", {}, {}, no_peers});
}

}  // namespace cli
