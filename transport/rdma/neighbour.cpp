#include "transport/rdma/neighbour.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>

namespace transport::rdma {

namespace {

constexpr int kAnswerMaxMs = 800;

}  // namespace

SocketAddress::SocketAddress(const Gid& gid) {
    if (is_ipv4(gid)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        std::memcpy(&to.sin_addr, gid.data() + kIpv4At, sizeof to.sin_addr);
        std::memcpy(&bytes, &to, sizeof to);
    } else {
        sockaddr_in6 to{};
        to.sin6_family = AF_INET6;
        std::memcpy(&to.sin6_addr, gid.data(), sizeof to.sin6_addr);
        std::memcpy(&bytes, &to, sizeof to);
    }
}

base::Result<std::unique_ptr<Neighbour>> Neighbour::seek(const Gid& own, const Gid& peer) {
    const auto refuse = [] {
        return base::fail(base::Errc::unavailable,
                          why_failed("the peer can't be looked for on the RDMA network", errno));
    };
    std::unique_ptr<Neighbour> out(new Neighbour);
    out->events_.reset(::rdma_create_event_channel());
    if (out->events_ == nullptr) return refuse();
    const int flags = ::fcntl(out->events_->fd, F_GETFL);
    rdma_cm_id* id = nullptr;
    if (::fcntl(out->events_->fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        ::rdma_create_id(out->events_.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
        return refuse();
    }
    out->id_.reset(id);
    SocketAddress from(own);
    SocketAddress to(peer);
    if (::rdma_resolve_addr(id, from.get(), to.get(), kAnswerMaxMs) != 0) return refuse();
    return out;
}

base::Result<bool> Neighbour::is_found() {
    rdma_cm_event* event = nullptr;
    if (::rdma_get_cm_event(events_.get(), &event) != 0) return false;
    const rdma_cm_event_type type = event->event;
    ::rdma_ack_cm_event(event);
    if (type == RDMA_CM_EVENT_ADDR_RESOLVED) return true;
    return base::fail(base::Errc::unavailable, "nobody answers at the peer's RDMA address");
}

}  // namespace transport::rdma
