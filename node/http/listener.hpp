#pragma once

#include "base/result.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <string>
#include <vector>

namespace node::http {

// Listens on every address that "host:port" resolves to. unavailable: none can be bound.
[[nodiscard]] base::Result<std::vector<boost::asio::ip::tcp::acceptor>> bind_tcp(
    boost::asio::io_context& context, const std::string& address);

// invalid: a Unix socket cannot have this path.
[[nodiscard]] base::Result<void> check_unix_path(const std::string& path);

// Listens on a Unix socket. A socket file that nobody serves is replaced; any other file, or a
// served socket, is unavailable.
[[nodiscard]] base::Result<boost::asio::local::stream_protocol::acceptor> bind_unix(
    boost::asio::io_context& context, const std::string& path, unsigned mode);

// Removes the file of a Unix socket of ours.
void remove_unix(const std::string& path);

// "address:port"; IPv6 addresses in brackets.
[[nodiscard]] std::string text_of(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace node::http
