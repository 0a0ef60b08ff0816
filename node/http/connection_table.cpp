#include "node/http/connection_table.hpp"

namespace node::http {

bool ConnectionTable::has_most(const std::string& origin) const {
    const auto found = origins_.find(origin);
    return !origin.empty() && found != origins_.end() &&
           found->second.count >= bounds_.connections_of_origin;
}

ConnectionTable::Id ConnectionTable::add(const std::string& origin) {
    const auto of = origins_.try_emplace(origin).first;
    ++of->second.count;
    connections_.emplace(
        ++next_, Connection{.origin = of, .idle_since = std::nullopt, .held = 0, .took_at = {}});
    return next_;
}

void ConnectionTable::set_busy(Id id) {
    Connection& connection = connections_.at(id);
    if (!connection.idle_since) return;
    connection.origin->second.idle.erase({*connection.idle_since, id});
    connection.idle_since.reset();
}

void ConnectionTable::set_idle(Id id, Time now) {
    set_busy(id);
    Connection& connection = connections_.at(id);
    connection.idle_since = now;
    connection.origin->second.idle.emplace(now, id);
}

void ConnectionTable::remove(Id id) {
    set_busy(id);
    const auto found = connections_.find(id);
    take_held(id, found->second.held, {});
    const auto of = found->second.origin;
    if (--of->second.count == 0) origins_.erase(of);
    connections_.erase(found);
}

std::optional<ConnectionTable::Id> ConnectionTable::find_to_close() const {
    const Origin* most = nullptr;
    for (const auto& [name, origin] : origins_) {
        if (origin.idle.empty()) continue;
        if (most == nullptr || origin.count > most->count) most = &origin;
    }
    if (most == nullptr) return std::nullopt;
    return most->idle.begin()->second;
}

void ConnectionTable::add_held(Id id, std::size_t bytes, Time now) {
    if (bytes == 0) return;
    Connection& connection = connections_.at(id);
    Origin& origin = connection.origin->second;
    if (connection.held == 0) {
        connection.took_at = now;
        origin.readers.emplace(now, id);
    }
    connection.held += bytes;
    origin.held += bytes;
    held_ += bytes;
}

void ConnectionTable::take_held(Id id, std::size_t bytes, Time now) {
    if (bytes == 0) return;
    Connection& connection = connections_.at(id);
    Origin& origin = connection.origin->second;
    origin.readers.erase({connection.took_at, id});
    connection.held -= bytes;
    origin.held -= bytes;
    held_ -= bytes;
    if (connection.held == 0) return;
    connection.took_at = now;
    origin.readers.emplace(now, id);
}

std::optional<ConnectionTable::Id> ConnectionTable::find_slow(Id added, Time before) const {
    const auto& [name, origin] = *connections_.at(added).origin;
    std::optional<std::pair<Time, Id>> slowest;
    if (held_ > bounds_.held) {
        for (const auto& [other, each] : origins_) {
            if (each.readers.empty()) continue;
            if (!slowest || *each.readers.begin() < *slowest) slowest = *each.readers.begin();
        }
    } else if (!name.empty() && origin.held > bounds_.held_of_origin && origin.readers.size() > 1) {
        slowest = *origin.readers.begin();
    }
    if (!slowest || slowest->first > before) return std::nullopt;
    return slowest->second;
}

}  // namespace node::http
