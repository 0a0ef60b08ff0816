#include "node/http/socket_queue.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace node::http {

namespace {

constexpr std::size_t kReasonBytesMax = 123;  // RFC 6455, 5.5.1.

}  // namespace

bool SocketQueue::send(std::string message, bool binary) {
    {
        const std::scoped_lock lock(mutex_);
        if (is_closed_ || is_abandoned_) return false;
        // One message may exceed the limit when nothing else waits, or it could never be sent.
        if (bytes_ != 0 && bytes_ + message.size() > bytes_max_) {
            was_refused_ = true;
            return false;
        }
        bytes_ += message.size();
        place_->add_held(message.size());
        messages_.push_back({std::move(message), binary});
    }
    wake_writer();
    return true;
}

std::size_t SocketQueue::queued_bytes() const {
    const std::scoped_lock lock(mutex_);
    return bytes_;
}

void SocketQueue::close(std::string_view reason) {
    {
        const std::scoped_lock lock(mutex_);
        if (is_closed_) return;
        is_closed_ = true;
        reason_ = reason.substr(0, kReasonBytesMax);
    }
    wake_writer();
}

std::optional<SocketQueue::Message> SocketQueue::take() {
    const std::scoped_lock lock(mutex_);
    if (messages_.empty()) return std::nullopt;
    Message message = std::move(messages_.front());
    messages_.pop_front();
    return message;
}

bool SocketQueue::written(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    bytes_ -= bytes;
    if (place_ != nullptr) place_->take_held(bytes);
    if (!was_refused_ || bytes_ > bytes_max_ / 2) return false;
    was_refused_ = false;
    return true;
}

std::optional<std::string> SocketQueue::close_reason() const {
    const std::scoped_lock lock(mutex_);
    if (!is_closed_ || !messages_.empty()) return std::nullopt;
    return reason_;
}

void SocketQueue::abandon() {
    {
        const std::scoped_lock lock(mutex_);
        is_abandoned_ = true;
        place_ = nullptr;
        messages_.clear();
    }
    wake_writer();
}

bool SocketQueue::is_abandoned() const {
    const std::scoped_lock lock(mutex_);
    return is_abandoned_;
}

void SocketQueue::wake_writer() const {
    const std::scoped_lock lock(gate_->mutex);
    if (!gate_->open) return;
    std::shared_ptr<Wake> writer = writer_.lock();
    if (writer == nullptr) return;
    const boost::asio::any_io_executor executor = writer->timer.get_executor();
    boost::asio::post(executor, [writer = std::move(writer)] { writer->timer.cancel(); });
}

}  // namespace node::http
