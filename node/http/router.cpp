#include "node/http/server.hpp"

#include <utility>

namespace node::http {

namespace {

bool is_served(const std::string& category, const Listen& listen) {
    return category.empty() || listen.categories.empty() || listen.categories.contains(category);
}

bool is_listed(const std::string& category, const Listen& listen) {
    return listen.is_unix || listen.categories.contains(category);
}

}  // namespace

void Router::add(std::string path, Route route) {
    routes_.insert_or_assign(std::move(path), std::move(route));
}

void Router::add_socket(std::string path, std::string category, Upgrade upgrade) {
    sockets_.insert_or_assign(std::move(path),
                              SocketRoute{std::move(category), std::move(upgrade)});
}

const Route* Router::find(const Request& request, const Listen& listen) const {
    const auto found = routes_.find(request.path);
    if (found == routes_.end()) return nullptr;
    const Route& route = found->second;
    if (!is_served(route.category, listen)) return nullptr;
    if (route.is_listed && !is_listed(route.category, listen)) return nullptr;
    const bool query_served = request.query.empty() || route.queries.contains("*") ||
                              route.queries.contains(request.query);
    return query_served ? &route : nullptr;
}

const Upgrade* Router::find_socket(const Request& request, const Listen& listen) const {
    const auto found = sockets_.find(request.path);
    if (found == sockets_.end() || !is_served(found->second.category, listen)) return nullptr;
    return &found->second.upgrade;
}

std::vector<std::string> Router::paths() const {
    std::vector<std::string> all;
    all.reserve(routes_.size());
    for (const auto& [path, route] : routes_)
        all.push_back(path);
    return all;
}

}  // namespace node::http
