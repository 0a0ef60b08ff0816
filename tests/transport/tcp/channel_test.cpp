// Channels between two nodes of ours over real TLS on loopback: messages of every size both ways,
// order, priorities, slow readers, the end; and every buffer comes back.
#include "peers.hpp"

#include <algorithm>
#include <numeric>

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace tests {

TEST_CASE("messages of all sizes arrive as they were sent, in order") {
    Node client;
    Node server;
    const Pair pair = join(client, server);
    const std::vector<std::size_t> sizes{1,
                                         255,
                                         4087,
                                         4088,
                                         4089,
                                         16'376,
                                         16'377,
                                         65'536,
                                         1U << 20U,
                                         (2U << 20U) + 1,
                                         100,
                                         8'000'000,
                                         transport::kMessageBytesMax};
    for (const Lane lane : {Lane::control, Lane::data}) {
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            client.send(pair.of_client, lane, 3, pattern(sizes[i], static_cast<unsigned>(i)));
            const auto received = server.next<event::Received>();
            REQUIRE(received);
            CHECK(received->channel == pair.of_server);
            CHECK(received->message.lane == lane);
            CHECK(received->message.priority == 3);
            CHECK(bytes_of(received->message) == pattern(sizes[i], static_cast<unsigned>(i)));
        }
    }
    for (unsigned i = 0; i < 1000; ++i)
        server.send(pair.of_server, Lane::control, 0, pattern(1 + i % 50, i));
    for (unsigned i = 0; i < 1000; ++i) {
        const auto received = client.next<event::Received>();
        REQUIRE(received);
        CHECK(bytes_of(received->message) == pattern(1 + i % 50, i));
    }
}

