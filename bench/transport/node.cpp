#include "bench/transport/node.hpp"

#include "base/check.hpp"
#include "transport/ntb/shm_kind.hpp"
#if BOR_HAS_RDMA
#include "transport/rdma/kind.hpp"
#endif

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

namespace {

using base::crypto::KeyType;
using base::crypto::PrivateKey;
namespace command = transport::command;
namespace event = transport::event;
namespace link = transport::link;

std::vector<std::string>& devices() {
    static std::vector<std::string> addresses;
    return addresses;
}

#if BOR_HAS_RDMA
base::Result<std::unique_ptr<link::FastKind>> make_rdma(unsigned number) {
    transport::rdma::RdmaKind::Options options;
    if (!devices().empty()) options.address = devices()[number % devices().size()];
    // Who is called by all of a benchmark is the first; the others need little.
    options.peers_max = number == 0 ? 64 : 8;
    auto kind = transport::rdma::RdmaKind::create(options);
    if (!kind) return base::fail(kind.error());
    return std::unique_ptr<link::FastKind>(std::move(*kind));
}
#else
base::Result<std::unique_ptr<link::FastKind>> make_rdma(unsigned /*number*/) {
    return base::fail(base::Errc::unavailable,
                      "no RDMA: libibverbs was not there when this was built");
}
#endif

}  // namespace

std::string_view to_string(Way way) {
    return way == Way::tcp ? "tcp" : way == Way::shm ? "shm" : "rdma";
}

const std::vector<std::string>& used_devices() {
    return devices();
}

void use_devices(std::vector<std::string> addresses) {
    devices() = std::move(addresses);
}

std::string why_no_rdma() {
    const auto count = static_cast<unsigned>(std::max<std::size_t>(devices().size(), 1));
    for (unsigned number = 0; number < count; ++number) {
        if (const auto kind = make_rdma(number); !kind) return kind.error().detail;
    }
    return {};
}

std::unique_ptr<link::FastKind> make_kind(Way way, unsigned number) {
    if (way == Way::tcp) return nullptr;
    if (way == Way::rdma) {
        auto kind = make_rdma(number);
        CHECK(kind);
        return std::move(*kind);
    }
    auto kind = transport::ntb::ShmKind::create();
    CHECK(kind);
    return std::move(*kind);
}

transport::SharedBytes message_of(std::size_t bytes) {
    return std::make_shared<const base::Bytes>(bytes);
}

Node::Node(Setting setting) : way_(setting.way), key_(PrivateKey::generate(KeyType::r1)) {
    thread_.emplace(std::move(setting.options), key_, *this, base::Log(log_, ""));
    auto kind = setting.kind != nullptr ? std::move(setting.kind) : make_kind(way_, setting.number);
    if (kind != nullptr) thread_->add(std::move(kind));
    CHECK(thread_->start());
}

void Node::call(const std::string& address) {
    std::vector<transport::Command> commands;
    commands.emplace_back(command::Connect{address, {}});
    thread_->post(commands);
}

std::size_t Node::peers() const {
    const auto& counters = thread_->counters();
    return way_ == Way::tcp ? counters.channels : counters.fast;
}

void Node::wait_for_peers(std::size_t count) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (peers() < count) {
        if (std::chrono::steady_clock::now() > deadline) {
            fmt::print(stderr, "{} of {} peers have come by {}\n", peers(), count, to_string(way_));
            std::_Exit(1);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

void Node::connect(const Node& other) {
    call(other.address());
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return channel_.value != 0; });
    lock.unlock();
    wait_for_peers(1);
    other.wait_for_peers(1);
}

void Node::begin() {
    std::vector<transport::Command> commands;
    std::swap(commands, commands_);
    thread_->post(commands);
}

void Node::wait_until_done() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_done_; });
}

void Node::finish() {
    const std::scoped_lock lock(mutex_);
    is_done_ = true;
    changed_.notify_all();
}

void Node::set_channel(transport::ChannelId channel) {
    const std::scoped_lock lock(mutex_);
    channel_ = channel;
    changed_.notify_all();
}

void Node::on_events(std::vector<transport::Event>& events) {
    for (transport::Event& each : events) {
        if (const auto* up = std::get_if<event::Up>(&each)) set_channel(up->channel);
        if (auto* received = std::get_if<event::Received>(&each)) on_received(*received);
        if (std::holds_alternative<event::Down>(each)) on_down();
        // A machine that is too busy for a handshake: once more.
        if (const auto* failed = std::get_if<event::ConnectFailed>(&each))
            commands_.emplace_back(command::Connect{failed->address, {}});
    }
    events.clear();
    thread_->post(commands_);
}
