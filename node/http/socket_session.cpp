#include "node/http/connection.hpp"
#include "node/http/socket_queue.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/websocket.hpp>

#include <utility>

namespace node::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

// One WebSocket: shared by the coroutine that reads and the one that writes, on one strand.
class Session : base::Pinned {
  public:
    Session(Service& service,
            Stream::socket_type socket,
            Place& place,
            std::unique_ptr<SocketHandler> handler)
        : service_(service),
          stream_(std::move(socket)),
          wake_(std::make_shared<Wake>(stream_.get_executor())),
          queue_(std::make_shared<SocketQueue>(
              service.gate, wake_, place, service.options.socket_queue_bytes_max)),
          handler_(std::move(handler)) {}
    ~Session() { end(); }

    void close() {
        beast::error_code ignored;
        stream_.next_layer().close(ignored);
    }
    // Nobody reads any more. A writer whose peer takes nothing must not go on for ever.
    void finish() {
        end();
        close();
    }

    asio::awaitable<bool> accept(const BeastRequest& request) {
        auto timeout = websocket::stream_base::timeout::suggested(beast::role_type::server);
        timeout.idle_timeout = service_.options.idle_timeout;
        stream_.set_option(timeout);
        stream_.auto_fragment(false);  // A message is one frame: simpler clients do.
        stream_.read_message_max(service_.options.socket_message_bytes_max);
        stream_.set_option(
            websocket::stream_base::decorator([this](websocket::response_type& response) {
                response.set(beast::http::field::server, service_.options.server_name);
            }));
        const auto [error] = co_await stream_.async_accept(request, kAwait);
        if (error) co_return false;
        {
            const std::scoped_lock lock(service_.sockets_mutex);
            std::erase_if(service_.sockets, [](const auto& each) { return each.expired(); });
            service_.sockets.push_back(queue_);
        }
        handler_->opened(queue_);
        co_return true;
    }

    asio::awaitable<void> read() {
        beast::flat_buffer buffer;
        while (true) {
            const auto [error, size] = co_await stream_.async_read(buffer, kAwait);
            if (error) break;
            handler_->message({static_cast<const char*>(buffer.data().data()), buffer.size()});
            buffer.consume(buffer.size());
        }
    }

    asio::awaitable<void> write() {
        while (!queue_->is_abandoned()) {
            if (std::optional<SocketQueue::Message> message = queue_->take()) {
                const bool is_written = co_await write_one(*message);
                if (!is_written) break;
                continue;
            }
            if (const std::optional<std::string> reason = queue_->close_reason()) {
                const websocket::close_reason close(websocket::close_code::normal, *reason);
                co_await stream_.async_close(close, kAwait);
                break;
            }
            // A wake-up between the look into the queue and here comes on this strand, later.
            co_await wake_->timer.async_wait(kAwait);
        }
    }

  private:
    asio::awaitable<bool> write_one(const SocketQueue::Message& message) {
        stream_.binary(message.binary);
        const auto [error, size] = co_await stream_.async_write(asio::buffer(message.text), kAwait);
        if (error) co_return false;
        if (queue_->written(message.text.size()) && handler_ != nullptr) handler_->drained();
        co_return true;
    }

    // Tells the application once that it is over.
    void end() {
        queue_->abandon();
        if (handler_ == nullptr) return;
        const std::unique_ptr<SocketHandler> handler = std::move(handler_);
        handler->closed();
    }

    Service& service_;
    // Over the bare socket, since it has timers of its own, and without compression.
    websocket::stream<Stream::socket_type, false> stream_;
    std::shared_ptr<Wake> wake_;
    std::shared_ptr<SocketQueue> queue_;
    std::unique_ptr<SocketHandler> handler_;
};

// A coroutine keeps what it works on.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
asio::awaitable<void> run(std::shared_ptr<Session> session) {
    co_await session->write();
}

// Also when the reader fails: the place that the queue tells of what it has ends with it.
class Finish : base::Pinned {
  public:
    explicit Finish(Session& session) : session_(session) {}
    ~Finish() { session_.finish(); }

  private:
    Session& session_;
};

}  // namespace

asio::awaitable<void> serve_socket(Service& service,
                                   Stream& stream,
                                   Place& place,
                                   const BeastRequest& request,
                                   std::unique_ptr<SocketHandler>& handler) {
    const auto session =
        std::make_shared<Session>(service, stream.release_socket(), place, std::move(handler));
    // Its writer may outlive the place.
    place.set_close([weak = std::weak_ptr(session)] {
        if (const auto open = weak.lock()) open->close();
    });
    const bool is_accepted = co_await session->accept(request);
    if (!is_accepted) co_return;
    const asio::any_io_executor strand = co_await asio::this_coro::executor;
    asio::co_spawn(strand, run(session), asio::detached);
    const Finish finish(*session);
    co_await session->read();
}

}  // namespace node::http
