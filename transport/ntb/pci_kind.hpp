#pragma once

#include "base/result.hpp"
#include "transport/descriptor.hpp"
#include "transport/driver.hpp"
#include "transport/link/fast_path.hpp"
#include "transport/link/schedule.hpp"
#include "transport/ntb/pci_memory.hpp"
#include "transport/ntb/pci_window.hpp"
#include "transport/ntb/window_path.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace transport::ntb {

// What a node says of its end in its offers.
struct PciAddress {
    std::string machine{};        // The kernel's boot: the lesser one is the first side.
    std::uint64_t end_bytes = 0;  // Both ends have as many, in as many shares.
    std::uint16_t shares = 0;
    std::optional<std::uint16_t> position{};  // Of its doorbell.

    friend bool operator==(const PciAddress&, const PciAddress&) = default;
};
[[nodiscard]] base::Bytes encode(const PciAddress& address);
// malformed: anything else than exactly this.
[[nodiscard]] base::Result<PciAddress> decode_pci_address(base::ByteView bytes);

// Paths to the machine at the other end of a bridge, or of memory between virtual machines. Each
// end of the memory is divided into equal shares, handed out round-robin, one to each path.
//
// A device that is removed is let go, with its paths; one that comes later is not used.
//
// Without doorbells it looks by itself: after 1 ms, then later and later up to 16 ms while nothing
// comes.
//
// Thread: the I/O thread's that runs its driver; made on any. Outlives its paths.
class PciKind final : public link::FastKind, private Driver, private ShareOwner {
  public:
    struct Options {
        // Of the rings that peers write.
        std::uint8_t control_log2 = 18;
        std::uint8_t data_log2 = 20;
        std::uint16_t shares = 0;  // 0: as many as have room for these rings, 64 at most.
        std::string machine{};     // What tells machines apart; empty: the kernel's boot id.
    };
    struct Counters {  // Any thread.
        std::atomic<std::uint64_t> rung = 0;
        std::atomic<std::uint64_t> heard = 0;  // Wake-ups by a doorbell.
    };

    // unavailable: the memory is too small for two peers' rings; says how much is needed.
    [[nodiscard]] static base::Result<std::unique_ptr<PciKind>> create(
        std::unique_ptr<PciMemory> memory, Options options);
    [[nodiscard]] static base::Result<std::unique_ptr<PciKind>> create(
        std::unique_ptr<PciMemory> memory) {
        return create(std::move(memory), Options{});
    }

    [[nodiscard]] Kind kind() const override { return Kind::ntb; }
    [[nodiscard]] base::Bytes address() const override;
    [[nodiscard]] std::string why_not() const override;
    [[nodiscard]] base::Result<std::unique_ptr<link::FastPath>> prepare(
        const Request& request, link::FastUser& user) override;
    [[nodiscard]] Driver& driver() override { return *this; }

    [[nodiscard]] std::size_t windows() const { return windows_.size(); }
    [[nodiscard]] const Counters& counters() const { return counters_; }
    [[nodiscard]] const PciAddress& offered() const { return address_; }

  private:
    struct Entry {
        PciWindow* window = nullptr;
        WindowPath* path = nullptr;
        bool has_doorbells = false;
    };

    PciKind(std::unique_ptr<PciMemory> memory,
            Options options,
            PciAddress address,
            Descriptor event)
        : memory_(std::move(memory)),
          options_(std::move(options)),
          address_(std::move(address)),
          event_(std::move(event)) {}

    std::size_t progress(base::Timestamp now, std::size_t budget) override;
    [[nodiscard]] Arm arm() override;
    [[nodiscard]] std::optional<base::Timestamp> wake_at() const override;
    [[nodiscard]] int event_fd() const override { return event_.get(); }
    void drain_events() override;

    void ring(std::uint16_t position) override;
    void give_back(std::uint16_t share) override { windows_.erase(share); }
    void look_at_device() override;

    [[nodiscard]] base::Result<void> check(const PciAddress& peer) const;
    [[nodiscard]] std::optional<std::uint16_t> free_share();
    // At windows whose peers can't ring, or have not come up.
    void look(base::Timestamp now);
    [[nodiscard]] bool wants_look(const Entry& entry) const;
    [[nodiscard]] bool looks() const;

    std::unique_ptr<PciMemory> memory_;  // Null: the device has gone, and nobody uses it.
    std::atomic<bool> is_gone_ = false;
    base::Timestamp next_look_{};  // Whether the device is still there.
    Options options_;
    PciAddress address_;
    Descriptor event_;  // Its doorbell's, which outlives it, or one that never comes.
    link::Schedule schedule_;
    std::map<std::uint16_t, Entry> windows_;  // By the share that we read.
    std::string peer_machine_{};  // Of the windows, if there are any: one memory joins two.
    std::uint16_t last_share_ = 0;
    base::Duration look_every_{};
    base::Timestamp look_at_{};
    base::Timestamp now_{};
    Counters counters_;
};

}  // namespace transport::ntb
