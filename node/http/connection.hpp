#pragma once

#include "node/http/service.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <memory>
#include <string>

namespace node::http {

template <class Protocol>
using Stream = boost::beast::basic_stream<Protocol, boost::asio::any_io_executor>;
using TcpStream = Stream<boost::asio::ip::tcp>;
using UnixStream = Stream<boost::asio::local::stream_protocol>;
using BeastRequest = boost::beast::http::request<boost::beast::http::string_body>;

// The peer and the place it connected to.
struct Endpoint {
    Remote remote;
    const Listen* listen = nullptr;
    std::set<std::string> hosts;  // Accepted as Host; empty: any.
};

// Serves one connection until it ends; the arguments outlive that. The stream's executor is a
// strand.
boost::asio::awaitable<void> serve(Service& service, TcpStream& stream, const Endpoint& endpoint);
boost::asio::awaitable<void> serve(Service& service, UnixStream& stream, const Endpoint& endpoint);

// Serves one WebSocket after its upgrade request was read; takes the stream and the handler.
boost::asio::awaitable<void> serve_socket(Service& service,
                                          TcpStream& stream,
                                          const BeastRequest& request,
                                          std::unique_ptr<SocketHandler>& handler);
boost::asio::awaitable<void> serve_socket(Service& service,
                                          UnixStream& stream,
                                          const BeastRequest& request,
                                          std::unique_ptr<SocketHandler>& handler);

}  // namespace node::http
