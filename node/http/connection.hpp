#pragma once

#include "node/http/service.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>

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

// A connection's place, while it lasts. Thread: the stream's strand; of the two for bytes, any.
class Place : base::Pinned {
  public:
    Place(Places& places, Places::Id id, Stream& stream);
    ~Place() { places_.leave(id_); }

    void set_idle();
    void set_busy();
    // How the connection is ended from now on.
    void set_close(std::function<void()> close) { handle_->close = std::move(close); }
    void add_held(std::size_t bytes) { places_.add_held(id_, bytes); }
    void take_held(std::size_t bytes) { places_.take_held(id_, bytes); }

  private:
    struct Handle {
        std::function<void()> close;
        bool is_idle = false;
    };

    Places& places_;
    Places::Id id_;
    std::shared_ptr<Handle> handle_;
};

// The bytes of one request, held for its connection until they are given back.
class HeldRequest : base::Pinned {
  public:
    explicit HeldRequest(Place& place) : place_(place) {}
    ~HeldRequest() { give_back(); }
    void give_back() { place_.take_held(std::exchange(bytes_, 0)); }
    void add(std::size_t bytes) {
        bytes_ += bytes;
        place_.add_held(bytes);
    }

  private:
    Place& place_;
    std::size_t bytes_ = 0;
};

// Serves one connection until it ends; the arguments outlive that. The stream's executor is a
// strand.
boost::asio::awaitable<void> serve(Service& service,
                                   Stream& stream,
                                   Place& place,
                                   const Endpoint& endpoint);

// Serves one WebSocket after its upgrade request was read; takes the stream and the handler.
boost::asio::awaitable<void> serve_socket(Service& service,
                                          Stream& stream,
                                          Place& place,
                                          const BeastRequest& request,
                                          std::unique_ptr<SocketHandler>& handler);

}  // namespace node::http
