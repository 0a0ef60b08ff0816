// Two nodes that begin with TCP and go on by shared memory: the channel tests of TCP run here too
// (channel_test.cpp), each over shared memory. And paths that lead nowhere or break off, peers
// that are killed: TCP carries on, no message is lost, everything is given back.
#include "kinds.hpp"
#include "transport/tcp/forwarding.hpp"

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
    // Of those of marked nodes:
    std::atomic<bool> keeps_credit = false;
    std::atomic<const base::Bytes*> record = nullptr;  // Comes instead of the next one.
    // Of nodes that are made:
    std::string host{};
    bool next_is_marked = false;
};
Behaviour behaviour{};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

class FaultyPath final : public ForwardingPath {
  public:
    FaultyPath(std::unique_ptr<link::FastPath> inner, bool is_marked)
        : ForwardingPath(std::move(inner)), is_marked_(is_marked) {
        ++behaviour.paths;
    }
    ~FaultyPath() override { --behaviour.paths; }

    [[nodiscard]] base::Result<std::optional<Received>> peek() override {
        if (behaviour.leads_nowhere) return std::optional<Received>();
        auto received = ForwardingPath::peek();
        if (!received || !*received) return received;
        if (is_marked_ && record_ == nullptr) record_ = behaviour.record.exchange(nullptr);
        if (record_ != nullptr) return std::optional<Received>({(*received)->lane, *record_});
        if (behaviour.frames_left < 0) return received;
        if (behaviour.frames_left > 0) return received;
        behaviour.frames_left = -1;
        return base::fail(base::Errc::unavailable, "cable pulled");
    }
    void consume(Lane lane) override {
        if (behaviour.frames_left > 0) --behaviour.frames_left;
        ForwardingPath::consume(lane);
    }
    void end_turn(base::Timestamp now) override {
        if (!is_marked_ || !behaviour.keeps_credit) ForwardingPath::end_turn(now);
    }

  private:
    bool is_marked_;
    const base::Bytes* record_ = nullptr;  // That came instead.
};

class FaultyKind final : public ForwardingKind {
  public:
    FaultyKind()
        : ForwardingKind(make_shm({.control_log2 = 16, .data_log2 = 17, .host = behaviour.host})),
          is_marked_(behaviour.next_is_marked) {}

  private:
    [[nodiscard]] std::unique_ptr<link::FastPath> changed(
        std::unique_ptr<link::FastPath> path) override {
        return std::make_unique<FaultyPath>(std::move(path), is_marked_);
    }

    bool is_marked_;
};

// A node of whose paths `behaviour` has more to say.
Node marked_node() {
    struct Mark {
        Mark() { behaviour.next_is_marked = true; }
        ~Mark() { behaviour.next_is_marked = false; }
        Mark(const Mark&) = delete;
        Mark& operator=(const Mark&) = delete;
    };
    const Mark mark;
    return Node();
}

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
        CHECK(logs(client, "kind=shm"));
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
        CHECK(comes_true([&] { return client.thread->counters().fast == 0; }));
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

TEST_CASE("a peer that never returns credit is given up in time, and nothing is left behind") {
    tcp::Options options;
    options.stall_max = 1s;
    Node client(options);
    Node server = marked_node();
    for (int round = 0; round < 2; ++round) {
        const Pair pair = join(client, server);
        behaviour.keeps_credit = true;
        check_kept_credit_ends_channel(client, pair.of_client, server, behaviour.paths);
        behaviour.keeps_credit = false;
        CHECK(count_windows() == 0);
    }
}

