#include "transport/ntb/shm_window.hpp"

#include "base/check.hpp"
#include "base/crypto/wipe.hpp"

#include <algorithm>
#include <utility>

namespace transport::ntb {

ShmWindow::ShmWindow(ShmWatch& watch, Identity identity, std::unique_ptr<SharedMemory> own)
    : watch_(watch), identity_(identity), own_(std::move(own)) {}

ShmWindow::~ShmWindow() {
    if (socket_) watch_.unwatch(socket_.get());
    watch_.forget(identity_.id);
}

base::Bytes ShmWindow::place() const {
    return identity_.leads ? base::to_bytes(identity_.token) : base::Bytes();
}

std::span<std::byte> ShmWindow::inbound() {
    return own_->bytes().subspan(kWindowHeadBytes);
}

std::span<std::byte> ShmWindow::outbound() {
    CHECK(peer_ != nullptr);
    return peer_->bytes().subspan(kWindowHeadBytes);
}

std::uint32_t ShmWindow::read_scratchpad(unsigned number) const {
    return load_pad(own_->bytes(), number);
}

void ShmWindow::write_scratchpad(unsigned number, std::uint32_t value) {
    CHECK(peer_ != nullptr);
    store_pad(peer_->bytes(), number, value);
}

void ShmWindow::ring_doorbell() {
    if (socket_) ring_bell(socket_.get());
}

// --- Coming up ------------------------------------------------------------------------------

base::Result<void> ShmWindow::connect(base::ByteView peer_place, std::size_t peer_bytes) {
    peer_bytes_ = window_bytes(peer_bytes);
    if (!identity_.leads) return connect_to_leader(peer_place);
    if (offered_) open_peer();
    return {};
}

base::Result<void> ShmWindow::connect_to_leader(base::ByteView leader_place) {
    Token token{};
    if (leader_place.size() != token.size()) {
        return base::fail(base::Errc::malformed, "the leader names no window");
    }
    std::ranges::copy(leader_place, token.begin());
    auto socket = connect_to(identity_.peer_socket);
    if (!socket) return base::fail(socket.error());
    if (!watch_.watch(socket->get(), identity_.id)) {
        return base::fail(base::Errc::unavailable, "the window's socket can't be waited on");
    }
    socket_ = std::move(*socket);
    return send_hello(socket_.get(), token, own_->descriptor());
}

bool ShmWindow::awaits(const Token& token) const {
    return identity_.leads && !socket_ && link_ == Link::down &&
           base::crypto::equal_in_constant_time(token, identity_.token);
}

void ShmWindow::attach(Descriptor socket, Descriptor memory) {
    CHECK(!socket_);
    if (!watch_.watch(socket.get(), identity_.id)) {
        return fail("the window's socket can't be waited on");
    }
    socket_ = std::move(socket);
    offered_ = std::move(memory);
    if (peer_bytes_) open_peer();
}

void ShmWindow::open_peer() {
    auto peer = SharedMemory::adopt(std::move(offered_), *peer_bytes_);
    if (!peer) return fail(peer.error().detail);
    if (identity_.leads) {
        const auto sent = send_hello(socket_.get(), identity_.token, own_->descriptor());
        if (!sent) return fail(sent.error().detail);
    }
    peer_ = std::move(*peer);
    link_ = Link::up;
}

void ShmWindow::on_socket() {
    if (!socket_) return;
    if (!identity_.leads && link_ == Link::down) return receive_memory();
    if (!take_bell(socket_.get())) fail("the peer has closed its end of the window");
}

void ShmWindow::receive_memory() {
    auto hello = receive_hello(socket_.get());
    if (!hello && hello.error().code == base::Errc::would_block) return;
    if (!hello) return fail(hello.error().detail);
    offered_ = std::move(hello->memory);
    open_peer();
}

void ShmWindow::fail(std::string why) {
    link_ = Link::failed;
    failure_ = std::move(why);
    if (socket_) watch_.unwatch(socket_.get());
    socket_ = {};
}

}  // namespace transport::ntb
