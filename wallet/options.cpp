#include "wallet/options.hpp"

#include "node/disk/secret_file.hpp"

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

namespace wallet {

namespace po = boost::program_options;

namespace {

using base::Errc;
using base::Result;

constexpr std::string_view kUsage =
    "bor-wallet keeps keys, signs with them, and answers keosd's HTTP calls.\n\n"
    "Options, on the command line or in config.ini:\n";

std::string default_directory() {
    const char* home = std::getenv("HOME");
    return home == nullptr ? std::string("bor-wallet") : std::string(home) + "/bor-wallet";
}

po::options_description make_description() {
    po::options_description all;
    auto add = all.add_options();
    add("help,h", "print this text");
    add("version", "print the version");
    add("data-dir",
        po::value<std::string>()->default_value(default_directory()),
        "directory that relative paths below refer to");
    add("config-dir",
        po::value<std::string>(),
        "directory of config.ini; default: the data directory");
    add("wallet-dir",
        po::value<std::string>()->default_value("."),
        "directory of the wallet files");
    add("unlock-timeout",
        po::value<std::int64_t>()->default_value(900),
        "seconds after the last call until wallets lock by themselves");
    add("unix-socket-path",
        po::value<std::string>()->default_value("bor-wallet.sock"),
        "Unix socket to serve (mode 0600); empty: none");
    add("http-server-address",
        po::value<std::string>()->default_value(""),
        "HOST:PORT to serve besides, with http-token; empty: none");
    add("http-token",
        po::value<std::string>()->default_value(""),
        "file with the token (at least 16 characters) that TCP clients must send as "
        "'Authorization: Bearer TOKEN'; 'none': no token, on loopback addresses only");
    add("max-body-size",
        po::value<std::size_t>()->default_value(2 * 1024 * 1024),
        "most bytes of a request's body");
    add("verbose-http-errors",
        po::value<bool>()->default_value(false)->implicit_value(true),
        "tell the causes of an error, too");
    return all;
}

std::string absolute(const std::string& directory, const std::string& path) {
    if (path.empty() || path.front() == '/') return path;
    return path == "." ? directory : directory + "/" + path;
}

// boost reports by exceptions; they end here.
Result<po::variables_map> parse(int argc,
                                const char* const* argv,
                                const po::options_description& description) {
    po::variables_map values;
    try {
        const auto style =
            po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
        po::store(po::command_line_parser(argc, argv)
                      .options(description)
                      .positional({})
                      .style(style)
                      .run(),
                  values);
        const std::string directory = values.count("config-dir") != 0
                                          ? absolute(values["data-dir"].as<std::string>(),
                                                     values["config-dir"].as<std::string>())
                                          : values["data-dir"].as<std::string>();
        std::ifstream file(directory + "/config.ini");
        if (file) po::store(po::parse_config_file(file, description), values);
        po::notify(values);
    } catch (const po::error& error) {
        return base::fail(Errc::invalid,
                          fmt::format("{}; see bor-wallet --help for the options", error.what()));
    }
    return values;
}

Result<void> set_token(Options& options, const std::string& token, const std::string& directory) {
    if (options.http_server_address.empty()) return {};
    if (token.empty()) {
        return base::fail(Errc::invalid,
                          "http-server-address needs http-token: a file with a token, or 'none' on "
                          "a loopback address");
    }
    if (token != "none") {
        auto text = node::read_token("http-token", absolute(directory, token));
        if (!text) return base::fail(text.error());
        options.token = std::move(*text);
        return {};
    }
    if (!is_loopback(options.http_server_address)) {
        return base::fail(Errc::invalid,
                          fmt::format("http-token = none is for loopback addresses, and {} is none",
                                      options.http_server_address));
    }
    return {};
}

}  // namespace

bool is_loopback(const std::string& address) {
    const std::string host = address.substr(0, address.rfind(':'));
    const bool digits_only = host.find_first_not_of("0123456789.") == std::string::npos;
    return host == "localhost" || host == "[::1]" || (digits_only && host.starts_with("127."));
}

Result<Options> read_options(int argc, const char* const* argv) {
    const po::options_description description = make_description();
    const auto values = parse(argc, argv, description);
    if (!values) return base::fail(values.error());
    const auto text_of = [&](const char* name) { return (*values)[name].as<std::string>(); };

    Options options;
    if (values->count("help") != 0) {
        std::ostringstream text;
        text << kUsage << description;
        options.text = text.str();
        return options;
    }
    if (values->count("version") != 0) {
        options.text = fmt::format("bor-wallet {}\n", BOR_VERSION);
        return options;
    }
    const std::string directory = text_of("data-dir");
    options.wallet_dir = absolute(directory, text_of("wallet-dir"));
    options.unix_socket_path = absolute(directory, text_of("unix-socket-path"));
    options.http_server_address = text_of("http-server-address");
    options.max_body_size = (*values)["max-body-size"].as<std::size_t>();
    options.verbose_http_errors = (*values)["verbose-http-errors"].as<bool>();
    const auto timeout = (*values)["unlock-timeout"].as<std::int64_t>();
    constexpr std::int64_t kTimeoutMax = std::int64_t{100} * 365 * 24 * 3600;
    if (timeout <= 0 || timeout > kTimeoutMax) {
        return base::fail(
            Errc::invalid,
            fmt::format("unlock-timeout is {}; it is a number of seconds from 1 to {}",
                        timeout,
                        kTimeoutMax));
    }
    options.unlock_timeout = std::chrono::seconds(timeout);
    if (options.unix_socket_path.empty() && options.http_server_address.empty()) {
        return base::fail(Errc::invalid,
                          "nothing to serve: unix-socket-path and http-server-address are empty");
    }
    if (auto set = set_token(options, text_of("http-token"), directory); !set) {
        return base::fail(set.error());
    }
    return options;
}

}  // namespace wallet
