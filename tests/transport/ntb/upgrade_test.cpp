// Two nodes that begin with TCP and go on by shared memory: the channel tests of TCP run here too
// (channel_test.cpp), each over shared memory. And paths that lead nowhere or break off, peers
// that are killed: TCP carries on, no message is lost, everything is given back.
#include "kinds.hpp"
#include "transport/tcp/peers.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <spawn.h>

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace tests {

namespace {

using transport::Kind;

// How the paths of this program behave.
struct Behaviour {
    std::atomic<int> frames_left = -1;  // Then the path of who reads the last one breaks.
    std::atomic<bool> leads_nowhere = false;
    std::atomic<int> paths = 0;  // That there are.
    std::string host{};          // Of nodes that are made.
};
Behaviour behaviour;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

class FaultyPath final : public link::FastPath {
  public:
    explicit FaultyPath(std::unique_ptr<link::FastPath> inner) : inner_(std::move(inner)) {
        ++behaviour.paths;
    }
    ~FaultyPath() override { --behaviour.paths; }

    [[nodiscard]] base::Bytes parameters() const override { return inner_->parameters(); }
    [[nodiscard]] base::Result<void> bring_up(base::ByteView peer) override {
        return inner_->bring_up(peer);
    }
    [[nodiscard]] base::Result<std::optional<Received>> peek() override {
        if (behaviour.leads_nowhere) return std::optional<Received>();
        auto received = inner_->peek();
        if (!received || !*received || behaviour.frames_left < 0) return received;
        if (behaviour.frames_left > 0) return received;
        behaviour.frames_left = -1;
        return base::fail(base::Errc::unavailable, "cable pulled");
    }
    void consume(Lane lane) override {
        if (behaviour.frames_left > 0) --behaviour.frames_left;
        inner_->consume(lane);
    }
    void call_again() override { inner_->call_again(); }
    [[nodiscard]] bool has_room(Lane lane) override { return inner_->has_room(lane); }
    void send(Lane lane, base::ByteView frame) override { inner_->send(lane, frame); }
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

class FaultyKind final : public link::FastKind {
  public:
    FaultyKind()
        : inner_(make_shm({.control_log2 = 16, .data_log2 = 17, .host = behaviour.host})) {}

    [[nodiscard]] Kind kind() const override { return inner_->kind(); }
    [[nodiscard]] base::Bytes address() const override { return inner_->address(); }
    [[nodiscard]] base::Result<std::unique_ptr<link::FastPath>> prepare(
        const Request& request, link::FastUser& user) override {
        auto path = inner_->prepare(request, user);
        if (!path) return base::fail(path.error());
        return std::unique_ptr<link::FastPath>(std::make_unique<FaultyPath>(std::move(*path)));
    }
    [[nodiscard]] transport::Driver& driver() override { return inner_->driver(); }

  private:
    std::unique_ptr<ntb::ShmKind> inner_;
};

Pair join_by_tcp(Node& client, Node& server) {
    client.connect(server);
    const auto up = client.next<event::Up>();
    const auto peer_up = server.next<event::Up>();
    REQUIRE(up);
    REQUIRE(peer_up);
    return {up->channel, peer_up->channel};
}

// What the node publishes of its only channel comes to this.
bool shows(const Node& node, const std::function<bool(const transport::ChannelStatus&)>& fits) {
    return comes_true([&] {
        const auto channels = node.thread->channels();
        return channels->size() == 1 && fits(channels->front());
    });
}

}  // namespace

std::vector<std::unique_ptr<link::FastKind>> make_fast_kinds() {
    std::vector<std::unique_ptr<link::FastKind>> out;
    out.push_back(std::make_unique<FaultyKind>());
    return out;
}

TEST_CASE("two nodes of one host go on by shared memory, and leave nothing behind") {
    {
        Node client;
        Node server;
        const Pair pair = join(client, server);
        CHECK(behaviour.paths == 2);
        CHECK_THAT(client.log.text(), Catch::Contains("kind=shm"));
        for (const Node* node : {&client, &server}) {
            CHECK(shows(*node, [](const transport::ChannelStatus& channel) {
                return channel.kind == Kind::shm && channel.fallbacks == 0 &&
                       channel.why_not.empty();
            }));
        }
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
    CHECK(behaviour.paths == 0);
    CHECK(count_windows() == 0);
}

TEST_CASE("a path that breaks off loses no message and repeats none") {
    for (const int frames : {1, 2, 3, 10, 57, 300, 1'000}) {
        CAPTURE(frames);
        Node client;
        Node server;
        const Pair pair = join(client, server);
        behaviour.frames_left = frames;
        Stream up;
        Stream down;
        for (int i = 0; i < 20; ++i) {
            up.send(client, pair.of_client, 40);
            down.send(server, pair.of_server, 40);
        }
        up.check_arrives(server);
        down.check_arrives(client);
        REQUIRE(comes_true([] { return behaviour.paths == 0; }));
        CHECK(behaviour.frames_left == -1);
        CHECK(client.thread->counters().fast == 0);
        CHECK(client.thread->counters().channels == 1);
        check_talks(client, pair.of_client, server);
        for (const Node* node : {&client, &server}) {
            CHECK(shows(*node, [](const transport::ChannelStatus& channel) {
                return channel.kind == Kind::tcp && channel.fallbacks == 1 &&
                       !channel.why_not.empty();
            }));
        }
    }
}

TEST_CASE("a path that leads nowhere is given up in time") {
    behaviour.leads_nowhere = true;
    Node client;
    Node server;
    const auto begin = std::chrono::steady_clock::now();
    const Pair pair = join_by_tcp(client, server);
    REQUIRE(comes_true([] { return behaviour.paths == 2; }));
    check_talks(client, pair.of_client, server);
    REQUIRE(comes_true([] { return behaviour.paths == 0; }));
    // A second, a tick, and what a busy machine takes besides.
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
    behaviour.leads_nowhere = false;
    check_talks(server, pair.of_server, client);
    CHECK(client.thread->counters().fast == 0);
}

TEST_CASE("nodes of two hosts stay on TCP") {
    Node client;
    behaviour.host = "another";
    Node server;
    behaviour.host.clear();
    const Pair pair = join_by_tcp(client, server);
    check_talks(client, pair.of_client, server);
    check_talks(server, pair.of_server, client);
    CHECK(behaviour.paths == 0);
    CHECK(shows(client, [](const transport::ChannelStatus& channel) {
        return channel.kind == Kind::tcp && channel.why_not == "the peer runs on another host";
    }));
    CHECK(shows(server, [](const transport::ChannelStatus& channel) {
        return channel.kind == Kind::tcp && !channel.why_not.empty();
    }));
}

// Runs in a process of its own, until it is killed.
TEST_CASE("a peer that talks until it is killed", "[.]") {
    const char* address = std::getenv("BOR_TEST_PEER");  // NOLINT(concurrency-mt-unsafe)
    REQUIRE(address != nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // Where the other test fails.
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

TEST_CASE("a peer that is killed while it writes is noticed, and its window is given back") {
    Node server;
    for (int round = 0; round < 3; ++round) {
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
        for (int i = 0; i < 50; ++i)
            REQUIRE(server.next<event::Received>());
        ::kill(child, SIGKILL);
        const auto killed = std::chrono::steady_clock::now();
        const auto down = server.next<event::Down>();
        REQUIRE(down);
        CHECK(down->info.reason == transport::CloseReason::lost);
        CHECK(std::chrono::steady_clock::now() - killed < 10s);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(comes_true([] { return behaviour.paths == 0; }));
        CHECK(count_windows() == 0);
        CHECK(server.thread->counters().fast == 0);
        server.drop_events();
        CHECK(comes_true([&] { return server.thread->blocks_out() == 0; }));
    }
}

}  // namespace tests
// NOLINTEND(bugprone-unchecked-optional-access)
