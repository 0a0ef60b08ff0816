#include "transport/ntb/shm_kind.hpp"

#include "transport/ntb/host.hpp"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace transport::ntb {

namespace {

constexpr std::uint64_t kListenerId = 0;  // No window's.
constexpr std::size_t kEventsMax = 32;
// Strangers of this host that have connected and said nothing: the oldest makes room.
constexpr std::size_t kGreetingsMax = 32;

bool add_to(int epoll, int socket, std::uint64_t id, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = id;
    return epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0 ||
           (errno == EEXIST && epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) == 0);
}

}  // namespace

base::Result<std::unique_ptr<ShmKind>> ShmKind::create(Options options) {
    ShmAddress address{.host = options.host.empty() ? boot_id() : options.host,
                       .socket = random_token()};
    if (address.host.empty()) {
        return base::fail(base::Errc::unavailable,
                          "no shared memory: /proc/sys/kernel/random/boot_id can't be read");
    }
    auto listener = listen_at(address.socket);
    if (!listener) return base::fail(listener.error());
    Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
    // Edges: where no descriptor is left for a connection, it must not wake us again and again.
    if (!epoll || !add_to(epoll.get(), listener->get(), kListenerId, EPOLLIN | EPOLLET)) {
        return base::fail(base::Errc::unavailable, "no shared memory: epoll is not to be had");
    }
    return std::unique_ptr<ShmKind>(new ShmKind(
        std::move(options), std::move(address), std::move(epoll), std::move(*listener)));
}

base::Result<std::unique_ptr<link::FastPath>> ShmKind::prepare(const Request& request,
                                                               link::FastUser& user) {
    const auto peer = decode_address(request.peer_address);
    if (!peer) return base::fail(peer.error());
    if (peer->host != address_.host) {
        return base::fail(base::Errc::unavailable, "the peer runs on another host");
    }
    Parameters ours{.epoch = random_epoch(),
                    .control_log2 = options_.control_log2,
                    .data_log2 = options_.data_log2};
    auto memory = SharedMemory::create(window_bytes(ours.geometry().region_bytes()));
    if (!memory) return base::fail(memory.error());
    const std::uint64_t id = ++last_id_;
    ShmWindow::Identity identity{.id = id, .leads = request.leads, .peer_socket = peer->socket};
    if (request.leads) identity.token = random_token();
    ShmWatch& watch = *this;
    auto window = std::make_unique<ShmWindow>(watch, identity, std::move(*memory));
    Entry& entry = windows_[id];
    entry.window = window.get();
    auto path = std::make_unique<WindowPath>(
        std::move(window), std::move(ours), request.secrets, schedule_, user);
    entry.path = path.get();
    return std::unique_ptr<link::FastPath>(std::move(path));
}

bool ShmKind::watch(int socket, std::uint64_t window) {
    return add_to(epoll_.get(), socket, window, EPOLLIN);
}

void ShmKind::unwatch(int socket) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket, nullptr);
}

void ShmKind::drain_events() {
    std::array<epoll_event, kEventsMax> events{};
    const int count = epoll_wait(epoll_.get(), events.data(), kEventsMax, 0);
    for (int i = 0; i < count; ++i) {
        const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;
        if (id == kListenerId) {
            accept_all();
        } else if (const auto found = windows_.find(id); found != windows_.end()) {
            found->second.window->on_socket();
            schedule_.mark_ready(*found->second.path);
        } else if (greetings_.contains(id)) {
            greet(id);
        }
    }
}

void ShmKind::accept_all() {
    while (Descriptor socket = accept_from(listener_.get())) {
        if (greetings_.size() >= kGreetingsMax) greetings_.erase(greetings_.begin());
        const std::uint64_t id = ++last_id_;
        if (watch(socket.get(), id)) greetings_.emplace(id, std::move(socket));
    }
}

void ShmKind::greet(std::uint64_t id) {
    const auto found = greetings_.find(id);
    auto hello = receive_hello(found->second.get());
    if (!hello && hello.error().code == base::Errc::would_block) return;
    Descriptor socket = std::move(found->second);
    greetings_.erase(found);
    if (hello) hand_over(std::move(socket), std::move(*hello));
}

// Who knows no window's token is hung up on.
void ShmKind::hand_over(Descriptor socket, Hello hello) {
    for (auto& [id, entry] : windows_) {
        if (!entry.window->awaits(hello.token)) continue;
        entry.window->attach(std::move(socket), std::move(hello.memory));
        schedule_.mark_ready(*entry.path);
        return;
    }
}

}  // namespace transport::ntb
