#include "transport/ntb/pci_window.hpp"

#include "base/check.hpp"
#include "base/codec.hpp"

#include <algorithm>
#include <utility>

namespace transport::ntb {

namespace {

// A share begins with its scratchpads; then a line for the knock.
constexpr std::size_t kKnockAt = kPadsBytes;
static_assert(kKnockAt + kPadStride <= kWindowHeadBytes);

}  // namespace

base::Bytes encode(const SharePlace& place) {
    base::Writer out;
    out.u16(place.share);
    out.u64(place.knock);
    return out.take();
}

base::Result<SharePlace> decode_share_place(base::ByteView bytes) {
    base::Reader in(bytes);
    SharePlace out{.share = in.u16("share"), .knock = in.u64("knock")};
    if (out.knock == 0) in.set_error("knock", "is zero");
    if (auto done = in.finish(); !done) return base::fail(done.error());
    return out;
}

PciWindow::PciWindow(ShareOwner& owner, const Layout& layout, std::uint64_t knock)
    : owner_(owner),
      layout_(layout),
      knock_(knock),
      inbound_(share_of(layout.ends.inbound, layout.ours)) {
    // What another window has left there.
    std::ranges::fill(inbound_, std::byte{0});
    ring::MappedStore(inbound_, layout_.mapping).fence();
}

base::Bytes PciWindow::place() const {
    return encode(SharePlace{.share = layout_.ours, .knock = knock_});
}

base::Result<void> PciWindow::connect(base::ByteView peer_place, std::size_t peer_bytes) {
    const auto place = decode_share_place(peer_place);
    if (!place) return base::fail(place.error());
    if (place->share >= layout_.shares || window_bytes(peer_bytes) > layout_.share_bytes) {
        return base::fail(base::Errc::invalid,
                          "the peer's rings, " + std::to_string(peer_bytes) + " bytes in share " +
                              std::to_string(place->share) + ", are not within the " +
                              std::to_string(layout_.shares) + " shares of " +
                              std::to_string(layout_.share_bytes) + " bytes");
    }
    outbound_ = share_of(layout_.ends.outbound, place->share);
    ring::MappedStore store(outbound_, layout_.mapping);
    store.put_word(kKnockAt, place->knock);
    store.fence();
    ring_doorbell();
    look();
    return {};
}

void PciWindow::look() {
    if (link_ != Link::down || outbound_.empty()) return;
    const auto* cell = reinterpret_cast<const std::uint64_t*>(inbound_.data() + kKnockAt);
    if (__atomic_load_n(cell, __ATOMIC_ACQUIRE) == knock_) link_ = Link::up;
}

void PciWindow::fail(std::string why) {
    link_ = Link::failed;
    failure_ = std::move(why);
}

std::span<std::byte> PciWindow::inbound() {
    return inbound_.subspan(kWindowHeadBytes);
}

std::span<std::byte> PciWindow::outbound() {
    CHECK(link_ == Link::up);
    return outbound_.subspan(kWindowHeadBytes);
}

std::uint32_t PciWindow::read_scratchpad(unsigned number) const {
    return load_pad(inbound_, number);
}

void PciWindow::write_scratchpad(unsigned number, std::uint32_t value) {
    CHECK(link_ == Link::up);
    ring::MappedStore store(outbound_, layout_.mapping);
    store.fence();
    store_pad(outbound_, number, value);
    store.fence();
}

}  // namespace transport::ntb
