#include "node/http/service.hpp"

#include <utility>

namespace node::http {

bool Places::make_room() {
    Close close;
    {
        const std::scoped_lock lock(mutex_);
        if (!table_.is_full()) return true;
        const auto id = asked_.empty() ? table_.find_to_close() : std::nullopt;
        if (!id) return false;
        asked_.insert(*id);
        close = closes_.at(*id);
    }
    ++closed_idle_;
    close(false);
    return false;
}

bool Places::has_most(const std::string& origin) const {
    const std::scoped_lock lock(mutex_);
    return table_.has_most(origin);
}

Places::Id Places::enter(const std::string& origin) {
    const std::scoped_lock lock(mutex_);
    return table_.add(origin);
}

void Places::set_close(Id id, Close close) {
    const std::scoped_lock lock(mutex_);
    closes_.insert_or_assign(id, std::move(close));
}

void Places::set_busy(Id id) {
    const std::scoped_lock lock(mutex_);
    table_.set_busy(id);
    asked_.erase(id);  // It does not end now.
}

void Places::set_idle(Id id) {
    const std::scoped_lock lock(mutex_);
    table_.set_idle(id, std::chrono::steady_clock::now());
}

void Places::add_held(Id id, std::size_t bytes) {
    if (bytes == 0) return;
    Close close;
    {
        const std::scoped_lock lock(mutex_);
        const auto now = std::chrono::steady_clock::now();
        table_.add_held(id, bytes, now);
        const auto slow = table_.find_slow(id, now - slow_after_);
        if (!slow || !asked_.insert(*slow).second) return;
        close = closes_.at(*slow);
    }
    ++closed_slow_;
    close(true);
}

void Places::take_held(Id id, std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    table_.take_held(id, bytes, std::chrono::steady_clock::now());
}

void Places::leave(Id id) {
    const std::scoped_lock lock(mutex_);
    table_.remove(id);
    closes_.erase(id);
    asked_.erase(id);
}

std::size_t Places::count() const {
    const std::scoped_lock lock(mutex_);
    return table_.size();
}

}  // namespace node::http
