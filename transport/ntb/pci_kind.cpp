#include "transport/ntb/pci_kind.hpp"

#include "base/codec.hpp"
#include "transport/ntb/host.hpp"

#include <sys/eventfd.h>

#include <algorithm>
#include <cstddef>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace transport::ntb {

namespace {

constexpr std::size_t kSharesMax = 64;
constexpr std::size_t kMachineBytesMax = 64;
constexpr std::chrono::milliseconds kLookFirst{1};
constexpr std::chrono::milliseconds kLookMax{16};
constexpr std::chrono::seconds kLookAtDeviceEvery{1};
constexpr const char* kGone =
    "the PCI device has been removed; one that comes later is used when the node is started again";

std::size_t share_bytes(const PciAddress& address) {
    return static_cast<std::size_t>(address.end_bytes) / address.shares / kPageBytes * kPageBytes;
}

}  // namespace

base::Bytes encode(const PciAddress& address) {
    base::Writer out;
    out.string(address.machine);
    out.u64(address.end_bytes);
    out.u16(address.shares);
    out.boolean(address.position.has_value());
    out.u16(address.position.value_or(0));
    return out.take();
}

base::Result<PciAddress> decode_pci_address(base::ByteView bytes) {
    base::Reader in(bytes);
    PciAddress out{.machine = in.string("machine", kMachineBytesMax),
                   .end_bytes = in.u64("bytes"),
                   .shares = in.u16("shares")};
    if (out.machine.empty()) in.set_error("machine", "is empty");
    const bool has_position = in.boolean("has a position");
    const std::uint16_t position = in.u16("position");
    if (has_position) {
        out.position = position;
    } else if (position != 0) {
        in.set_error("position", "of a doorbell that is not there");
    }
    if (auto done = in.finish(); !done) return base::fail(done.error());
    return out;
}

base::Result<std::unique_ptr<PciKind>> PciKind::create(std::unique_ptr<PciMemory> memory,
                                                       Options options) {
    const Parameters ours{.control_log2 = options.control_log2, .data_log2 = options.data_log2};
    const std::size_t needed = window_bytes(ours.geometry().region_bytes());
    const std::size_t has = memory->end_bytes();
    PciAddress address{.machine = options.machine.empty() ? boot_id() : options.machine,
                       .end_bytes = has,
                       .shares = options.shares,
                       .position = memory->position()};
    if (address.machine.empty()) {
        return base::fail(base::Errc::unavailable,
                          "no window: /proc/sys/kernel/random/boot_id can't be read");
    }
    if (address.shares == 0) {
        address.shares = static_cast<std::uint16_t>(std::min(has / needed, kSharesMax));
    }
    if (address.shares == 0 || share_bytes(address) < needed) {
        return base::fail(base::Errc::unavailable,
                          "no window: an end has " + std::to_string(has) +
                              " bytes, and each share needs " + std::to_string(needed));
    }
    Descriptor event(memory->position() ? ::fcntl(memory->doorbell_fd(), F_DUPFD_CLOEXEC, 0)
                                        : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!event) return base::fail(base::Errc::unavailable, "no window: eventfd is not to be had");
    return std::unique_ptr<PciKind>(
        new PciKind(std::move(memory), std::move(options), std::move(address), std::move(event)));
}

// --- Paths ----------------------------------------------------------------------------------

base::Result<void> PciKind::check(const PciAddress& peer) const {
    if (peer.machine == address_.machine) {
        return base::fail(base::Errc::unavailable, "the peer runs on this machine");
    }
    if (peer.end_bytes != address_.end_bytes || peer.shares != address_.shares) {
        return base::fail(base::Errc::unavailable,
                          "the peer's window has " + std::to_string(peer.shares) + " shares of " +
                              std::to_string(peer.end_bytes) + " bytes, ours " +
                              std::to_string(address_.shares) + " of " +
                              std::to_string(address_.end_bytes));
    }
    if (!windows_.empty() && peer.machine != peer_machine_) {
        return base::fail(base::Errc::unavailable,
                          "the window is in use with another machine; it joins two");
    }
    return {};
}

// The one that was given back longest ago, nearly: its peer may not have noticed yet.
std::optional<std::uint16_t> PciKind::free_share() {
    for (std::uint16_t i = 0; i < address_.shares; ++i) {
        last_share_ = static_cast<std::uint16_t>((last_share_ + 1) % address_.shares);
        if (!windows_.contains(last_share_)) return last_share_;
    }
    return std::nullopt;
}

