#include "transport/tcp/driver_loop.hpp"

#include <boost/asio/post.hpp>

#include <chrono>
#include <utility>

namespace transport::tcp {

using boost::system::error_code;

namespace {

constexpr std::size_t kBudget = 64;  // Paths in a turn.

base::Timestamp now() {
    return base::Timestamp(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace

DriverLoop::DriverLoop(boost::asio::io_context& context,
                       Driver& driver,
                       std::function<void()> end_turn)
    : context_(context),
      driver_(driver),
      end_turn_(std::move(end_turn)),
      event_(context, driver.event_fd()),
      timer_(context) {}

DriverLoop::~DriverLoop() {
    event_.release();  // The driver's own.
}

void DriverLoop::turn() {
    driver_.progress(now(), kBudget);
    end_turn_();
}

void DriverLoop::settle() {
    wait_for_event();
    if (driver_.arm() == Driver::Arm::busy && !std::exchange(is_posted_, true)) {
        boost::asio::post(context_, [this] {
            is_posted_ = false;
            turn();
        });
    }
    if (const auto due = driver_.wake_at()) wait_until(*due);
}

void DriverLoop::wait_for_event() {
    if (std::exchange(waits_for_event_, true)) return;
    event_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this](const error_code& error) {
                          if (error) return;
                          waits_for_event_ = false;
                          driver_.drain_events();
                          turn();
                      });
}

// A timer that is too early does no harm, and setting one costs a system call.
void DriverLoop::wait_until(base::Timestamp due) {
    if (waits_until_ && *waits_until_ <= due) return;
    waits_until_ = due;
    timer_.expires_at(std::chrono::steady_clock::time_point(due.time_since_epoch()));
    timer_.async_wait([this](const error_code& error) {
        if (error) return;  // Set anew.
        waits_until_.reset();
        turn();
    });
}

}  // namespace transport::tcp
