#include "node/transports.hpp"

#include "base/check.hpp"
#include "transport/ntb/pci_kind.hpp"
#include "transport/ntb/shm_kind.hpp"
#include "transport/tcp/thread.hpp"

#if BOR_HAS_RDMA
#include "transport/rdma/kind.hpp"
#endif

#include <algorithm>
#include <utility>

namespace node {

namespace {

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

Made make(transport::Kind kind, const TransportSettings& settings, const base::Log& log) {
    if (kind == transport::Kind::shm) return make_shm(settings, log);
    return kind == transport::Kind::ntb ? make_ntb(settings, log) : make_rdma(settings, log);
}

constexpr std::string_view kSeal = "AES-128-GCM with keys of the TLS session";

}  // namespace

Transports::Transports(const TransportSettings& settings,
                       transport::tcp::Thread& thread,
                       const base::Log& log)
    : choice_(settings.choice), thread_(thread) {
    const auto chosen = kinds_of(choice_);
    CHECK(chosen);
    for (const transport::Kind kind : *chosen)
        add(kind, settings, log);
    entries_.push_back({.kind = {.kind = transport::Kind::tcp, .security = "TLS 1.3"}});
    for (const transport::Kind kind : kFastKinds) {
        if (std::ranges::find(*chosen, kind) != chosen->end()) continue;
        entries_.push_back(
            {.kind = {.kind = kind, .security = kSeal, .why_not = "transport = " + choice_}});
    }
}

void Transports::add(transport::Kind kind,
                     const TransportSettings& settings,
                     const base::Log& log) {
    Entry& entry = entries_.emplace_back(Entry{.kind = {.kind = kind, .security = kSeal}});
    std::string& why_not = entry.kind.why_not;
    if (kind == transport::Kind::ntb && settings.ntb_device.empty()) {
        why_not = "no device is named by ntb-device";
        return;
    }
    auto made = make(kind, settings, log);
    why_not = made ? (*made)->why_not() : made.error().detail;
    if (!why_not.empty()) {
        log.warn("transport not to be had kind={} reason={}", transport::to_string(kind), why_not);
    }
    if (!made) return;
    entry.source = made->get();
    thread_.add(std::move(*made));
}

std::vector<Transports::Kind> Transports::kinds() const {
    std::vector<Kind> out;
    for (const Entry& each : entries_) {
        out.push_back(each.kind);
        if (each.source != nullptr) out.back().why_not = each.source->why_not();
    }
    return out;
}

transport::ChannelStatuses Transports::channels() const {
    return thread_.channels();
}

}  // namespace node
