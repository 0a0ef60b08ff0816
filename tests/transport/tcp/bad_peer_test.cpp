// Peers that break TLS, the framing, the order of things, or patience: each costs its own
// connection, with a reason in the log, and a good peer beside it notices nothing.
#include "peers.hpp"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <cstdio>
#include <fstream>

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace tests {

std::vector<std::unique_ptr<link::FastKind>> make_fast_kinds() {
    return {};
}

namespace {

// A node, a good peer of it, and the proof that they still talk.
struct Bystander {
    explicit Bystander(tcp::Options options = {}) : server(std::move(options)) {
        pair = join(good, server);
    }
    void check_unharmed() {
        good.send(pair.of_client, Lane::control, 0, pattern(50));
        const ChannelId id = pair.of_server;
        const auto received =
            server.next<event::Received>([id](const auto& each) { return each.channel == id; });
        REQUIRE(received);
        CHECK(bytes_of(received->message) == pattern(50));
    }

    Node server;
    Node good;
    Pair pair;
};

tcp::OpensslPtr<EVP_PKEY> make_key(const char* curve) {
    return tcp::OpensslPtr<EVP_PKEY>(EVP_EC_gen(curve));
}

std::string run(const std::string& command) {
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string out;
    std::array<char, 4096> part{};
    while (std::size_t count = fread(part.data(), 1, part.size(), pipe))
        out.append(part.data(), count);
    pclose(pipe);
    return out;
}

}  // namespace

TEST_CASE("certificates that hold no P-256 key are refused by TLS itself") {
    Bystander node;
    const std::vector<RawPeer::Form> forms{
        {.has_certificate = false, .make_key = {}},
        {.make_key = [] { return tcp::OpensslPtr<EVP_PKEY>(EVP_RSA_gen(2048)); }},
        {.make_key = [] { return make_key("P-384"); }},
        {.make_key = [] { return make_key("secp256k1"); }},
    };
    for (const auto& form : forms) {
        RawPeer peer(node.server.address(), form);
        peer.greet();
        CHECK_FALSE(peer.read_frame());
    }
    CHECK(logs(node.server, "reason=refused by_peer=false text=TLS handshake: "));
    node.check_unharmed();
}

TEST_CASE("TLS 1.2 is refused") {
    Bystander node;
    const RawPeer peer(node.server.address(), {.version_max = TLS1_2_VERSION, .make_key = {}});
    CHECK_FALSE(peer.is_connected());
    CHECK(logs(node.server, "unsupported protocol"));
    node.check_unharmed();
}

TEST_CASE("openssl s_client with a foreign certificate is refused") {
    Bystander node;
    const std::string prefix = "/tmp/bor_test_" + std::to_string(getpid());
    const std::string files = " -keyout " + prefix + ".key -out " + prefix + ".crt";
    const std::string request = "openssl req -x509 -nodes -days 1 -subj /CN=foreign ";
    const std::string client = "openssl s_client -connect " + node.server.address() + " -key " +
                               prefix + ".key -cert " + prefix + ".crt -quiet </dev/null";
    SECTION("RSA") {
        run(request + "-newkey rsa:2048" + files);
        CHECK_THAT(run(client), Catch::Contains("alert"));
        CHECK(logs(node.server, "reason=refused by_peer=false text=TLS handshake: "));
    }
    SECTION("a key of P-256 that the node does not know") {
        run(request + "-newkey ec -pkeyopt ec_paramgen_curve:P-256" + files);
        std::ifstream in(prefix + ".crt", std::ios::binary);
        const std::string text((std::istreambuf_iterator<char>(in)), {});
        BIO* bio = BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
        const tcp::OpensslPtr<X509> certificate(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr));
        BIO_free(bio);
        REQUIRE(certificate != nullptr);
        const auto key = tcp::key_of(*certificate);
        REQUIRE(key);
        node.server.refuse(*key);
        CHECK_THAT(run(client), Catch::Contains("key " + key->to_string() + " is revoked"));
        CHECK(logs(node.server, "key " + key->to_string() + " is revoked"));
    }
    std::remove((prefix + ".key").c_str());
    std::remove((prefix + ".crt").c_str());
    node.check_unharmed();
}

