#include "node/http/listener.hpp"

#include <boost/asio/ip/v6_only.hpp>

#include <filesystem>
#include <sstream>
#include <system_error>

namespace node::http {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using asio::ip::tcp;
using Unix = asio::local::stream_protocol;

namespace {

constexpr std::size_t kUnixPathBytesMax = 107;  // sockaddr_un without the closing zero.

boost::system::error_code open(tcp::acceptor& acceptor, const tcp::endpoint& endpoint) {
    boost::system::error_code error;
    acceptor.open(endpoint.protocol(), error);
    if (error) return error;
    acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (error) return error;
    if (endpoint.protocol() == tcp::v6()) acceptor.set_option(asio::ip::v6_only(true), error);
    if (error) return error;
    acceptor.bind(endpoint, error);
    if (error) return error;
    acceptor.listen(tcp::acceptor::max_listen_connections, error);
    return error;
}

bool is_served(asio::io_context& context, const std::string& path) {
    Unix::socket probe(context);
    boost::system::error_code error;
    probe.connect(Unix::endpoint(path), error);
    return !error;
}

}  // namespace

base::Result<std::vector<tcp::acceptor>> bind_tcp(asio::io_context& context,
                                                  const std::string& address) {
    const std::size_t colon = address.rfind(':');
    if (colon == std::string::npos || colon == 0) {
        return base::fail(base::Errc::invalid,
                          "address '" + address + "' is not host:port, as in 127.0.0.1:8888");
    }
    std::string host = address.substr(0, colon);
    if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    boost::system::error_code error;
    tcp::resolver resolver(context);
    const auto found =
        resolver.resolve(host, address.substr(colon + 1), tcp::resolver::passive, error);
    if (error) {
        return base::fail(base::Errc::unavailable,
                          "cannot resolve '" + address + "': " + error.message());
    }
    std::vector<tcp::acceptor> bound;
    for (const auto& entry : found) {
        tcp::acceptor acceptor(context);
        error = open(acceptor, entry.endpoint());
        if (!error) bound.push_back(std::move(acceptor));
    }
    if (!bound.empty()) return bound;
    return base::fail(base::Errc::unavailable,
                      "cannot listen on " + address + ": " + error.message() +
                          "; is another program serving there?");
}

base::Result<void> check_unix_path(const std::string& path) {
    if (!path.empty() && path.size() <= kUnixPathBytesMax) return {};
    return base::fail(base::Errc::invalid,
                      "the path of a Unix socket has 1 to 107 bytes: '" + path + "'");
}

base::Result<Unix::acceptor> bind_unix(asio::io_context& context,
                                       const std::string& path,
                                       unsigned mode) {
    if (auto good = check_unix_path(path); !good) return base::fail(std::move(good).error());
    std::error_code file_error;
    const fs::file_status status = fs::symlink_status(path, file_error);
    if (fs::exists(status)) {
        if (!fs::is_socket(status)) {
            return base::fail(base::Errc::unavailable, path + " exists and is no socket");
        }
        if (is_served(context, path)) {
            return base::fail(
                base::Errc::unavailable,
                path + " is served by another program; stop it or choose another path");
        }
        fs::remove(path, file_error);
    }
    Unix::acceptor acceptor(context);
    boost::system::error_code error;
    acceptor.open(Unix(), error);
    if (!error) acceptor.bind(Unix::endpoint(path), error);
    if (!error) {
        fs::permissions(path, static_cast<fs::perms>(mode), file_error);
        if (file_error) {
            return base::fail(base::Errc::unavailable,
                              "cannot set permissions of " + path + ": " + file_error.message());
        }
        acceptor.listen(Unix::acceptor::max_listen_connections, error);
    }
    if (error) {
        return base::fail(base::Errc::unavailable,
                          "cannot listen on " + path + ": " + error.message() +
                              "; unix-socket-path names another path, or none");
    }
    return acceptor;
}

void remove_unix(const std::string& path) {
    std::error_code ignored;
    fs::remove(path, ignored);
}

std::string text_of(const tcp::endpoint& endpoint) {
    std::ostringstream text;
    text << endpoint;
    return text.str();
}

}  // namespace node::http
