#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/network_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace cli {

namespace {

using base::Errc;
using base::fail;

// The first word of the file of --operator-token-file.
base::Result<std::string> operator_token_of(const std::string& path) {
    constexpr std::size_t kTokenBytesMax = 4096;
    constexpr std::string_view kSpaces = " \t\r\n";
    const auto text = read_file(path);
    if (!text) {
        return fail(text.error().code, "--operator-token-file " + text.error().detail);
    }
    const std::size_t start = text->find_first_not_of(kSpaces);
    if (start == std::string::npos) {
        return fail(Errc::invalid,
                    fmt::format("--operator-token-file {}: the file is empty; its first word is "
                                "the token, as in the node's http-operator-token-file ('openssl "
                                "rand -hex 32' makes one)",
                                path));
    }
    const std::size_t end = std::min(text->find_first_of(kSpaces, start), text->size());
    std::string token = text->substr(start, end - start);
    // It becomes a header.
    const bool is_text = std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; });
    if (is_text && token.size() <= kTokenBytesMax) return token;
    return fail(Errc::malformed,
                fmt::format("--operator-token-file {}: the first word, of {} bytes, is no token of "
                            "up to {} printable ASCII characters ('openssl rand -hex 32' makes "
                            "one)",
                            path,
                            token.size(),
                            kTokenBytesMax));
}

// Of a node on this machine that runs as bor-node does without options, or as the package has it.
std::optional<std::string> default_socket() {
    // The last is that of older packages.
    for (const char* const path :
         {"bor-data/bor.sock", "/var/lib/bor/data/bor.sock", "/var/lib/bor/data/bor-node.sock"}) {
        std::error_code error;
        if (std::filesystem::exists(path, error)) return path;
    }
    return std::nullopt;
}

// Where the node of `session.url` serves its operator. `network`: what is in --dir, if it is given.
std::string operator_url_of(const Session& session,
                            const Arguments& globals,
                            const std::optional<NetworkFile>& network) {
    constexpr std::string_view kUnix = "unix://";
    // A token is for TCP, so who gives one asks there.
    if (session.url.starts_with(kUnix) || !session.operator_token.empty()) return session.url;
    if (network) {
        const auto node =
            std::ranges::find(network->validators, session.url, &NetworkFile::Validator::http);
        if (node != network->validators.end()) return std::string(kUnix) + node->socket();
    }
    // A socket found by chance could be that of another node than the one that an option names.
    if (globals.has("dir") || globals.has("url")) return session.url;
    const auto socket = default_socket();
    return socket ? std::string(kUnix) + *socket : session.url;
}

}  // namespace

base::Result<Session> make_session(const Arguments& globals, bool makes_network) {
    Session session;
    session.json = globals.has("json");
    const char* home = std::getenv("HOME");
    session.wallet_url =
        "unix://" + std::string(home == nullptr ? "." : home) + "/bor-wallet/bor-wallet.sock";
    std::optional<NetworkFile> network;
    if (globals.has("dir")) {
        session.dir = globals.get("dir");
        // `network up` makes the file that the others read.
        auto file = NetworkFile::read(session.dir);
        if (file) {
            session.url = file->validators.front().http;
            session.names_wallet = !file->join;
            if (!file->join) session.wallet_url = "unix://" + file->wallet.socket;
            network = *std::move(file);
        } else if (!makes_network) {
            return fail(file.error());
        }
    }
    session.url = globals.get("url", session.url);
    session.wallet_url = globals.get("wallet-url", session.wallet_url);
    session.names_wallet |= globals.has("wallet-url");
    if (globals.has("operator-token-file")) {
        auto token = operator_token_of(globals.get("operator-token-file"));
        if (!token) return fail(std::move(token).error());
        session.operator_token = *std::move(token);
    }
    session.operator_url = operator_url_of(session, globals, network);
    return session;
}

}  // namespace cli
