#pragma once

#include "node/http/service.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <memory>
#include <string>

namespace node::http {

// TCP and Unix sockets alike: one type, since Beast is compiled anew for each.
using Stream = boost::beast::basic_stream<boost::asio::generic::stream_protocol>;
using BeastRequest = boost::beast::http::request<boost::beast::http::string_body>;

// The peer and the place it connected to.
struct Endpoint {
    Remote remote;
    const Listen* listen = nullptr;
    std::set<std::string> hosts;  // Accepted as Host; empty: any.
};

// Serves one connection until it ends; the arguments outlive that. The stream's executor is a
// strand.
boost::asio::awaitable<void> serve(Service& service, Stream& stream, const Endpoint& endpoint);

// Serves one WebSocket after its upgrade request was read; takes the stream and the handler.
boost::asio::awaitable<void> serve_socket(Service& service,
                                          Stream& stream,
                                          const BeastRequest& request,
                                          std::unique_ptr<SocketHandler>& handler);

}  // namespace node::http
