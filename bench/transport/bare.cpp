#include "bench/transport/bare.hpp"

#include "base/check.hpp"
#include "bench/transport/used.hpp"
#include "transport/tcp/tls.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <cstring>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

namespace bare {

namespace {

using base::crypto::KeyType;
using base::crypto::PrivateKey;
using Clock = std::chrono::steady_clock;

// A connected pair of TCP sockets on loopback.
struct Sockets {
    int client = -1;
    int server = -1;

    Sockets() {
        const int listener = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        CHECK(bind(listener, generic, length) == 0 && listen(listener, 1) == 0);
        CHECK(getsockname(listener, generic, &length) == 0);
        client = socket(AF_INET, SOCK_STREAM, 0);
        CHECK(connect(client, generic, length) == 0);
        server = accept(listener, nullptr, nullptr);
        CHECK(server >= 0);
        close(listener);
        const int on = 1;
        for (const int fd : {client, server})
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
};

// One end: a TLS session on a socket that never blocks, and an epoll to wait with.
class End {
  public:
    End(const transport::tcp::TlsContext& context, int fd, bool is_client)
        : fd_(fd), session_(SSL_new(context.get())), epoll_(epoll_create1(0)) {
        SSL_set_fd(session_.get(), fd);
        CHECK((is_client ? SSL_connect(session_.get()) : SSL_accept(session_.get())) == 1);
        SSL_set_mode(session_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE);
        SSL_set_mode(session_.get(), SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        epoll_event event{};
        event.events = EPOLLIN;
        CHECK(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0);
    }
    ~End() {
        close(epoll_);
        close(fd_);
    }
    End(const End&) = delete;
    End& operator=(const End&) = delete;

    // After the handshake, which blocks.
    void unblock() const { CHECK(fcntl(fd_, F_SETFL, O_NONBLOCK) == 0); }

    void read(std::byte* out, std::size_t count) {
        while (count > 0) {
            std::size_t done = 0;
            if (SSL_read_ex(session_.get(), out, count, &done) == 1) {
                out += done;
                count -= done;
                continue;
            }
            CHECK(SSL_get_error(session_.get(), 0) == SSL_ERROR_WANT_READ);
            wait(EPOLLIN);
        }
    }
    void write(const std::byte* bytes, std::size_t count) {
        while (count > 0) {
            std::size_t done = 0;
            if (SSL_write_ex(session_.get(), bytes, count, &done) == 1) {
                bytes += done;
                count -= done;
                continue;
            }
            CHECK(SSL_get_error(session_.get(), 0) == SSL_ERROR_WANT_WRITE);
            wait(EPOLLOUT);
        }
    }

  private:
    void wait(unsigned events) {
        if (events != events_) {
            epoll_event event{};
            event.events = events;
            CHECK(epoll_ctl(epoll_, EPOLL_CTL_MOD, fd_, &event) == 0);
            events_ = events;
        }
        epoll_event event{};
        while (epoll_wait(epoll_, &event, 1, -1) < 1) {
        }
    }

    int fd_;
    transport::tcp::OpensslPtr<SSL> session_;
    int epoll_;
    unsigned events_ = EPOLLIN;
};

// Runs `serve` on a thread of its own and `use` on this one, each with its end.
template <class Serve, class Use>
void with_ends(Serve serve, Use use) {
    const transport::tcp::TlsContext context(PrivateKey::generate(KeyType::r1));
    const Sockets sockets;
    std::thread server([&] {
        End end(context, sockets.server, false);
        end.unblock();
        serve(end);
    });
    End end(context, sockets.client, true);
    end.unblock();
    use(end);
    server.join();
}

std::uint64_t times_due(int timer) {
    std::uint64_t times = 0;
    CHECK(::read(timer, &times, sizeof times) == sizeof times);
    return times;
}

}  // namespace

std::vector<Nanoseconds> ping_pong(std::size_t bytes, int rounds) {
    std::vector<Nanoseconds> out;
    out.reserve(static_cast<std::size_t>(rounds));
    with_ends(
        [&](End& end) {
            std::vector<std::byte> message(bytes);
            for (int i = 0; i < rounds; ++i) {
                end.read(message.data(), bytes);
                end.write(message.data(), bytes);
            }
        },
        [&](End& end) {
            std::vector<std::byte> message(bytes);
            for (int i = 0; i < rounds; ++i) {
                const auto begin = Clock::now();
                end.write(message.data(), bytes);
                end.read(message.data(), bytes);
                out.push_back(Clock::now() - begin);
            }
        });
    return out;
}

std::vector<Nanoseconds> doorbells(int rounds) {
    // Rings a bell; waits for one.
    struct Bell {
        Bell() : event(eventfd(0, EFD_NONBLOCK)), epoll(epoll_create1(0)) {
            epoll_event wanted{};
            wanted.events = EPOLLIN;
            CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted) == 0);
        }
        ~Bell() {
            close(event);
            close(epoll);
        }
        void ring() const { CHECK(eventfd_write(event, 1) == 0); }
        void wait() const {
            epoll_event found{};
            while (epoll_wait(epoll, &found, 1, -1) != 1) {
            }
            eventfd_t count = 0;
            CHECK(eventfd_read(event, &count) == 0);
        }
        int event;
        int epoll;
    };
    const Bell there;
    const Bell back;
    std::thread other([&] {
        for (int i = 0; i < rounds; ++i) {
            there.wait();
            back.ring();
        }
    });
    std::vector<Nanoseconds> out;
    out.reserve(static_cast<std::size_t>(rounds));
    for (int i = 0; i < rounds; ++i) {
        const auto begin = Clock::now();
        there.ring();
        back.wait();
        out.push_back(Clock::now() - begin);
    }
    other.join();
    return out;
}

std::vector<Nanoseconds> loopback(std::size_t bytes, int rounds) {
    const Sockets sockets;
    const auto pass = [bytes](int from, int to) {
        std::vector<std::byte> message(bytes);
        CHECK(recv(from, message.data(), bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes));
        CHECK(send(to, message.data(), bytes, 0) == static_cast<ssize_t>(bytes));
    };
    std::thread other([&] {
        for (int i = 0; i < rounds; ++i)
            pass(sockets.server, sockets.server);
    });
    std::vector<std::byte> message(bytes);
    std::vector<Nanoseconds> out;
    out.reserve(static_cast<std::size_t>(rounds));
    for (int i = 0; i < rounds; ++i) {
        const auto begin = Clock::now();
        CHECK(send(sockets.client, message.data(), bytes, 0) == static_cast<ssize_t>(bytes));
        CHECK(recv(sockets.client, message.data(), bytes, MSG_WAITALL) ==
              static_cast<ssize_t>(bytes));
        out.push_back(Clock::now() - begin);
    }
    other.join();
    close(sockets.client);
    close(sockets.server);
    return out;
}

double copies(std::size_t bytes, std::size_t total) {
    constexpr std::size_t kMemoryBytes = std::size_t{8} << 20;
    std::vector<std::byte> from(kMemoryBytes, std::byte{1});
    std::vector<std::byte> to(kMemoryBytes);
    const auto begin = Clock::now();
    for (std::size_t done = 0; done < total; done += bytes) {
        const std::size_t at = done % (kMemoryBytes - bytes);
        std::memcpy(to.data() + at, from.data() + at, bytes);
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    CHECK(to[0] == std::byte{1});
    return static_cast<double>(total) / took.count();
}

double stream(std::size_t bytes, std::size_t total) {
    const std::size_t count = total / bytes;
    double rate = 0;
    with_ends(
        [&](End& end) {
            std::vector<std::byte> message(bytes);
            for (std::size_t i = 0; i < count; ++i)
                end.read(message.data(), bytes);
            end.write(message.data(), 1);
        },
        [&](End& end) {
            std::vector<std::byte> message(bytes);
            const auto begin = Clock::now();
            for (std::size_t i = 0; i < count; ++i)
                end.write(message.data(), bytes);
            end.read(message.data(), 1);
            const std::chrono::duration<double> took = Clock::now() - begin;
            rate = static_cast<double>(count * bytes) / took.count();
        });
    return rate;
}

double timer_share(double wakeups, std::chrono::seconds duration) {
    constexpr std::size_t kThreads = 5;  // As many as an idle network has.
    const auto rounds = static_cast<std::uint64_t>(wakeups * static_cast<double>(duration.count()));
    const auto wait = [&] {
        const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
        const int epoll = epoll_create1(0);
        epoll_event wanted{};
        wanted.events = EPOLLIN;
        CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &wanted) == 0);
        itimerspec each{};
        each.it_value.tv_nsec = each.it_interval.tv_nsec = static_cast<long>(1e9 / wakeups);
        CHECK(timerfd_settime(timer, 0, &each, nullptr) == 0);
        for (std::uint64_t woken = 0; woken < rounds;) {
            epoll_event found{};
            if (epoll_wait(epoll, &found, 1, -1) == 1) woken += times_due(timer);
        }
        close(epoll);
        close(timer);
    };
    const Used before = used();
    const auto begin = Clock::now();
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i)
        threads.emplace_back(wait);
    for (std::thread& each : threads)
        each.join();
    const std::chrono::duration<double> took = Clock::now() - begin;
    return (used() - before).cpu_seconds / took.count() / kThreads;
}

double steps(std::uint64_t count) {
    const auto begin = Clock::now();
    std::uint64_t state = count;
    for (std::uint64_t i = 0; i < count; ++i) {
        state ^= state << 13U;
        state ^= state >> 7U;
        state ^= state << 17U;
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    CHECK(state != 0);
    return took.count();
}

}  // namespace bare
