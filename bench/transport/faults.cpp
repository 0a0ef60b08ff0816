#include "bench/transport/faults.hpp"

#include "base/check.hpp"

#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <spawn.h>
#include <thread>
#include <unistd.h>

namespace faults {

namespace {

using namespace std::chrono_literals;
using transport::Lane;
using transport::event::Received;
namespace link = transport::link;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

void wait_until(const std::function<bool()>& is_so) {
    while (!is_so())
        std::this_thread::sleep_for(200us);
}

double resident_megabytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0;
    std::size_t resident = 0;
    file >> all >> resident;
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

// --- A slow reader ---------------------------------------------------------------------------

constexpr std::size_t kMessageBytes = std::size_t{16} << 10;
constexpr std::size_t kWindow = 128;  // Messages; more than a ring holds.

// Sends messages that say their number, a window ahead of what was read.
class Sender final : public Node {
  public:
    Sender(Way way, unsigned number, std::size_t messages)
        : Node(way, number), messages_(messages) {}
    ~Sender() override { stop(); }

    void start() {
        for (std::size_t i = 0; i < kWindow; ++i)
            send_one();
        begin();
    }

  private:
    void on_received(Received& /*received*/) override {
        if (++read_ == messages_) return finish();
        send_one();
    }
    void send_one() {
        if (next_ == messages_) return;
        base::Bytes bytes(kMessageBytes);
        std::memcpy(bytes.data(), &next_, sizeof next_);
        ++next_;
        send(Lane::data, 6, std::make_shared<const base::Bytes>(std::move(bytes)));
    }

    std::size_t messages_;
    std::size_t next_ = 0;
    std::size_t read_ = 0;
};

// Holds what comes, as a busy core thread would; another thread reads it one by one.
class Reader final : public Node {
  public:
    explicit Reader(Way way) : Node({.way = way, .options = bounded()}) {}
    ~Reader() override {
        stop();
        held_.clear();
    }

    // The oldest message, acknowledged. False: none has come.
    bool read_one(Slow& out) {
        std::unique_lock lock(held_mutex_);
        if (held_.empty()) return false;
        const Received oldest = std::move(held_.front());
        held_.pop_front();
        lock.unlock();
        std::size_t number = 0;
        std::memcpy(&number, oldest.message.bytes.run_at(0).data(), sizeof number);
        std::size_t& expected = expected_[oldest.channel];
        out.lost += number == expected ? 0U : 1U;
        expected = number + 1;
        std::vector<transport::Command> answer;
        answer.emplace_back(
            transport::command::Send{oldest.channel, Lane::control, 1, acknowledgement_});
        io().post(answer);
        return true;
    }

  private:
    static transport::tcp::Options bounded() {
        return {.listen = {"127.0.0.1:0"},
                .handshakes_per_address_max = 64,
                .callers = {.of_origin = {100, 100}, .of_strangers = {200, 100}},
                .held_bytes_max = std::size_t{256} << 10};
    }
    void on_received(Received& received) override {
        const std::scoped_lock lock(held_mutex_);
        held_.push_back(std::move(received));
    }

    std::mutex held_mutex_;
    std::deque<Received> held_;
    std::map<transport::ChannelId, std::size_t> expected_;
    transport::SharedBytes acknowledgement_ = message_of(1);
};

// --- A killed peer ---------------------------------------------------------------------------

class Witness final : public Node {
  public:
    explicit Witness(Way way) : Node(way, 0) {}
    ~Witness() override { stop(); }

    std::atomic<std::size_t> received = 0;
    std::atomic<std::size_t> downs = 0;

  private:
    void on_received(Received& /*received*/) override { ++received; }
    void on_down() override { ++downs; }
};

pid_t start_peer(Way way, const std::string& address) {
    std::string program = "/proc/self/exe";
    std::string option = "--talk-to";
    std::string where = address;
    std::string kind_option = "--kind";
    std::string kind(to_string(way));
    const std::array<char*, 6> arguments{
        program.data(), option.data(), where.data(), kind_option.data(), kind.data(), nullptr};
    pid_t child = 0;
    CHECK(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ) == 0);
    return child;
}

class Talker final : public Node {
  public:
    explicit Talker(Way way) : Node(way, 1) {}
    ~Talker() override { stop(); }

    void talk() {
        const auto& counters = io().counters();
        for (std::size_t i = 0;; ++i) {
            send(Lane::data, 6, message_);
            begin();
            while (counters.messages_sent + counters.refused_sends < i)
                std::this_thread::yield();
        }
    }

  private:
    void on_received(Received& /*received*/) override {}
    transport::SharedBytes message_ = message_of(20'000);
};

// --- A path that is none ---------------------------------------------------------------------

std::atomic<int> paths = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

class NoPath final : public link::FastPath {
  public:
    NoPath() { ++paths; }
    ~NoPath() override { --paths; }

