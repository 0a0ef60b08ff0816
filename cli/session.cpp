#include "cli/command.hpp"
#include "cli/network_file.hpp"

#include <cstdlib>

namespace cli {

base::Result<Session> make_session(const Arguments& globals, bool makes_network) {
    Session session;
    session.json = globals.has("json");
    const char* home = std::getenv("HOME");
    session.wallet_url =
        "unix://" + std::string(home == nullptr ? "." : home) + "/bor-wallet/bor-wallet.sock";
    if (globals.has("dir")) {
        session.dir = globals.get("dir");
        // `network up` makes the file that the others read.
        const auto file = NetworkFile::read(session.dir);
        if (file) {
            session.url = file->validators.front().http;
            session.names_wallet = !file->join;
            if (!file->join) session.wallet_url = "unix://" + file->wallet.socket;
        } else if (!makes_network) {
            return base::fail(file.error());
        }
    }
    session.url = globals.get("url", session.url);
    session.wallet_url = globals.get("wallet-url", session.wallet_url);
    session.names_wallet |= globals.has("wallet-url");
    return session;
}

}  // namespace cli
