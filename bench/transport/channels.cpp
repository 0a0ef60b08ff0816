#include "bench/transport/channels.hpp"

#include "base/check.hpp"
#include "transport/ntb/shm_kind.hpp"
#include "transport/tcp/thread.hpp"

#include <condition_variable>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace channels {

namespace {

using transport::ChannelId;
using transport::Command;
using transport::Event;
using transport::Host;
using transport::Lane;
using transport::Message;
using transport::PeerKey;
using transport::Priority;
using transport::SharedBytes;
using transport::Verdict;
namespace command = transport::command;
namespace event = transport::event;
namespace tcp = transport::tcp;
using base::crypto::KeyType;
using base::crypto::PrivateKey;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBulkBytes = std::size_t{1} << 20;
constexpr std::size_t kWindowBytes = std::size_t{8} << 20;

class NoLog : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level /*level*/) const override { return false; }
    void write(base::Level /*level*/, std::string_view, std::string_view) override {}
};

SharedBytes message_of(std::size_t bytes) {
    return std::make_shared<const base::Bytes>(bytes);
}

// A node whose host only waits for its channel; benchmarks say what happens with messages.
class Node : public Host {
  public:
    explicit Node(Way way) : way_(way), key_(PrivateKey::generate(KeyType::r1)) {
        thread_.emplace(tcp::Options{.listen = {"127.0.0.1:0"}}, key_, *this, base::Log(log_, ""));
        if (way == Way::shm) {
            auto kind = transport::ntb::ShmKind::create();
            CHECK(kind);
            thread_->add(std::move(*kind));
        }
        CHECK(thread_->start());
    }
    ~Node() override { thread_->stop(); }

    // Any node of any host.
    void call(const Node& other) {
        std::vector<Command> commands;
        commands.emplace_back(command::Connect{other.thread_->addresses().front(), {}});
        thread_->post(commands);
    }
    void wait_for_peers(std::size_t count) const {
        const auto& counters = thread_->counters();
        while ((way_ == Way::shm ? counters.fast : counters.channels) < count)
            std::this_thread::yield();
    }

    [[nodiscard]] Verdict admit(const PeerKey& /*peer*/, bool /*outbound*/) override {
        return {true, {}};
    }
    void on_events(std::vector<Event>& events) override {
        for (Event& each : events) {
            if (const auto* up = std::get_if<event::Up>(&each)) set_channel(up->channel);
            if (auto* received = std::get_if<event::Received>(&each)) on_message(received->message);
        }
        events.clear();
        thread_->post(commands_);
    }

    void connect(const Node& other) {
        call(other);
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return channel_.value != 0; });
        lock.unlock();
        wait_for_peers(1);
        other.wait_for_peers(1);
    }
    // Another thread's way to begin.
    void begin() {
        std::vector<Command> commands;
        std::swap(commands, commands_);
        thread_->post(commands);
    }
    void wait_until_done() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return is_done_; });
    }
    void send(Lane lane, Priority priority, const SharedBytes& bytes) {
        commands_.emplace_back(command::Send{channel_, lane, priority, bytes});
    }

  protected:
    // On the I/O thread.
    virtual void on_message(const Message& message) = 0;
    void finish() {
        const std::scoped_lock lock(mutex_);
        is_done_ = true;
        changed_.notify_all();
    }

    void stop() { thread_->stop(); }

  private:
    void set_channel(ChannelId channel) {
        const std::scoped_lock lock(mutex_);
        channel_ = channel;
        changed_.notify_all();
    }

    Way way_;
    PrivateKey key_;
    NoLog log_;
    std::mutex mutex_;
    std::condition_variable changed_;
    ChannelId channel_{};
    bool is_done_ = false;
    std::vector<Command> commands_;
    std::optional<tcp::Thread> thread_;
};

// Answers each message of priority 0 with one as long, the others with nothing.
class Echo final : public Node {
  public:
    Echo(Way way, std::size_t bytes)
        : Node(way), answer_(message_of(bytes)), credit_(message_of(1)) {}
    ~Echo() override { stop(); }

  private:
    void on_message(const Message& message) override {
        if (message.priority == 0) {
            send(Lane::control, 0, answer_);
        } else {
            send(Lane::control, 1, credit_);
        }
    }

    SharedBytes answer_;
    SharedBytes credit_;
};

class Pinger final : public Node {
  public:
    Pinger(Way way, std::size_t bytes, int rounds)
        : Node(way), ping_(message_of(bytes)), left_(rounds) {}
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
    void on_message(const Message& message) override {
        if (message.priority != 0) return send(Lane::data, 7, bulk_);
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
    Streamer(Way way, std::size_t bytes, std::size_t total)
        : Node(way),
          message_(message_of(bytes)),
          to_send_(total / bytes),
          unacknowledged_(total / bytes) {}
    ~Streamer() override { stop(); }

    void start() {
        for (std::size_t i = 0; i < kWindowBytes / message_->size(); ++i)
            send_one();
        begin();
    }

  private:
    void on_message(const Message& /*message*/) override {
        send_one();
        if (--unacknowledged_ == 0) finish();
    }
    void send_one() {
        if (to_send_ == 0) return;
        --to_send_;
        send(Lane::data, 6, message_);
    }

    SharedBytes message_;
    std::size_t to_send_;
    std::size_t unacknowledged_;
};

}  // namespace

std::vector<Nanoseconds> ping_pong(Way way, std::size_t bytes, int rounds, bool is_busy) {
    Echo echo(way, bytes);
    Pinger pinger(way, bytes, rounds);
    pinger.connect(echo);
    pinger.start(is_busy);
    pinger.wait_until_done();
    return pinger.take_times();
}

double stream(Way way, std::size_t bytes, std::size_t total) {
    Echo echo(way, 1);
    Streamer streamer(way, bytes, total);
    streamer.connect(echo);
    const auto begin = Clock::now();
    streamer.start();
    streamer.wait_until_done();
    const std::chrono::duration<double> took = Clock::now() - begin;
    return static_cast<double>(total - total % bytes) / took.count();
}

double idle_share(Way way, std::chrono::seconds duration) {
    constexpr std::size_t kNodes = 5;
    std::vector<std::unique_ptr<Echo>> nodes;
    for (std::size_t i = 0; i < kNodes; ++i) {
        nodes.push_back(std::make_unique<Echo>(way, 1));
        for (std::size_t peer = 0; peer < i; ++peer)
            nodes[i]->call(*nodes[peer]);
    }
    for (const auto& node : nodes)
        node->wait_for_peers(kNodes - 1);
    const auto used = [] {
        timespec time{};
        CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0);
        return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
    };
    const auto before = used();
    std::this_thread::sleep_for(duration);
    const std::chrono::duration<double> took = used() - before;
    return took / duration / kNodes;
}

}  // namespace channels
