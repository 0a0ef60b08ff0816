#pragma once

#include "transport/link/fast_path.hpp"
#include "transport/tcp/peers.hpp"

#include <atomic>
#include <memory>
#include <span>
#include <utility>

// Paths and kinds that do what another does, for tests that change a part of it.
namespace tests {

class ForwardingPath : public link::FastPath {
  public:
    explicit ForwardingPath(std::unique_ptr<link::FastPath> inner) : inner_(std::move(inner)) {}

    [[nodiscard]] base::Bytes parameters() const override { return inner_->parameters(); }
    [[nodiscard]] base::Result<void> bring_up(base::ByteView peer) override {
        return inner_->bring_up(peer);
    }
    [[nodiscard]] base::Result<std::optional<Received>> peek() override { return inner_->peek(); }
    void consume(Lane lane) override { inner_->consume(lane); }
    void call_again() override { inner_->call_again(); }
    [[nodiscard]] bool has_room(Lane lane) override { return inner_->has_room(lane); }
    void send(Lane lane, base::ByteView record) override { inner_->send(lane, record); }
    [[nodiscard]] bool has_landings() const override { return inner_->has_landings(); }
    [[nodiscard]] std::size_t landing_room() override { return inner_->landing_room(); }
    void land(std::span<const link::Part> parts) override { inner_->land(parts); }
    [[nodiscard]] base::Result<void> take_landing(const link::Landing& landing,
                                                  std::span<std::byte> out) override {
        return inner_->take_landing(landing, out);
    }
    [[nodiscard]] std::uint64_t sent(Lane lane) const override { return inner_->sent(lane); }
    [[nodiscard]] std::uint64_t taken(Lane lane) const override { return inner_->taken(lane); }
    [[nodiscard]] base::Result<void> begin_turn() override { return inner_->begin_turn(); }
    void end_turn(base::Timestamp now) override { inner_->end_turn(now); }
    [[nodiscard]] base::Result<void> tick(base::Timestamp now) override {
        return inner_->tick(now);
    }

  private:
    std::unique_ptr<link::FastPath> inner_;
};

class ForwardingKind : public link::FastKind {
  public:
    explicit ForwardingKind(std::unique_ptr<link::FastKind> inner) : inner_(std::move(inner)) {}

    [[nodiscard]] transport::Kind kind() const override { return inner_->kind(); }
    [[nodiscard]] base::Bytes address() const override { return inner_->address(); }
    [[nodiscard]] base::Result<std::unique_ptr<link::FastPath>> prepare(
        const Request& request, link::FastUser& user) override {
        auto path = inner_->prepare(request, user);
        if (!path) return base::fail(path.error());
        return changed(std::move(*path));
    }
    [[nodiscard]] transport::Driver& driver() override { return inner_->driver(); }

  private:
    [[nodiscard]] virtual std::unique_ptr<link::FastPath> changed(
        std::unique_ptr<link::FastPath> path) = 0;

    std::unique_ptr<link::FastKind> inner_;
};

// `client` sends by a path whose other end, `server`, has begun to keep all credit: it waits for as
// long as its options say, gives the channel up by name, and everything comes back.
inline void check_kept_credit_ends_channel(Node& client,
                                           ChannelId channel,
                                           Node& server,
                                           const std::atomic<int>& paths) {
    const auto begin = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < 300; ++i)
        client.send(channel, Lane::data, 5, pattern(20'000, i));
    REQUIRE(server.next<event::Received>());
    const auto down = client.next<event::Down>();
    REQUIRE(down);
    CHECK(down->info.reason == transport::CloseReason::timed_out);
    CHECK(down->info.text == "the peer takes no messages");
    CHECK(down->info.unsent_bytes > 0);
    CHECK(std::chrono::steady_clock::now() - begin < 20s);
    REQUIRE(server.next<event::Down>());
    REQUIRE(comes_true([&] { return paths == 0; }));
    for (Node* node : {&client, &server}) {
        node->drop_events();
        CHECK(node->thread->counters().channels == 0);
        CHECK(node->thread->counters().fast == 0);
        CHECK(comes_true([&] { return node->thread->blocks_out() == 0; }));
    }
}

}  // namespace tests
