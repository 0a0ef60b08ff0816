#pragma once

#include "base/pinned.hpp"
#include "base/time.hpp"
#include "transport/driver.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <optional>

namespace transport::tcp {

// Runs the driver of a fast kind in an Asio loop: sleeps until its descriptor or its time wakes
// it, so that a driver with nothing to do costs nothing.
//
// Thread: the loop's.
class DriverLoop : base::Pinned {
  public:
    // `end_turn` is each turn's last act, as for all handlers of the loop; it calls settle().
    DriverLoop(boost::asio::io_context& context, Driver& driver, std::function<void()> end_turn);
    ~DriverLoop();

    // At the end of every turn, whoever's it was: sees that the driver is called when it must be.
    void settle();

  private:
    void turn();
    void wait_for_event();
    void wait_until(base::Timestamp due);

    boost::asio::io_context& context_;
    Driver& driver_;
    std::function<void()> end_turn_;
    boost::asio::posix::stream_descriptor event_;
    boost::asio::steady_timer timer_;
    bool waits_for_event_ = false;
    bool is_posted_ = false;
    std::optional<base::Timestamp> waits_until_;
};

}  // namespace transport::tcp
