#pragma once

#include "base/result.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace wallet {

// What bor-wallet was started with; paths are absolute or relative to the working directory.
struct Options {
    std::string wallet_dir;
    std::string unix_socket_path;     // Empty: no Unix socket.
    std::string http_server_address;  // "host:port"; empty: no TCP.
    std::string token;                // What TCP clients must send; empty: nothing (loopback only).
    std::chrono::seconds unlock_timeout{900};
    std::size_t max_body_size = 2 * 1024 * 1024;
    bool verbose_http_errors = false;
    std::string text;  // Not empty: print it and end (--help, --version).
};

// From the command line and, below it, config.ini in the configuration directory.
// invalid: an option that does not exist or contradicts another; the text names it.
[[nodiscard]] base::Result<Options> read_options(int argc, const char* const* argv);

// Whether "host:port" names an address that only this machine reaches.
[[nodiscard]] bool is_loopback(const std::string& address);

}  // namespace wallet
