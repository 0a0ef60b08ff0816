// Two nodes that begin with TCP and go on by RDMA, on real verbs: the channel tests of TCP run here
// too (channel_test.cpp). And links that go down, peers that are killed or lie: TCP carries on, no
// message is lost, everything is given back.
#include "kinds.hpp"
#include "transport/tcp/forwarding.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <spawn.h>

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace tests {

namespace {

constexpr unsigned kDevices = 2;

// What nodes get that are made.
struct Plan {
    unsigned next_device = 0;
    bool lies = false;
    bool next_keeps_credit = false;
    // Of all:
    std::atomic<bool> keeps_credit = false;  // Those that were made so.
    std::atomic<int> paths = 0;              // That there are.
};
Plan plan;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

class CountedPath final : public ForwardingPath {
  public:
    CountedPath(std::unique_ptr<link::FastPath> inner, bool lies, bool keeps_credit)
        : ForwardingPath(std::move(inner)), lies_(lies), keeps_credit_(keeps_credit) {
        ++plan.paths;
    }
    ~CountedPath() override { --plan.paths; }

    // Of a liar: a queue pair that nobody has.
    [[nodiscard]] base::Bytes parameters() const override {
        if (!lies_) return ForwardingPath::parameters();
        return rdma::encode(rdma::Parameters{.pair = 0xFFFF00, .memory = 1U << 20U, .key = 77});
    }
    [[nodiscard]] base::Result<void> bring_up(base::ByteView peer) override {
        if (lies_) return {};
        return ForwardingPath::bring_up(peer);
    }
    void end_turn(base::Timestamp now) override {
        if (!keeps_credit_ || !plan.keeps_credit) ForwardingPath::end_turn(now);
    }

  private:
    bool lies_;
    bool keeps_credit_;
};

class CountedKind final : public ForwardingKind {
  public:
    CountedKind(unsigned device, bool lies, bool keeps_credit)
        : ForwardingKind(make_kind(device)), lies_(lies), keeps_credit_(keeps_credit) {}

  private:
    [[nodiscard]] std::unique_ptr<link::FastPath> changed(
        std::unique_ptr<link::FastPath> path) override {
        return std::make_unique<CountedPath>(std::move(path), lies_, keeps_credit_);
    }

    bool lies_;
    bool keeps_credit_;
};

void run(const std::string& command) {
    // NOLINTNEXTLINE(cert-env33-c,concurrency-mt-unsafe): a test's own, in a machine of its own.
    REQUIRE(std::system(command.c_str()) == 0);
}

}  // namespace

std::vector<std::unique_ptr<link::FastKind>> make_fast_kinds() {
    std::vector<std::unique_ptr<link::FastKind>> out;
    out.push_back(
        std::make_unique<CountedKind>(plan.next_device, plan.lies, plan.next_keeps_credit));
    plan.next_device = (plan.next_device + 1) % kDevices;
    return out;
}

TEST_CASE("two nodes of one RDMA network go on by RDMA, and leave nothing behind") {
    {
        plan.next_device = 0;
        Node client;
        Node server;
        const Pair pair = join(client, server);
        CHECK(plan.paths == 2);
        CHECK(logs(client, "kind=rdma"));
        check_talks(client, pair.of_client, server);
        check_talks(server, pair.of_server, client);
        client.post(command::Close{pair.of_client, "enough"});
        const auto down = server.next<event::Down>();
        REQUIRE(down);
        CHECK(down->info.text == "enough");
        REQUIRE(client.next<event::Down>());
        CHECK(client.thread->counters().fast == 0);
        CHECK(server.thread->counters().fast == 0);
    }
    CHECK(plan.paths == 0);
}

TEST_CASE("long messages land, as many and as long as both ends count") {
    plan.next_device = 0;
    Node client;
    Node server;
    const Pair pair = join(client, server);
    constexpr std::array<std::size_t, 5> kSizes{40'000, 65'536, 65'537, 600'000, 3'000'000};
    std::uint64_t bytes = 0;
    std::uint64_t landings = 0;
    for (unsigned i = 0; i < kSizes.size(); ++i) {
        client.send(pair.of_client, Lane::data, 6, pattern(kSizes[i], i));
        bytes += kSizes[i];
        landings += (kSizes[i] + link::kLandingBytes - 1) / link::kLandingBytes;
    }
    for (unsigned i = 0; i < kSizes.size(); ++i) {
        const auto received = server.next<event::Received>();
        REQUIRE(received);
        CHECK(bytes_of(received->message) == pattern(kSizes[i], i));
    }
    check_talks(server, pair.of_server, client);
    const auto counted = [&](const Node& node,
                             transport::LandingCount transport::ChannelStatus::*way) {
        return comes_true([&] {
            const auto channels = node.thread->channels();
            return channels->size() == 1 && (channels->front().*way).landings == landings &&
                   (channels->front().*way).bytes == bytes;
        });
    };
    CHECK(counted(client, &transport::ChannelStatus::landed_out));
    CHECK(counted(server, &transport::ChannelStatus::landed_in));
    CHECK(server.thread->channels()->front().landed_out.landings == 0);
    std::cout << landings << " landings of " << bytes << " bytes\n";
}

TEST_CASE("a link that goes down loses no message and repeats none", "[faults]") {
    plan.next_device = 0;
    Node client;
    Node server;
    const Pair pair = join(client, server);
    Stream up;
    Stream down;
    up.send(client, pair.of_client, 100);
    down.send(server, pair.of_server, 100);
    run("ip link set rdma1 down");
    up.send(client, pair.of_client, 100);
    down.send(server, pair.of_server, 100);
    up.check_arrives(server);
    down.check_arrives(client);
    REQUIRE(comes_true([] { return plan.paths == 0; }));
    CHECK(comes_true([&] { return client.thread->counters().fast == 0; }));
    CHECK(client.thread->counters().channels == 1);
    check_talks(client, pair.of_client, server);
    run("sh /run/rdma-vm/link-up 1");
    // The first of the pauses before another attempt is half a minute.
    REQUIRE(becomes_fast(client));
    REQUIRE(becomes_fast(server));
    check_talks(client, pair.of_client, server);
    check_talks(server, pair.of_server, client);
}

TEST_CASE("a peer that offers RDMA and has none costs a moment, and TCP goes on", "[faults]") {
    for (const bool server_lies : {true, false}) {
        plan.next_device = 0;
        plan.lies = !server_lies;
        Node client;
        plan.lies = server_lies;
        Node server;
        plan.lies = false;
        client.connect(server);
        const auto up = client.next<event::Up>();
        REQUIRE(up);
        REQUIRE(server.next<event::Up>());
        const auto begin = std::chrono::steady_clock::now();
        REQUIRE(comes_true([] { return plan.paths > 0; }));
        check_talks(client, up->channel, server);
        REQUIRE(comes_true([] { return plan.paths == 0; }));
        const auto took = std::chrono::steady_clock::now() - begin;
        std::cout << "a lie was found out after "
                  << std::chrono::duration_cast<std::chrono::milliseconds>(took).count() << " ms\n";
        CHECK(took < 15s);  // 1.5 s, and what the emulation takes besides.
        check_talks(client, up->channel, server);
        CHECK(client.thread->counters().fast == 0);
    }
}

TEST_CASE("a peer that never returns credit is given up in time, and nothing is left behind",
          "[faults]") {
    plan.next_device = 0;
    tcp::Options options;
    options.stall_max = 1s;
    Node client(options);
    plan.next_keeps_credit = true;
    Node server;
    plan.next_keeps_credit = false;
    for (int round = 0; round < 2; ++round) {
        const Pair pair = join(client, server);
        plan.keeps_credit = true;
        check_kept_credit_ends_channel(client, pair.of_client, server, plan.paths);
        plan.keeps_credit = false;
    }
}

// Runs in a process of its own, until it is killed.
TEST_CASE("a peer that talks until it is killed", "[.]") {
    const char* address = std::getenv("BOR_TEST_PEER");  // NOLINT(concurrency-mt-unsafe)
    REQUIRE(address != nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // Where the other test fails.
    plan.next_device = 1;
    Node client;
    client.post(command::Connect{address, {}});
    const auto up = client.next<event::Up>();
    REQUIRE(up);
    for (unsigned i = 0;; ++i) {
        client.send(up->channel, Lane::data, 5, pattern(20'000, i));
        const auto& counters = client.thread->counters();
        while (counters.messages_sent + counters.refused_sends < i)
            std::this_thread::yield();
    }
}

TEST_CASE("a peer that is killed while it writes is noticed, and all is given back", "[faults]") {
    plan.next_device = 0;
    Node server;
    for (int round = 0; round < 2; ++round) {
        const std::string setting = "BOR_TEST_PEER=" + server.address();
        std::string program = "/proc/self/exe";
        std::string name = "a peer that talks until it is killed";
        std::string variable = setting;
        const std::array<char*, 3> arguments{program.data(), name.data(), nullptr};
        const std::array<char*, 2> environment{variable.data(), nullptr};
        pid_t child = 0;
        REQUIRE(
            posix_spawn(
                &child, program.c_str(), nullptr, nullptr, arguments.data(), environment.data()) ==
            0);
        REQUIRE(server.next<event::Up>());
        REQUIRE(becomes_fast(server));
        for (int i = 0; i < 20; ++i)
            REQUIRE(server.next<event::Received>());
        ::kill(child, SIGKILL);
        const auto killed = std::chrono::steady_clock::now();
        const auto down = server.next<event::Down>();
        REQUIRE(down);
        CHECK(down->info.reason == transport::CloseReason::lost);
        CHECK(std::chrono::steady_clock::now() - killed < 10s);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(comes_true([] { return plan.paths == 0; }));
        CHECK(server.thread->counters().fast == 0);
        server.drop_events();
        CHECK(comes_true([&] { return server.thread->blocks_out() == 0; }));
    }
}

}  // namespace tests
// NOLINTEND(bugprone-unchecked-optional-access)