TEST_CASE("what is no TLS at all is refused") {
    Bystander node;
    const int fd = RawPeer::connect_to(node.server.address());
    const std::string text = "GET /v1/chain/get_info HTTP/1.1\r\n\r\n";
    REQUIRE(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    CHECK(logs(node.server, "http request"));
    ::close(fd);
    node.check_unharmed();
}

TEST_CASE("frames that break the rules end the connection") {
    struct Case {
        const char* text;
        std::vector<base::Bytes> frames;
    };
    const auto frame = [](const link::FrameHeader& header, std::size_t size) {
        const auto head = link::encode(header);
        base::Bytes out(head.begin(), head.end());
        out.resize(out.size() + size);
        return out;
    };
    const auto first = [&](std::uint32_t total, std::uint16_t length, transport::Priority level) {
        return frame({.lane = Lane::data,
                      .priority = level,
                      .is_first = true,
                      .length = length,
                      .total_or_offset = total},
                     length);
    };
    const auto later = [&](std::uint32_t offset, std::uint16_t length) {
        return frame({.lane = Lane::data, .length = length, .total_or_offset = offset}, length);
    };
    constexpr std::uint16_t kFull = link::slice_bytes(Lane::data);
    const std::vector<Case> cases{
        {"unknown kind 9", {base::Bytes{std::byte{9}, {}, {}, {}, {}, {}, {}, {}}}},
        {"unknown flags 255", {base::Bytes{{}, std::byte{255}, {}, {}, {}, {}, {}, {}}}},
        {"a slice of length 0", {first(5, 0, 0)}},
        {"not 16377", {first(100'000, kFull + 1, 0)}},
        {"not 8388609", {first(8'388'609, kFull, 0)}},
        {"not of 100", {first(100'000, 100, 0)}},
        {"continues no message", {later(kFull, kFull)}},
        {"no slice begins at 5", {later(5, 10)}},
        {"neither full nor its message's last", {first(100'000, kFull, 0), later(kFull, 100)}},
        {"continues no message", {first(100'000, kFull, 0), later(2 * kFull, kFull)}},
        {"before the one before it has ended", {first(100'000, kFull, 0), first(5, 5, 0)}},
        {"more unfinished messages than 16 MiB",
         {first(8'000'000, kFull, 0), first(8'000'000, kFull, 1), first(8'000'000, kFull, 2)}},
        {"prelude: the peer is no BoR node", {frame({.kind = link::FrameKind::prelude}, 0)}},
        {"a goodbye without a known reason", {frame({.kind = link::FrameKind::goodbye}, 0)}},
        {"length over the limit: 1", {frame({.kind = link::FrameKind::heartbeat, .length = 1}, 1)}},
    };
    Bystander node;
    for (const Case& each : cases) {
        RawPeer peer(node.server.address());
        REQUIRE(peer.is_connected());
        REQUIRE(peer.greet());
        const auto up = node.server.next<event::Up>();
        REQUIRE(up);
        REQUIRE(peer.write_message(pattern(1'000)));
        for (const base::Bytes& bytes : each.frames)
            peer.write(bytes);
        const auto down = node.server.next<event::Down>();
        REQUIRE(down);
        CHECK(down->channel == up->channel);
        CHECK(down->info.reason == transport::CloseReason::violation);
        CHECK_THAT(down->info.text, Catch::Contains(each.text));
    }
    node.check_unharmed();
    node.server.drop_events();
    CHECK(comes_true([&] { return node.server.thread->blocks_out() == 0; }));
}

TEST_CASE("a stream that is cut or changed at any byte ends that connection only") {
    Bystander node;
    for (const std::size_t cut : {1U, 5U, 9U, 500U, 1'007U}) {
        RawPeer peer(node.server.address());
        REQUIRE(peer.greet());
        const auto up = node.server.next<event::Up>();
        REQUIRE(up);
        const auto head =
            link::encode({.is_first = true, .length = 1'000, .total_or_offset = 1'000});
        base::Bytes stream(head.begin(), head.end());
        stream.resize(1'008);
        peer.write(base::ByteView(stream).first(cut));
        ::shutdown(peer.fd(), SHUT_WR);  // Half closed: the other half is open still.
        const auto down = node.server.next<event::Down>();
        REQUIRE(down);
        CHECK(down->info.reason == transport::CloseReason::lost);
        CHECK(down->info.text == "the peer ended the connection without a goodbye");
    }
    // Ciphertext that nobody with the session's keys has written.
    RawPeer peer(node.server.address());
    REQUIRE(peer.greet());
    REQUIRE(node.server.next<event::Up>());
    const base::Bytes record{std::byte{23}, std::byte{3}, std::byte{3}, {}, std::byte{32}};
    base::Bytes forged = record;
    forged.resize(record.size() + 32);
    REQUIRE(::write(peer.fd(), forged.data(), forged.size()) ==
            static_cast<ssize_t>(forged.size()));
    const auto down = node.server.next<event::Down>();
    REQUIRE(down);
    CHECK(down->info.reason == transport::CloseReason::violation);
    CHECK_THAT(down->info.text, Catch::Contains("TLS: "));
    node.check_unharmed();
}

TEST_CASE("nothing is taken before the prelude, and the prelude comes once") {
    Bystander node;
    RawPeer peer(node.server.address());
    SECTION("a message first") {
        peer.write_message(pattern(10));
        CHECK(logs(node.server, "a message before the prelude"));
    }
    SECTION("twice") {
        peer.greet();
        peer.greet();
        CHECK(logs(node.server, "an offer that nobody asked for"));
    }
    SECTION("of a newer version") {
        auto offers = link::encode(link::prelude::Offers{.attempt = 1, .offers = {}});
        offers[4] = std::byte{2};
        peer.write_frame(
            {.kind = link::FrameKind::prelude, .length = static_cast<std::uint16_t>(offers.size())},
            offers);
        CHECK(logs(node.server, "prelude: the peer speaks version 2, we speak 1"));
    }
    node.check_unharmed();
}

TEST_CASE("a thousand tiny messages are a thousand messages") {
    Bystander node;
    RawPeer peer(node.server.address());
    REQUIRE(peer.greet());
    REQUIRE(node.server.next<event::Up>());
    for (unsigned i = 0; i < 1'000; ++i)
        REQUIRE(peer.write_message(pattern(1 + i % 3, i)));
    for (unsigned i = 0; i < 1'000; ++i) {
        const auto received = node.server.next<event::Received>();
        REQUIRE(received);
        CHECK(bytes_of(received->message) == pattern(1 + i % 3, i));
    }
    node.check_unharmed();
}

TEST_CASE("whoever floods waits, and others do not") {
    tcp::Options options;
    options.held_bytes_max = 1U << 20U;
    Bystander node(options);
    RawPeer peer(node.server.address());
    REQUIRE(peer.greet());
    REQUIRE(node.server.next<event::Up>());
    std::thread flood([&] {
        while (peer.write_message(base::Bytes(16'000))) {
        }
    });
    // The host holds a megabyte of the flood and is given no more.
    while (node.server.thread->counters().pauses == 0)
        std::this_thread::yield();
    node.good.send(node.pair.of_client, Lane::control, 0, pattern(50));
    std::vector<event::Received> held;
    std::size_t flood_bytes = 0;
    while (true) {
        auto received = node.server.next<event::Received>();
        REQUIRE(received);
        if (received->channel == node.pair.of_server) break;
        flood_bytes += received->message.bytes.size();
        held.push_back(std::move(*received));
    }
    CHECK(flood_bytes <= options.held_bytes_max + 16'000);
    held.clear();
    node.server.thread->stop();
    flood.join();
}

TEST_CASE("unfinished handshakes are bounded in time and number") {
    tcp::Options options;
    // All six come within it, and a good peer's handshake ends within it, on a busy machine too.
    options.handshake_max = 2s;
    options.handshakes_per_address_max = 4;
    Node server(options);
    std::vector<int> silent;
    silent.reserve(6);
    for (int i = 0; i < 6; ++i)
        silent.push_back(RawPeer::connect_to(server.address()));
    CHECK(logs(server, "gives way to a newer one: over 4 of 127.0.0.1 are unfinished"));
    // The first two are closed at once, four when their time is over.
    for (const int fd : silent) {
        char byte = 0;
        CHECK(::read(fd, &byte, 1) <= 0);
        ::close(fd);
    }
    CHECK(logs(server, "the handshake took too long"));
    CHECK(server.thread->counters().accepted == 6);
    Node client;
    join(client, server);
}

TEST_CASE("a peer that falls silent is given up, one that only listens is not") {
    tcp::Options options;
    // Far more than a busy machine keeps a good peer from its heartbeat.
    options.silence_max = 3s;
    options.heartbeat_every = 100ms;
    Node server(options);
    Node client(options);
    join(client, server);
    RawPeer peer(server.address());
    REQUIRE(peer.greet());
    const auto up = server.next<event::Up>();
    REQUIRE(up);
    const auto down = server.next<event::Down>();
    REQUIRE(down);
    CHECK(down->channel == up->channel);
    CHECK(down->info.reason == transport::CloseReason::timed_out);
    CHECK(down->info.text == "the peer is silent");
    CHECK(server.thread->counters().channels == 1);
}

TEST_CASE("a peer that takes nothing is given up") {
    tcp::Options options;
    options.stall_max = 500ms;
    Node server(options);
    RawPeer peer(server.address());
    REQUIRE(peer.greet());
    const auto up = server.next<event::Up>();
    REQUIRE(up);
    for (int i = 0; i < 3; ++i)
        server.send(up->channel, Lane::data, 6, base::Bytes(8'000'000));
    const auto down = server.next<event::Down>();
    REQUIRE(down);
    CHECK(down->info.unsent_bytes > 0);
    CHECK(down->info.reason != transport::CloseReason::local);
}

TEST_CASE("a message that is begun has to be finished") {
    tcp::Options options;
    options.stall_max = 300ms;
    Node server(options);
    RawPeer peer(server.address());
    REQUIRE(peer.greet());
    REQUIRE(server.next<event::Up>());
    constexpr std::uint16_t kFull = link::slice_bytes(Lane::data);
    REQUIRE(peer.write_frame(
        {.lane = Lane::data, .is_first = true, .length = kFull, .total_or_offset = 8'000'000},
        base::Bytes(kFull)));
    const auto down = server.next<event::Down>();
    REQUIRE(down);
    CHECK(down->info.text == "the peer does not finish its message");
    CHECK(comes_true([&] { return server.thread->blocks_out() == 0; }));
}

}  // namespace tests
// NOLINTEND(bugprone-unchecked-optional-access)
