#include "node/http/service.hpp"

#include <boost/asio/dispatch.hpp>

#include <utility>

namespace node::http {

void Reply::operator()(Response response) const {
    target_->answer(std::move(response));
}

// NOLINTNEXTLINE(bugprone-exception-escape): no memory to answer ends the process.
Reply::Target::~Target() {
    if (answered_) return;
    answer(error_response({.message = "Internal Service Error",
                           .details = {"the request was dropped without an answer"}},
                          false));
}

void Reply::Target::answer(Response response) {
    if (answered_.exchange(true)) return;
    const std::scoped_lock lock(gate_->mutex);
    if (!gate_->open) return;
    std::shared_ptr<Wake> wake = wake_.lock();
    if (wake == nullptr) return;
    const boost::asio::any_io_executor executor = wake->timer.get_executor();
    boost::asio::dispatch(executor,
                          [wake = std::move(wake), response = std::move(response)]() mutable {
                              wake->response = std::move(response);
                              wake->timer.cancel();
                          });
}

}  // namespace node::http
