#include "bench/transport/channels.hpp"

#include "base/check.hpp"
#include "bench/transport/used.hpp"

#include <fmt/format.h>

#include <memory>
#include <thread>

namespace channels {

namespace {

using transport::Lane;
using transport::SharedBytes;
using transport::event::Received;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBulkBytes = std::size_t{1} << 20;
constexpr std::size_t kWindowBytes = std::size_t{8} << 20;

class Pinger final : public Node {
  public:
    Pinger(Way way, std::size_t bytes, int rounds)
        : Node(way, 1), ping_(message_of(bytes)), left_(rounds) {}
    ~Pinger() override { stop(); }

    void start(bool is_busy) {
        if (is_busy) {
            for (std::size_t i = 0; i < kWindowBytes / kBulkBytes; ++i)
                send(Lane::data, 7, bulk_);
        }
        send_ping();
        begin();
    }
    [[nodiscard]] std::vector<Nanoseconds> take_times() { return std::move(times_); }

  private:
    void on_received(Received& received) override {
        if (received.message.priority != 0) return send(Lane::data, 7, bulk_);
        times_.push_back(Clock::now() - sent_);
        if (--left_ == 0) return finish();
        send_ping();
    }
    void send_ping() {
        sent_ = Clock::now();
        send(Lane::control, 0, ping_);
    }

    SharedBytes ping_;
    SharedBytes bulk_ = message_of(kBulkBytes);
    int left_;
    Clock::time_point sent_;
    std::vector<Nanoseconds> times_;
};

// Keeps a window full until everything is acknowledged.
class Streamer final : public Node {
  public:
    struct Plan {
        std::size_t bytes = 0;     // Of a message.
        std::size_t messages = 0;  // A multiple of the next.
        std::size_t answered = 1;  // So many by one answer.
    };
    Streamer(Way way, const Plan& plan)
        : Node(way, 1),
          message_(message_of(plan.bytes)),
          to_send_(plan.messages),
          unacknowledged_(plan.messages),
          answered_(plan.answered) {}
    ~Streamer() override { stop(); }

    void start() {
        send_some(kWindowBytes / message_->size());
        begin();
    }

  private:
    void on_received(Received& /*received*/) override {
        send_some(answered_);
        unacknowledged_ -= answered_;
        if (unacknowledged_ == 0) finish();
    }
    void send_some(std::size_t count) {
        for (std::size_t i = 0; i < count && to_send_ > 0; ++i, --to_send_)
            send(Lane::data, 6, message_);
    }

    SharedBytes message_;
    std::size_t to_send_;
    std::size_t unacknowledged_;
    std::size_t answered_;
};

// Answers each request, a byte that is the number of blocks.
class Provider final : public Node {
  public:
    Provider(Way way, std::size_t bytes) : Node(way, 0), block_(message_of(bytes)) {}
    ~Provider() override { stop(); }

  private:
    void on_received(Received& received) override {
        const auto count = std::to_integer<unsigned>(received.message.bytes.run_at(0)[0]);
        for (unsigned i = 0; i < count; ++i)
            send(Lane::data, 6, block_);
    }

    SharedBytes block_;
};

class Requester final : public Node {
  public:
    Requester(Way way, std::size_t blocks, std::size_t bytes)
        : Node(way, 1),
          in_request_(std::clamp<std::size_t>(kBulkBytes / bytes, 1, 128)),
          to_ask_(blocks),
          to_get_(blocks) {}
    ~Requester() override { stop(); }

    void start() {
        for (int i = 0; i < 4; ++i)
            ask();
        begin();
    }

  private:
    void on_received(Received& /*received*/) override {
        if (--to_get_ == 0) return finish();
        if (++got_ % in_request_ == 0) ask();
    }
    void ask() {
        const std::size_t count = std::min(in_request_, to_ask_);
        if (count == 0) return;
        to_ask_ -= count;
        send(Lane::control,
             3,
             std::make_shared<const base::Bytes>(1, static_cast<std::byte>(count)));
    }

    std::size_t in_request_;
    std::size_t to_ask_;
    std::size_t to_get_;
    std::size_t got_ = 0;
};

}  // namespace

std::vector<Nanoseconds> ping_pong(Way way, std::size_t bytes, int rounds, bool is_busy) {
    Echo echo(way, 0, bytes);
    Pinger pinger(way, bytes, rounds);
    pinger.connect(echo);
    pinger.start(is_busy);
    pinger.wait_until_done();
    return pinger.take_times();
}

double stream(Way way, std::size_t bytes, std::size_t total, std::size_t answered) {
    const std::size_t each = std::max<std::size_t>(answered / bytes, 1);
    const Streamer::Plan plan{
        .bytes = bytes, .messages = total / bytes / each * each, .answered = each};
    CHECK(plan.messages > 0);
    Echo echo(way, 0, 1, each * bytes);
    Streamer streamer(way, plan);
    streamer.connect(echo);
    const auto begin = Clock::now();
    streamer.start();
    streamer.wait_until_done();
    const std::chrono::duration<double> took = Clock::now() - begin;
    if (streamer.peers() == 0) fmt::print(stderr, "fell back from {} meanwhile\n", to_string(way));
    return static_cast<double>(plan.messages * bytes) / took.count();
}

Idle idle(Way way, std::chrono::seconds duration, const std::function<double()>& count) {
    constexpr unsigned kNodes = 5;
    std::vector<std::unique_ptr<Echo>> nodes;
    for (unsigned i = 0; i < kNodes; ++i) {
        nodes.push_back(std::make_unique<Echo>(way, i, 1));
        for (unsigned peer = 0; peer < i; ++peer)
            nodes[i]->call(nodes[peer]->address());
    }
    for (const auto& node : nodes)
        node->wait_for_peers(kNodes - 1);
    const Used before = used();
    const double counted = count();
    std::this_thread::sleep_for(duration);
    const Used taken = used() - before;
    const double node_seconds = kNodes * static_cast<double>(duration.count());
    return {taken.cpu_seconds / node_seconds,
            taken.sleeps / node_seconds,
            (count() - counted) / node_seconds};
}

Cost sync(Way way, std::size_t blocks, std::size_t bytes) {
    Provider provider(way, bytes);
    Requester requester(way, blocks, bytes);
    requester.connect(provider);
    const auto begin = Clock::now();
    const Used before = used();
    requester.start();
    requester.wait_until_done();
    const std::chrono::duration<double> took = Clock::now() - begin;
    return {took.count(), (used() - before).cpu_seconds};
}

}  // namespace channels
