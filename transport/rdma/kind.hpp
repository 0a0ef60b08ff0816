#pragma once

#include "base/log.hpp"
#include "base/result.hpp"
#include "transport/descriptor.hpp"
#include "transport/driver.hpp"
#include "transport/link/fast_path.hpp"
#include "transport/link/schedule.hpp"
#include "transport/rdma/device.hpp"
#include "transport/rdma/load.hpp"
#include "transport/rdma/path.hpp"
#include "transport/rdma/verbs.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace transport::rdma {

// Paths by RDMA writes to nodes of the same RDMA network: one completion queue and, where the
// device has such, one queue of receives for all. A device that goes is let go, and used again when
// it is back; so is one that comes later, where that is asked for.
//
// Thread: the I/O thread's that runs its driver; made on any. Outlives its paths.
class RdmaKind final : public link::FastKind, private Driver, private Lender {
  public:
    struct Options {
        std::string address{};  // IP address of the device; empty: the first that is connected.
        // Of the rings that peers write, and the landings behind them.
        std::uint8_t control_log2 = 18;
        std::uint8_t data_log2 = 19;
        std::uint8_t landings = kLandingsUsual;
        std::size_t peers_max = 32;
        std::uint16_t receives = 128;  // That each peer may use up before it hears of us.
        bool shares_receives = true;   // As far as the device can.
        // Is made without the device too, which may come later.
        bool waits_for_device = false;
        std::optional<base::Log> log{};  // When the device comes and goes.
        Readings readings{};             // Empty: of this machine.
        QueuePair::Patience patience{};
        // What may be locked in memory; empty: what the system says.
        std::optional<std::size_t> lockable{};

        // What is locked for one peer whose rings and landings are like ours: what it writes, and
        // what we write to it.
        [[nodiscard]] std::size_t bytes_for_peer() const;
    };
    // The most for one peer, whatever it has, on pages of 2 MiB.
    [[nodiscard]] static std::size_t bytes_for_peer_max(const Options& options);
    struct Counters {
        std::uint64_t received_with_immediate = 0;
        std::uint64_t completions = 0;
        std::uint64_t wakeups = 0;
        std::uint64_t failures = 0;  // Completions that were none.
    };

    // unavailable: this machine has no such thing, or may lock too little memory for one peer; says
    // what to do. invalid: the options name none that could be.
    [[nodiscard]] static base::Result<std::unique_ptr<RdmaKind>> create(Options options);
    [[nodiscard]] static base::Result<std::unique_ptr<RdmaKind>> create() {
        return create(Options{});
    }
    ~RdmaKind() override;

    [[nodiscard]] Kind kind() const override { return Kind::rdma; }
    // Of a device that is gone too: it may be back when an attempt comes to it.
    [[nodiscard]] base::Bytes address() const override;
    [[nodiscard]] std::string why_not() const override;
    [[nodiscard]] base::Result<std::unique_ptr<link::FastPath>> prepare(
        const Request& request, link::FastUser& user) override;
    [[nodiscard]] Driver& driver() override { return *this; }

    // For the log: device, how many peers, what bounds them, and the pages that there are now.
    [[nodiscard]] std::string description() const;
    [[nodiscard]] const Counters& counters() const { return counters_; }
    [[nodiscard]] std::size_t pairs() const { return entries_.size(); }
    [[nodiscard]] std::size_t locked_bytes() const { return locked_; }
    [[nodiscard]] std::size_t landings_now() const override { return landings_now_; }

  private:
    enum class Stage : std::uint8_t {
        used,      // By its path.
        leaving,   // The path is gone; a goodbye is on its way.
        stopping,  // Its last completions are.
    };
    struct Entry {
        Holdings holdings;
        RdmaPath* path = nullptr;
        Stage stage = Stage::used;
        std::optional<base::Timestamp>
            due;  // Then the stage ends at the latest; empty: just begun.
    };

    explicit RdmaKind(Options options)
        : options_(std::move(options)), landings_now_(options_.landings) {}
    [[nodiscard]] base::Result<void> use(Device device);
    [[nodiscard]] base::Result<void> fit_into_limits();
    [[nodiscard]] base::Result<void> make_queues();
    [[nodiscard]] base::Result<void> watch_device();
    [[nodiscard]] bool is_open() const { return device_.context != nullptr; }
    void close_device();
    void look_for_device();

    std::size_t progress(base::Timestamp now, std::size_t budget) override;
    [[nodiscard]] Arm arm() override;
    [[nodiscard]] std::optional<base::Timestamp> wake_at() const override;
    [[nodiscard]] int event_fd() const override { return epoll_.get(); }
    void drain_events() override;

    [[nodiscard]] base::Result<std::unique_ptr<Memory>> lend(Holdings& holdings,
                                                             std::size_t bytes,
                                                             Memory::Use use) override;
    [[nodiscard]] bool watch(int fd) override;
    void take_back(std::uint32_t pair, bool says_goodbye) override;

    // Takes completions, a turn's worth at most; whether there were any.
    bool take_completions();
    void take(const ibv_wc& completion);
    // unavailable: the device takes none.
    [[nodiscard]] base::Result<void> give_receives();
    void acknowledge();
    void on_device_event(const ibv_async_event& event);
    void on_pair_event(const ibv_async_event& event);
    void fail_all(const std::string& why);
    void fail_device(std::string why);
    void look_at_device(base::Timestamp now);
    void look_at_load(base::Timestamp now);
    void publish();
    [[nodiscard]] Entry* find(std::uint32_t pair);
    void bury(base::Timestamp now);
    void stop(Entry& entry);

    Options options_;
    Device device_;
    DomainPtr domain_;
    EventsPtr events_;
    CompletionsPtr completions_;
    ReceivesPtr receives_;
    Descriptor epoll_;
    std::optional<std::size_t> lockable_;
    std::size_t locked_ = 0;
    base::Timestamp next_look_{};     // Whether the device is still there, or has come.
    std::optional<Reading> reading_;  // The last, and when it was.
    base::Timestamp read_at_{};
    std::size_t landings_now_;
    // Of the device or its port, until that is opened again; where there is none, why.
    std::string failure_;
    mutable std::mutex published_mutex_;
    std::string published_;  // failure_, for any thread. Written by ours.

    link::Schedule schedule_;
    std::map<std::uint32_t, Entry> entries_;  // By the number of their queue pair.
    bool is_armed_ = false;
    bool has_completions_ = false;  // More than a turn's worth had come.
    bool has_new_dead_ = false;
    std::uint32_t receives_due_ = 0;     // To be given to the device again.
    std::uint32_t events_received_ = 0;  // Not acknowledged yet.
    Counters counters_;
};

}  // namespace transport::rdma