TEST_CASE("closing says why to the peer, after what was sent before") {
    Node client;
    Node server;
    const Pair pair = join(client, server);
    for (unsigned i = 0; i < 100; ++i)
        client.send(pair.of_client, Lane::control, 2, pattern(10'000, i));
    client.post(command::Close{pair.of_client, "not permitted any more"});
    for (unsigned i = 0; i < 100; ++i) {
        const auto received = server.next<event::Received>();
        REQUIRE(received);
        CHECK(bytes_of(received->message) == pattern(10'000, i));
    }
    const auto down = server.next<event::Down>();
    REQUIRE(down);
    CHECK(down->channel == pair.of_server);
    CHECK(down->info.reason == transport::CloseReason::peer);
    CHECK(down->info.by_peer);
    CHECK(down->info.text == "not permitted any more");
    const auto own = client.next<event::Down>();
    REQUIRE(own);
    CHECK(own->info.reason == transport::CloseReason::local);
    CHECK(own->info.unsent_bytes == 0);
    CHECK(server.thread->counters().channels == 0);
    // A command for a channel that is gone does nothing.
    client.send(pair.of_client, Lane::control, 2, pattern(10));
    client.post(command::Close{pair.of_client, "again"});
    join(client, server);
}

TEST_CASE("a node that stops tells its peers") {
    Node client;
    std::optional<Node> server(std::in_place);
    join(client, *server);
    server->thread->stop();
    CHECK(server->next<event::Down>());
    const auto down = client.next<event::Down>();
    REQUIRE(down);
    CHECK(down->info.text == "the node stops");
}

TEST_CASE("an urgent message overtakes a long one") {
    Node client;
    Node server;
    const Pair pair = join(client, server);
    std::vector<transport::Command> commands;
    const auto block = std::make_shared<const base::Bytes>(pattern(8'000'000));
    const auto vote = std::make_shared<const base::Bytes>(pattern(100));
    commands.emplace_back(command::Send{pair.of_client, Lane::data, 7, block});
    commands.emplace_back(command::Send{pair.of_client, Lane::data, 6, block});
    commands.emplace_back(command::Send{pair.of_client, Lane::control, 0, vote});
    client.thread->post(commands);
    CHECK(commands.empty());
    for (const int expected : {0, 6, 7}) {
        const auto received = server.next<event::Received>();
        REQUIRE(received);
        CHECK(received->message.priority == expected);
    }
}

TEST_CASE("a reader that holds its messages stops its sender, and nothing is lost") {
    tcp::Options slow;
    slow.held_bytes_max = 1U << 20U;
    Node server(slow);
    tcp::Options bounded;
    bounded.queue.bytes = {1U << 20U, 1U << 20U};
    Node client(bounded);
    const Pair pair = join(client, server);
    // Ends because of the bounds: what the server may hold, the kernel's buffers, the queue.
    unsigned sent = 0;
    const auto& counters = client.thread->counters();
    while (server.thread->counters().pauses == 0 || counters.refused_sends == 0) {
        client.send(pair.of_client, Lane::data, 6, pattern(100'000, sent));
        REQUIRE(++sent < 2'000);
        // The client's thread has judged each before the next comes.
        while (counters.messages_sent + counters.refused_sends < sent)
            std::this_thread::yield();
    }
    const auto refused = client.next<event::Refused>();
    REQUIRE(refused);
    CHECK(refused->bytes->size() == 100'000);
    CHECK(refused->lane == Lane::data);
    // Reading on frees the queue, and what was accepted came in order.
    const std::uint64_t accepted = counters.messages_sent;
    for (std::uint64_t i = 0; i < accepted; ++i) {
        const auto received = server.next<event::Received>();
        REQUIRE(received);
        if (i < 5) CHECK(bytes_of(received->message) == pattern(100'000, static_cast<unsigned>(i)));
    }
    REQUIRE(client.next<event::Writable>());
    client.send(pair.of_client, Lane::data, 6, pattern(77));
    const auto last = server.next<event::Received>();
    REQUIRE(last);
    CHECK(bytes_of(last->message) == pattern(77));
}

TEST_CASE("with little memory long messages wait for each other") {
    tcp::Options small;
    small.pool.bytes = 16U << 20U;  // Four blocks of 2 MiB: for two messages of 3 MB.
    Node server(small);
    Node client;
    const Pair pair = join(client, server);
    for (unsigned i = 0; i < 8; ++i)
        client.send(pair.of_client, Lane::data, 6, pattern(3'000'000, i));
    for (unsigned i = 0; i < 8; ++i) {
        const auto received = server.next<event::Received>();
        REQUIRE(received);
        CHECK(bytes_of(received->message) == pattern(3'000'000, i));
    }
    // Nor may those that are begun wait for memory which they hold themselves.
    std::vector<transport::Command> commands;
    const auto block = std::make_shared<const base::Bytes>(pattern(3'000'000));
    for (const int priority : {3, 4, 5}) {
        commands.emplace_back(command::Send{
            pair.of_client, Lane::data, static_cast<transport::Priority>(priority), block});
    }
    client.thread->post(commands);
    const auto down = server.next<event::Down>();
    REQUIRE(down);
    CHECK(down->info.reason == transport::CloseReason::limit);
    CHECK(comes_true([&] { return server.thread->blocks_out() == 0; }));
    CHECK(client.next<event::Down>());
}

TEST_CASE("connecting to nobody, to nonsense and to another key fails with its reason") {
    Node client;
    Node server;
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);  // A port that nobody listens on.
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0);
    REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    const std::string nobody = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    client.post(command::Connect{nobody, {}});
    auto failed = client.next<event::ConnectFailed>();
    ::close(fd);
    REQUIRE(failed);
    CHECK(failed->address == nobody);
    CHECK(failed->info.reason == transport::CloseReason::lost);

    client.post(command::Connect{"nonsense", {}});
    failed = client.next<event::ConnectFailed>();
    REQUIRE(failed);
    CHECK(failed->info.text == "the address is not host:port");

    const auto other = PrivateKey::generate(KeyType::r1).public_key();
    client.post(command::Connect{server.address(), other});
    failed = client.next<event::ConnectFailed>();
    REQUIRE(failed);
    CHECK(failed->info.reason == transport::CloseReason::refused);
    CHECK(failed->info.text == "the peer's key is " + server.key.public_key().to_string() +
                                   ", expected was " + other.to_string());
}

TEST_CASE("a key that is not admitted is told why, whichever side refuses") {
    Node client;
    Node server;
    const std::string client_text = "key " + client.key.public_key().to_string() + " is revoked";
    server.refuse(client.key.public_key());
    client.connect(server);
    auto failed = client.next<event::ConnectFailed>();
    REQUIRE(failed);
    CHECK(failed->info.reason == transport::CloseReason::refused);
    CHECK(failed->info.by_peer);
    CHECK(failed->info.text == client_text);

    Node other;
    other.refuse(server.key.public_key());
    other.connect(server);
    failed = other.next<event::ConnectFailed>();
    REQUIRE(failed);
    CHECK(failed->info.reason == transport::CloseReason::refused);
    CHECK_FALSE(failed->info.by_peer);
    server.thread->stop();
    CHECK_THAT(server.log.text(), Catch::Contains(client_text));
    CHECK(server.thread->counters().channels == 0);
}

TEST_CASE("many peers connect, talk and leave, and every block comes back") {
    Node server;
    {
        std::vector<std::unique_ptr<Node>> clients;
        std::vector<Pair> pairs;
        for (int i = 0; i < 12; ++i) {
            clients.push_back(std::make_unique<Node>());
            pairs.push_back(join(*clients.back(), server));
        }
        const auto shared = std::make_shared<const base::Bytes>(pattern(300'000));
        std::vector<transport::Command> commands;
        commands.reserve(pairs.size());
        for (const Pair& pair : pairs)
            commands.emplace_back(command::Send{pair.of_server, Lane::data, 3, shared});
        server.thread->post(commands);
        for (auto& client : clients) {
            const auto received = client->next<event::Received>();
            REQUIRE(received);
            CHECK(bytes_of(received->message) == *shared);
        }
    }
    for (int i = 0; i < 12; ++i)
        CHECK(server.next<event::Down>());
    CHECK(server.thread->counters().channels == 0);
    CHECK(comes_true([&] { return server.thread->blocks_out() == 0; }));
}

}  // namespace tests
// NOLINTEND(bugprone-unchecked-optional-access)