namespace {

base::Bytes record_of(const link::FrameHeader& header, std::size_t bytes) {
    const auto head = link::encode(header);
    base::Bytes out(head.begin(), head.end());
    out.resize(out.size() + bytes);
    return out;
}

// A landing that is said to be a message's part.
base::Bytes landing_of(bool is_first, std::uint32_t total_or_offset, std::uint32_t bytes) {
    const auto frame = link::encode_landing(
        {.lane = Lane::data, .is_first = is_first, .total_or_offset = total_or_offset},
        {.token = 0, .bytes = bytes});
    return {frame.begin(), frame.end()};
}

// What a member may seal, that no node would, and what is said of it.
struct Garbage {
    base::Bytes record;
    const char* why;
};

std::vector<Garbage> all_garbage() {
    using enum link::FrameKind;
    constexpr std::uint16_t kFull = link::slice_bytes(Lane::data);
    const link::FrameHeader five{
        .lane = Lane::data, .is_first = true, .length = 5, .total_or_offset = 5};
    link::FrameHeader elsewhere = five;
    elsewhere.lane = Lane::control;
    link::FrameHeader later{.lane = Lane::data, .length = kFull, .total_or_offset = kFull};
    link::FrameHeader huge = later;
    huge.is_first = true;
    huge.total_or_offset = transport::kMessageBytesMax + 1;
    base::Bytes torn = record_of(five, 5);
    torn.resize(torn.size() + 3);
    return {
        {base::Bytes(3), "shorter than its header"},
        {base::Bytes(8, std::byte{9}), "unknown kind 9"},
        {record_of(five, 4), "a frame of 5 bytes has 4"},
        {torn, "shorter than its header"},
        {record_of(elsewhere, 5), "a frame that belongs elsewhere"},
        {record_of({.kind = heartbeat}, 0), "a frame that belongs elsewhere"},
        {record_of({.kind = prelude, .length = 9}, 9), "a frame that belongs elsewhere"},
        {record_of({.kind = goodbye, .length = 1}, 1), "a frame that belongs elsewhere"},
        {record_of(later, kFull), "continues no message"},
        {landing_of(false, link::kLandingBytes, 10), "continues no message"},
        {landing_of(true, 70'000, 10), "a landing is neither full nor its message's last"},
        {record_of(huge, kFull), "not 8388609"},
    };
}

}  // namespace

TEST_CASE("a member that seals garbage loses its channel, which says why, and others keep theirs") {
    Node server = marked_node();
    Node good;
    const Pair pair = join(good, server);
    for (const auto& [record, why] : all_garbage()) {
        CAPTURE(why);
        Node client;
        const Pair bad = join(client, server);
        behaviour.record = &record;
        client.send(bad.of_client, Lane::data, 3, pattern(100));
        const auto down = server.next<event::Down>();
        REQUIRE(down);
        CHECK(down->channel == bad.of_server);
        CHECK(down->info.reason == transport::CloseReason::violation);
        CHECK_THAT(down->info.text, Catch::Contains(why));
        REQUIRE(client.next<event::Down>());
        REQUIRE(comes_true([] { return behaviour.paths == 2; }));
        CHECK(behaviour.record == nullptr);
        CHECK(server.thread->counters().fast == 1);
    }
    check_talks(good, pair.of_client, server);
    check_talks(server, pair.of_server, good);
    server.drop_events();
    CHECK(comes_true([&] { return server.thread->blocks_out() == 0; }));
}

TEST_CASE("a landing on a path without any ends the path, and what was sent comes by TCP") {
    const std::vector<Garbage> cases{
        {landing_of(true, link::kLandingBytes, link::kLandingBytes),
         "the peer names a landing, and this path has none"},
        {landing_of(true, 70'000, 0), "a landing has 1 byte to 64 KiB, not 0"},
        {landing_of(true, 70'000, 65'537), "a landing has 1 byte to 64 KiB, not 65537"},
    };
    for (const auto& [record, why] : cases) {
        CAPTURE(why);
        Node server = marked_node();
        Node client;
        const Pair pair = join(client, server);
        behaviour.record = &record;
        client.send(pair.of_client, Lane::data, 3, pattern(100));
        const auto received = server.next<event::Received>();
        REQUIRE(received);
        CHECK(bytes_of(received->message) == pattern(100));
        CHECK(behaviour.record == nullptr);
        REQUIRE(comes_true([] { return behaviour.paths == 0; }));
        const std::string reason = why;
        CHECK(shows(server, [&](const transport::ChannelStatus& channel) {
            return channel.kind == Kind::tcp && channel.fallbacks == 1 && channel.why_not == reason;
        }));
        check_talks(server, pair.of_server, client);
    }
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