base::Result<std::unique_ptr<link::FastPath>> PciKind::prepare(const Request& request,
                                                               link::FastUser& user) {
    const auto peer = decode_pci_address(request.peer_address);
    if (!peer) return base::fail(peer.error());
    if (is_gone_) return base::fail(base::Errc::unavailable, kGone);
    if (auto fits = check(*peer); !fits) return base::fail(fits.error());
    const auto share = free_share();
    if (!share) return base::fail(base::Errc::unavailable, "all shares of the window are in use");
    peer_machine_ = peer->machine;
    using Side = PciMemory::Side;
    const Side side = address_.machine < peer->machine ? Side::first : Side::second;
    ShareOwner& owner = *this;
    auto window =
        std::make_unique<PciWindow>(owner,
                                    PciWindow::Layout{.ends = memory_->ends(side),
                                                      .share_bytes = share_bytes(address_),
                                                      .mapping = memory_->mapping(),
                                                      .shares = address_.shares,
                                                      .ours = *share,
                                                      .peer_position = peer->position.value_or(0)},
                                    random_number());
    Entry& entry = windows_[*share];
    entry.window = window.get();
    entry.has_doorbells = address_.position && peer->position;
    Parameters ours{.epoch = random_epoch(),
                    .control_log2 = options_.control_log2,
                    .data_log2 = options_.data_log2};
    auto path = std::make_unique<WindowPath>(
        std::move(window), std::move(ours), request.secrets, schedule_, user);
    entry.path = path.get();
    look_every_ = kLookFirst;
    look_at_ = now_;
    return std::unique_ptr<link::FastPath>(std::move(path));
}

base::Bytes PciKind::address() const {
    return is_gone_ ? base::Bytes() : encode(address_);
}

std::string PciKind::why_not() const {
    return is_gone_ ? kGone : "";
}

void PciKind::look_at_device() {
    if (is_gone_ || !memory_->is_gone()) return;
    is_gone_ = true;
    for (auto& [share, entry] : windows_) {
        entry.window->fail(kGone);
        schedule_.mark_ready(*entry.path);
    }
}

void PciKind::ring(std::uint16_t position) {
    if (!address_.position || is_gone_) return;
    memory_->ring(position);
    ++counters_.rung;
}

// --- Turns ----------------------------------------------------------------------------------

// One doorbell for all windows.
void PciKind::drain_events() {
    std::uint64_t count = 0;
    if (::read(event_fd(), &count, sizeof count) != sizeof count) return;
    ++counters_.heard;
    for (auto& [share, entry] : windows_) {
        entry.window->look();
        schedule_.mark_ready(*entry.path);
    }
}

bool PciKind::wants_look(const Entry& entry) const {
    return !entry.has_doorbells || !entry.path->is_up();
}

bool PciKind::looks() const {
    return std::ranges::any_of(windows_,
                               [this](const auto& each) { return wants_look(each.second); });
}

void PciKind::look(base::Timestamp now) {
    for (auto& [share, entry] : windows_) {
        if (!wants_look(entry)) continue;
        entry.window->look();
        // Arming finds what has come.
        if (entry.path->is_up()) {
            schedule_.mark_unarmed(*entry.path);
        } else {
            schedule_.mark_ready(*entry.path);
        }
    }
    look_every_ = std::min<base::Duration>(2 * look_every_, kLookMax);
    look_at_ = now + look_every_;
}

std::size_t PciKind::progress(base::Timestamp now, std::size_t budget) {
    now_ = now;
    if (now >= next_look_) {
        next_look_ = now + kLookAtDeviceEvery;
        look_at_device();
    }
    if (now >= look_at_ && looks()) look(now);
    const std::size_t ran = schedule_.run(now, budget);
    if (is_gone_ && windows_.empty()) memory_.reset();
    return ran;
}

Driver::Arm PciKind::arm() {
    if (schedule_.arm()) return Arm::armed;
    // Something has come, so more may.
    look_every_ = kLookFirst;
    look_at_ = std::min(look_at_, now_ + look_every_);
    return Arm::busy;
}

std::optional<base::Timestamp> PciKind::wake_at() const {
    auto due = schedule_.wake_at();
    if (!is_gone_) due = std::min(due.value_or(next_look_), next_look_);
    if (looks()) due = std::min(due.value_or(look_at_), look_at_);
    return due;
}

}  // namespace transport::ntb
