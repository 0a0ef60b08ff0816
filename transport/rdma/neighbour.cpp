#include "transport/rdma/neighbour.hpp"

#include "transport/rdma/verbs.hpp"

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace transport::rdma {

namespace {

constexpr const char* kManager = "/dev/infiniband/rdma_cm";
constexpr std::uint32_t kAnswerMaxMs = 800;
constexpr std::uint32_t kAddressResolved = 0;  // Of the kernel's rdma_cm_event_type.

template <class Body>
struct Command {
    rdma_ucm_cmd_hdr header{};
    Body body{};
};

// With room for an answer, which the body then points to.
template <class Body>
bool ask(int manager, std::uint32_t command, const Body& body, std::size_t answer = 0) {
    const Command<Body> all{
        .header = {.cmd = command, .in = sizeof(Body), .out = static_cast<std::uint16_t>(answer)},
        .body = body};
    static_assert(sizeof all == sizeof all.header + sizeof all.body);
    return ::write(manager, &all, sizeof all) == static_cast<ssize_t>(sizeof all);
}

sockaddr_in6 socket_address(const Gid& gid) {
    sockaddr_in6 out{};
    if (is_ipv4(gid)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        std::memcpy(&to.sin_addr, gid.data() + kIpv4At, sizeof to.sin_addr);
        std::memcpy(&out, &to, sizeof to);
    } else {
        out.sin6_family = AF_INET6;
        std::memcpy(&out.sin6_addr, gid.data(), sizeof out.sin6_addr);
    }
    return out;
}

tl::unexpected<base::Error> refuse(const std::string& what) {
    return base::fail(
        base::Errc::unavailable,
        why_failed("the peer can't be looked for on the RDMA network: " + what, errno));
}

}  // namespace

base::Result<std::unique_ptr<Neighbour>> Neighbour::seek(const Gid& own, const Gid& peer) {
    std::unique_ptr<Neighbour> out(new Neighbour);
    out->manager_ = Descriptor(::open(kManager, O_RDWR | O_NONBLOCK | O_CLOEXEC));
    const int manager = out->manager_.get();
    if (!out->manager_) return refuse(std::string(kManager) + " (of module rdma_ucm)");
    rdma_ucm_create_id_resp made{};
    const rdma_ucm_create_id create{.uid = 1,  // Of 0 nothing is ever told.
                                    .response = reinterpret_cast<std::uintptr_t>(&made),
                                    .ps = RDMA_PS_TCP,
                                    .qp_type = 0,
                                    .reserved = {}};
    if (!ask(manager, RDMA_USER_CM_CMD_CREATE_ID, create, sizeof made)) return refuse("create");
    const rdma_ucm_resolve_ip resolve{.src_addr = socket_address(own),
                                      .dst_addr = socket_address(peer),
                                      .id = made.id,
                                      .timeout_ms = kAnswerMaxMs};
    if (!ask(manager, RDMA_USER_CM_CMD_RESOLVE_IP, resolve)) return refuse("resolve");
    return out;
}

base::Result<bool> Neighbour::is_found() {
    rdma_ucm_event_resp event{};
    const rdma_ucm_get_event get{.response = reinterpret_cast<std::uintptr_t>(&event)};
    if (!ask(manager_.get(), RDMA_USER_CM_CMD_GET_EVENT, get, sizeof event)) {
        if (errno == EAGAIN) return false;
        return refuse("event");
    }
    if (event.event == kAddressResolved) return true;
    // The kernel's, below zero.
    const int error = -static_cast<int>(event.status);
    return base::fail(base::Errc::unavailable,
                      why_failed("nobody answers at the peer's RDMA address", error));
}

}  // namespace transport::rdma