    [[nodiscard]] base::Bytes parameters() const override { return base::Bytes(1); }
    [[nodiscard]] base::Result<void> bring_up(base::ByteView /*peer*/) override { return {}; }
    [[nodiscard]] base::Result<std::optional<Received>> peek() override {
        return std::optional<Received>();
    }
    void consume(Lane /*lane*/) override {}
    void call_again() override {}
    [[nodiscard]] bool has_room(Lane /*lane*/) override { return true; }
    void send(Lane /*lane*/, base::ByteView /*frame*/) override {}
    [[nodiscard]] std::uint64_t sent(Lane /*lane*/) const override { return 0; }
    [[nodiscard]] std::uint64_t taken(Lane /*lane*/) const override { return 0; }
    [[nodiscard]] base::Result<void> begin_turn() override { return {}; }
    void end_turn(base::Timestamp /*now*/) override {}
    [[nodiscard]] base::Result<void> tick(base::Timestamp /*now*/) override { return {}; }
};

// Claims RDMA, brings everything up, and loses what is sent.
class Liar final : public link::FastKind, private transport::Driver {
  public:
    Liar() : event_(::eventfd(0, EFD_NONBLOCK)) { CHECK(event_ >= 0); }
    ~Liar() override { ::close(event_); }

    [[nodiscard]] transport::Kind kind() const override { return transport::Kind::rdma; }
    [[nodiscard]] base::Bytes address() const override { return base::Bytes(1); }
    [[nodiscard]] base::Result<std::unique_ptr<link::FastPath>> prepare(
        const Request& /*request*/, link::FastUser& /*user*/) override {
        return std::unique_ptr<link::FastPath>(std::make_unique<NoPath>());
    }
    [[nodiscard]] Driver& driver() override { return *this; }

  private:
    std::size_t progress(base::Timestamp /*now*/, std::size_t /*budget*/) override { return 0; }
    [[nodiscard]] Arm arm() override { return Arm::armed; }
    [[nodiscard]] std::optional<base::Timestamp> wake_at() const override { return {}; }
    [[nodiscard]] int event_fd() const override { return event_; }
    void drain_events() override {}

    int event_;
};

class Believer final : public Node {
  public:
    Believer() : Node({.kind = std::make_unique<Liar>()}) {}
    ~Believer() override { stop(); }

  private:
    void on_received(Received& /*received*/) override {}
};

}  // namespace

Slow slow_reader(Way way, unsigned senders, std::size_t messages_each) {
    Slow out;
    Reader reader(way);
    std::vector<std::unique_ptr<Sender>> all;
    for (unsigned i = 0; i < senders; ++i) {
        all.push_back(std::make_unique<Sender>(way, i + 1, messages_each));
        all.back()->connect(reader);
    }
    reader.wait_for_peers(senders);
    for (const auto& sender : all)
        sender->start();
    const std::size_t total = senders * messages_each;
    const auto deadline = Clock::now() + std::chrono::minutes(5);
    while (out.messages < total && Clock::now() < deadline) {
        if (reader.read_one(out)) ++out.messages;
        if (out.messages == total / 2) out.megabytes_before = resident_megabytes();
        std::this_thread::sleep_for(50us);
    }
    out.megabytes_after = resident_megabytes();
    out.lost += total - out.messages;
    return out;
}

Killed killed_peer(Way way) {
    Killed out;
    Witness witness(way);
    for (int round = 0; round < 2; ++round) {
        const auto started = Clock::now();
        const pid_t child = start_peer(way, witness.address());
        witness.wait_for_peers(1);
        if (round > 0) out.connected_seconds = seconds_since(started);
        const std::size_t before = witness.received;
        wait_until([&] { return witness.received > before + 50; });
        const std::size_t downs = witness.downs;
        ::kill(child, SIGKILL);
        const auto killed = Clock::now();
        wait_until([&] { return witness.downs > downs; });
        out.seen_seconds = std::max(out.seen_seconds, seconds_since(killed));
        wait_until([&] { return witness.thread().blocks_out() == 0 && witness.peers() == 0; });
        out.back_seconds = std::max(out.back_seconds, seconds_since(killed));
        int status = 0;
        CHECK(::waitpid(child, &status, 0) == child);
    }
    return out;
}

void talk_to(Way way, const std::string& address) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Talker talker(way);
    talker.call(address);
    talker.wait_for_peers(1);
    talker.talk();
    std::abort();
}

double lie() {
    Believer first;
    Believer second;
    const auto begin = Clock::now();
    first.call(second.address());
    wait_until([] { return paths == 2; });
    wait_until([] { return paths == 0; });
    return seconds_since(begin);
}

}  // namespace faults
