#include "node/runtime.hpp"

#include <chrono>

// What an operator asks of the core once in the life of a validator.

namespace node {

std::shared_ptr<const base::Result<genesis::Recovery>> Runtime::answer_recovery() {
    constexpr auto kPatience = std::chrono::seconds(3);
    const auto before = published()->answer;
    post(Input(input::AnswerRecovery{}));
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    std::unique_lock lock(view_mutex_);
    while (view_->answer == before) {
        if (view_ready_.wait_until(lock, deadline) == std::cv_status::timeout) return nullptr;
    }
    return view_->answer;
}

}  // namespace node
