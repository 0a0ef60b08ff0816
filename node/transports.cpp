#include "node/transports.hpp"

#include "transport/ntb/pci_kind.hpp"
#include "transport/ntb/shm_kind.hpp"
#include "transport/tcp/thread.hpp"

#if BOR_HAS_RDMA
#include "transport/rdma/kind.hpp"
#endif

#include <array>
#include <utility>

namespace node {

namespace {

constexpr std::string_view kAuto = "auto";

namespace link = transport::link;
using Made = base::Result<std::unique_ptr<link::FastKind>>;

Made make_shm(const TransportSettings& /*settings*/, const base::Log& /*log*/) {
    auto kind = transport::ntb::ShmKind::create();
    if (!kind) return base::fail(std::move(kind.error()));
    return Made(std::move(*kind));
}

// Never a device that was not named: another program may use its memory.
Made make_ntb(const TransportSettings& settings, const base::Log& log) {
    auto memory = transport::ntb::open_pci_memory(
        {.slot = settings.ntb_device, .inbound = settings.ntb_memory});
    if (!memory) return base::fail(std::move(memory.error()));
    const bool has_doorbells = (*memory)->position().has_value();
    auto kind = transport::ntb::PciKind::create(std::move(*memory));
    if (!kind) return base::fail(std::move(kind.error()));
    log.info("transport kind=ntb device={} doorbells={}", settings.ntb_device, has_doorbells);
    return Made(std::move(*kind));
}

#if BOR_HAS_RDMA
Made make_rdma(const TransportSettings& settings, const base::Log& log) {
    auto kind = transport::rdma::RdmaKind::create(
        {.address = settings.rdma_address, .waits_for_device = true, .log = log});
    if (!kind) return base::fail(std::move(kind.error()));
    if ((*kind)->why_not().empty()) log.info("transport kind=rdma {}", (*kind)->description());
    return Made(std::move(*kind));
}
#else
Made make_rdma(const TransportSettings& /*settings*/, const base::Log& /*log*/) {
    return base::fail(base::Errc::unavailable,
                      "no RDMA: libibverbs was not there when this was built");
}
#endif

// A kind that a program may have, and how it is made. Best first.
struct Maker {
    transport::Kind kind;
    std::string_view security;
    Made (*make)(const TransportSettings& settings, const base::Log& log);
};
constexpr std::string_view kSeal = "AES-128-GCM with keys of the TLS session";
constexpr std::array kMakers = {Maker{transport::Kind::shm, kSeal, make_shm},
                                Maker{transport::Kind::ntb, kSeal, make_ntb},
                                Maker{transport::Kind::rdma, kSeal, make_rdma}};

}  // namespace

Transports::Transports(const TransportSettings& settings,
                       transport::tcp::Thread& thread,
                       const base::Log& log)
    : choice_(settings.choice), thread_(thread) {
    for (const Maker& maker : kMakers) {
        const std::string_view name = transport::to_string(maker.kind);
        Kind& entry = kinds_.emplace_back(Kind{.kind = maker.kind, .security = maker.security});
        const link::FastKind*& source = sources_.emplace_back(nullptr);
        if (choice_ != kAuto && choice_ != name) {
            entry.why_not = "transport = " + choice_;
            continue;
        }
        if (maker.kind == transport::Kind::ntb && settings.ntb_device.empty()) {
            entry.why_not = "no device is named by ntb-device";
            continue;
        }
        auto made = maker.make(settings, log);
        entry.why_not = made ? (*made)->why_not() : made.error().detail;
        if (!entry.why_not.empty())
            log.warn("transport not to be had kind={} reason={}", name, entry.why_not);
        if (!made) continue;
        source = made->get();
        thread_.add(std::move(*made));
    }
    kinds_.push_back({.kind = transport::Kind::tcp, .security = "TLS 1.3"});
    sources_.push_back(nullptr);
}

std::vector<Transports::Kind> Transports::kinds() const {
    std::vector<Kind> out = kinds_;
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (sources_[i] != nullptr) out[i].why_not = sources_[i]->why_not();
    }
    return out;
}

transport::ChannelStatuses Transports::channels() const {
    return thread_.channels();
}

}  // namespace node
