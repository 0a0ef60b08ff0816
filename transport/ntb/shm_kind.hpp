#pragma once

#include "base/result.hpp"
#include "transport/descriptor.hpp"
#include "transport/driver.hpp"
#include "transport/link/fast_path.hpp"
#include "transport/link/schedule.hpp"
#include "transport/ntb/shm_socket.hpp"
#include "transport/ntb/shm_window.hpp"
#include "transport/ntb/window_path.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace transport::ntb {

// Paths through shared memory to nodes of the same host.
//
// Thread: the I/O thread's that runs its driver; made on any. Outlives its paths.
class ShmKind final : public link::FastKind, private Driver, private ShmWatch {
  public:
    struct Options {
        // Of the rings that peers write: for each peer about 1.3 MiB.
        std::uint8_t control_log2 = 18;
        std::uint8_t data_log2 = 20;
        std::string host{};  // What tells this host from others; empty: the kernel's boot id.
    };

    // unavailable: this host has no such thing; says which.
    [[nodiscard]] static base::Result<std::unique_ptr<ShmKind>> create(Options options);
    [[nodiscard]] static base::Result<std::unique_ptr<ShmKind>> create() {
        return create(Options{});
    }

    [[nodiscard]] Kind kind() const override { return Kind::shm; }
    [[nodiscard]] base::Bytes address() const override { return encode(address_); }
    [[nodiscard]] base::Result<std::unique_ptr<link::FastPath>> prepare(
        const Request& request, link::FastUser& user) override;
    [[nodiscard]] Driver& driver() override { return *this; }

    [[nodiscard]] std::size_t windows() const { return windows_.size(); }

  private:
    struct Entry {
        ShmWindow* window = nullptr;
        WindowPath* path = nullptr;
    };

    ShmKind(Options options, ShmAddress address, Descriptor epoll, Descriptor listener)
        : options_(std::move(options)),
          address_(std::move(address)),
          epoll_(std::move(epoll)),
          listener_(std::move(listener)) {}

    std::size_t progress(base::Timestamp now, std::size_t budget) override {
        return schedule_.run(now, budget);
    }
    [[nodiscard]] Arm arm() override { return schedule_.arm() ? Arm::armed : Arm::busy; }
    [[nodiscard]] std::optional<base::Timestamp> wake_at() const override {
        return schedule_.wake_at();
    }
    [[nodiscard]] int event_fd() const override { return epoll_.get(); }
    void drain_events() override;

    [[nodiscard]] bool watch(int socket, std::uint64_t window) override;
    void unwatch(int socket) override;
    void forget(std::uint64_t window) override { windows_.erase(window); }

    void accept_all();
    void greet(std::uint64_t id);
    void hand_over(Descriptor socket, Hello hello);

    Options options_;
    ShmAddress address_;
    Descriptor epoll_;
    Descriptor listener_;
    link::Schedule schedule_;
    std::uint64_t last_id_ = 0;
    std::map<std::uint64_t, Entry> windows_;
    std::map<std::uint64_t, Descriptor> greetings_;  // Connected, have said nothing yet.
};

}  // namespace transport::ntb
