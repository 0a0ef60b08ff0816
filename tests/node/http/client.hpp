#pragma once

#include "node/http/server.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace tests {

namespace asio = boost::asio;
namespace bhttp = boost::beast::http;

// Drops every line.
class NoLog : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level) const override { return false; }
    void write(base::Level, std::string_view, std::string_view) override {}
};

// A blocking client that writes exactly the bytes it is told. Reads give up after a minute.
template <class Protocol>
class Client {
  public:
    explicit Client(const typename Protocol::endpoint& endpoint) : socket_(context_) {
        socket_.connect(endpoint);
        const timeval limit{60, 0};
        ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }

    void write(std::string_view text) {
        boost::system::error_code ignored;  // The server may have closed, which a read shows.
        asio::write(socket_, asio::buffer(text), ignored);
    }
    // The next answer; status 0 when the connection ended without one.
    bhttp::response<bhttp::string_body> read(bool is_head = false) {
        bhttp::response_parser<bhttp::string_body> parser;
        parser.skip(is_head);
        parser.body_limit(std::size_t{64} << 20);
        boost::system::error_code error;
        bhttp::read(socket_, buffer_, parser, error);
        bhttp::response<bhttp::string_body> answer = parser.release();
        if (error) answer.result(0U);
        return answer;
    }
    bhttp::response<bhttp::string_body> ask(std::string_view text) {
        write(text);
        return read();
    }
    // Whether the server ended the connection; waits for it.
    bool is_closed() {
        char byte = 0;
        boost::system::error_code error;
        socket_.read_some(asio::buffer(&byte, 1), error);
        return error == asio::error::eof || error == asio::error::connection_reset;
    }
    // Whether it has ended the connection by now.
    bool is_closed_already() {
        char byte = 0;
        const auto got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
    }
    typename Protocol::socket& socket() { return socket_; }

  private:
    asio::io_context context_;
    typename Protocol::socket socket_;
    boost::beast::flat_buffer buffer_;
};

using TcpClient = Client<asio::ip::tcp>;
using UnixClient = Client<asio::local::stream_protocol>;

// "127.0.0.1:1234" as an endpoint.
inline asio::ip::tcp::endpoint endpoint_of(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    return {asio::ip::make_address(address.substr(0, colon)),
            static_cast<std::uint16_t>(std::stoul(address.substr(colon + 1)))};
}

// A request with the Host that the server expects.
inline std::string request(std::string_view method,
                           std::string_view target,
                           std::string_view body = {},
                           std::string_view headers = {}) {
    std::string text(method);
    text.append(" ").append(target).append(" HTTP/1.1\r\nHost: 127.0.0.1\r\n").append(headers);
    if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    return text.append("\r\n").append(body);
}

}  // namespace tests
