#pragma once

#include "base/result.hpp"
#include "node/http/server.hpp"

#include <boost/program_options/options_description.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace node {

// What an operator says of the HTTP interface.
struct HttpSettings {
    std::string server_address;                   // host:port; empty: none.
    std::string unix_socket_path;                 // Relative to the data directory; empty: none.
    std::filesystem::path operator_token_file;    // Empty: operator's calls by the socket alone.
    std::vector<std::string> category_addresses;  // "category,address".
    unsigned threads = 2;
    std::size_t body_bytes_max = 0;
    std::size_t connections_max = 0;
    std::size_t bytes_in_flight_max = 0;
    unsigned requests_per_second = 0;
    std::chrono::milliseconds response_time_max{0};
    bool verbose_errors = false;
    bool validate_host = true;
    std::set<std::string> aliases;
    std::string allow_origin;
    std::string allow_headers;
    std::string max_age;
    bool allow_credentials = false;
};

// The options, with their defaults; what is read is put into `out`, which outlives them.
[[nodiscard]] boost::program_options::options_description http_options(HttpSettings& out);

// What they allow alone but not together. invalid: names option, value and remedy.
[[nodiscard]] base::Result<void> check_http(const HttpSettings& settings);

// As the server takes them. `told`: host:port under which others are told to ask here, or empty.
// Reads the operator's token. invalid: its file; names it, and the command that mends it.
[[nodiscard]] base::Result<http::Options> server_options(const HttpSettings& settings,
                                                         const std::filesystem::path& data_dir,
                                                         const std::string& told);

}  // namespace node
