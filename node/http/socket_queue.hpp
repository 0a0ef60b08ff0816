#pragma once

#include "base/pinned.hpp"
#include "node/http/connection.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace node::http {

// The messages on their way to one WebSocket. Senders are any threads, the taker is the
// coroutine that writes.
class SocketQueue : public Socket, base::Pinned {
  public:
    struct Message {
        std::string text;
        bool binary = false;
    };

    // The place outlives abandon().
    SocketQueue(std::shared_ptr<Gate> gate,
                std::weak_ptr<Wake> writer,
                Place& place,
                std::size_t bytes_max)
        : gate_(std::move(gate)),
          writer_(std::move(writer)),
          place_(&place),
          bytes_max_(bytes_max) {}

    bool send(std::string message, bool binary) override;
    [[nodiscard]] std::size_t queued_bytes() const override;
    void close(std::string_view reason) override;

    // The oldest message; it counts as queued until written().
    [[nodiscard]] std::optional<Message> take();
    // `bytes` left the queue. True: a sender was refused and there is room again.
    [[nodiscard]] bool written(std::size_t bytes);
    // The reason given to close(), once nothing is queued.
    [[nodiscard]] std::optional<std::string> close_reason() const;
    // The connection is gone: sends fail from now on.
    void abandon();
    [[nodiscard]] bool is_abandoned() const;

  private:
    void wake_writer() const;

    std::shared_ptr<Gate> gate_;
    std::weak_ptr<Wake> writer_;
    Place* place_;  // Null once it is abandoned.
    std::size_t bytes_max_;
    mutable std::mutex mutex_;
    std::deque<Message> messages_;
    std::size_t bytes_ = 0;
    bool was_refused_ = false;
    bool is_closed_ = false;
    bool is_abandoned_ = false;
    std::string reason_;
};

}  // namespace node::http
