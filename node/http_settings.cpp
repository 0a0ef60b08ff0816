#include "node/http_settings.hpp"

#include "genesis/join_line.hpp"
#include "node/disk/secret_file.hpp"
#include "node/http/listener.hpp"
#include "node/option_names.hpp"
#include "node/option_values.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace node {

namespace po = boost::program_options;

namespace {

using option::converted;
using option::flag;
using option::list;
using option::number;
using option::text;
using option::time_limit;

constexpr std::string_view kByCategory = "http-category-address";

tl::unexpected<base::Error> invalid(std::string text) {
    return base::fail(base::Errc::invalid, std::move(text));
}

std::vector<http::Listen> addresses_of(const HttpSettings& settings) {
    std::vector<http::Listen> listen;
    if (settings.category_addresses.empty() && !settings.server_address.empty()) {
        listen.push_back({.address = settings.server_address});
    }
    for (const std::string& each : settings.category_addresses) {
        const std::size_t comma = each.find(',');
        const std::string address = each.substr(comma + 1);
        auto found = std::ranges::find(listen, address, &http::Listen::address);
        if (found == listen.end()) {
            listen.push_back({.address = address});
            found = std::prev(listen.end());
        }
        found->categories.insert(each.substr(0, comma));
    }
    return listen;
}

}  // namespace

po::options_description http_options(HttpSettings& out) {
    po::options_description all("HTTP");
    auto add = all.add_options();
    add("http-server-address",
        text(out.server_address, "127.0.0.1:8888"),
        "host:port to serve; empty: none");
    add("unix-socket-path",
        text(out.unix_socket_path, "bor.sock"),
        "Unix socket to serve, relative to data-dir; empty: none");
    add("http-operator-token-file",
        text(out.operator_token_file),
        "file with the token that operator's calls over TCP need; none: they are served on the "
        "Unix socket alone");
    add("http-category-address",
        list(out.category_addresses),
        "category,address: serve one category there (http-server-address = http-category-address)");
    add("http-threads", number(out.threads, 2U), "threads that serve HTTP");
    add("max-body-size",
        number(out.body_bytes_max, std::size_t{4} << 20U),
        "largest request body, bytes");
    add("http-max-connections",
        number(out.connections_max, std::size_t{2'048}),
        "open connections over TCP, and as many over the Unix socket; of one address that is not "
        "loopback 64");
    add("http-max-bytes-in-flight-mb",
        converted(std::int64_t{500},
                  [&out](std::int64_t flight) {
                      out.bytes_in_flight_max =
                          flight < 0 ? SIZE_MAX : static_cast<std::size_t>(flight) << 20U;
                  }),
        "requests and answers under way, MiB; -1: no limit");
    add("http-requests-per-second",
        number(out.requests_per_second, 0U),
        "of one address that is not loopback; 0: no limit");
    add("http-max-response-time-ms",
        time_limit(out.response_time_max, 100),
        "time to collect one answer, ms; -1: no limit");
    add("verbose-http-errors", flag(out.verbose_errors), "errors carry all their details");
    add("http-validate-host", number(out.validate_host, true), "refuse requests for another Host");
    add("http-alias",
        po::value<std::vector<std::string>>()->composing()->notifier(
            [&out](const std::vector<std::string>& names) {
                out.aliases = {names.begin(), names.end()};
            }),
        "accepted as Host besides our own addresses");
    add("access-control-allow-origin", text(out.allow_origin), "CORS header");
    add("access-control-allow-headers", text(out.allow_headers), "CORS header");
    add("access-control-max-age", text(out.max_age), "CORS header, s");
    add("access-control-allow-credentials", flag(out.allow_credentials), "CORS header");
    return all;
}

base::Result<void> check_http(const HttpSettings& settings) {
    const bool by_category = settings.server_address == kByCategory;
    if (by_category && settings.category_addresses.empty()) {
        return invalid("http-server-address = http-category-address needs http-category-address");
    }
    if (!by_category && !settings.category_addresses.empty()) {
        return invalid("http-category-address needs http-server-address = http-category-address");
    }
    for (const std::string& each : settings.category_addresses) {
        if (each.find(',') == std::string::npos) {
            return invalid("http-category-address = " + each + ": expected category,address");
        }
    }
    return {};
}

base::Result<http::Options> server_options(const HttpSettings& settings,
                                           const std::filesystem::path& data_dir,
                                           const std::string& told) {
    http::Options options;
    options.threads = settings.threads;
    options.server_name = "bor/" + std::string(kVersion);
    options.body_bytes_max = settings.body_bytes_max;
    options.connections_max = settings.connections_max;
    options.bytes_in_flight_max = settings.bytes_in_flight_max;
    options.requests_per_second_max = settings.requests_per_second;
    options.verbose_errors = settings.verbose_errors;
    options.validate_host = settings.validate_host;
    options.host_aliases = settings.aliases;
    if (const auto address = genesis::HostPort::from_string(told)) {
        options.host_aliases.insert(address->host);
    }
    options.allow_origin = settings.allow_origin;
    options.allow_headers = settings.allow_headers;
    options.max_age = settings.max_age;
    options.allow_credentials = settings.allow_credentials;
    options.listen = addresses_of(settings);
    if (!settings.unix_socket_path.empty()) {
        const auto path = data_dir / settings.unix_socket_path;
        if (auto good = http::check_unix_path(path.string()); !good) {
            return invalid("unix-socket-path: " + good.error().detail +
                           "; name a short absolute path, or none");
        }
        options.listen.push_back({.address = path.string(), .is_unix = true});
    }
    options.operator_token = "";
    if (!settings.operator_token_file.empty()) {
        auto token = read_token("http-operator-token-file", settings.operator_token_file);
        if (!token) return base::fail(token.error());
        options.operator_token = *std::move(token);
    }
    return options;
}

}  // namespace node
