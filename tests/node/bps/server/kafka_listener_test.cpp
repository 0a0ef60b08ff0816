// A listener on loopback and clients that write chosen bytes: order of answers, and every bound.
#include "tests/node/bps/server/served.hpp"

namespace {

using namespace tests;  // NOLINT(google-build-using-namespace)

// Holds each request but a greeting; the test answers.
void hold_all(Served& served) {
    served.on_ask = [&served](const bps::RequestId& id, bps::Frame frame) {
        if (text_of(frame).ends_with("hello")) return served.say(id, "hello");
        served.held.emplace_back(id, std::move(frame));
    };
}

// How many they were.
int answer_held(Served& served, bool last_first) {
    int count = 0;
    served.as_broker([&] {
        count = static_cast<int>(served.held.size());
        while (!served.held.empty()) {
            auto& next = last_first ? served.held.back() : served.held.front();
            served.say(next.first, text_of(next.second).substr(8));
            if (last_first) {
                served.held.pop_back();
            } else {
                served.held.pop_front();
            }
        }
    });
    return count;
}

// Once this is answered, the client is logged in.
void greet(Client& client) {
    client.write(request("hello"));
    CHECK(client.answer() == "hello");
}

std::string number(int i) {
    return "request " + std::to_string(i);
}

}  // namespace

TEST_CASE("answers leave in the order of the requests, however they come", "[bps][server]") {
    Served served;
    hold_all(served);
    Client client(served);
    std::string all;
    for (int i = 0; i < 50; ++i)
        all += request(number(i));
    client.write(all);
    REQUIRE(soon([&] { return served.asked() == 50; }));
    answer_held(served, true);
    for (int i = 0; i < 50; ++i)
        CHECK(client.answer() == number(i));
    CHECK(served.listener().counters().requests == 50);
    REQUIRE(soon([&] { return served.listener().memory_used() == 0; }));
}

TEST_CASE("answers of one turn leave together", "[bps][server]") {
    Served served;
    hold_all(served);
    Client client(served);
    greet(client);
    std::string requests;
    std::string answers;
    for (int i = 0; i < 8; ++i) {
        requests += request(number(i));
        answers += framed(number(i));
    }
    client.write(requests);
    REQUIRE(soon([&] { return served.asked() == 9; }));
    std::string first(1'000, '\0');
    std::thread reader([&] { first.resize(client.receive_some(first.data(), first.size())); });
    answer_held(served, false);
    reader.join();
    CHECK(first == answers);
}

TEST_CASE("a short request behind a long one that came in parts is read", "[bps][server]") {
    Served served;
    Client client(served);
    check_long_then_short(client);
    // The end comes with fewer bytes than the socket waits for.
    client.write(request(std::string(300'000, 'x')).substr(0, 100'000));
    ::shutdown(client.socket(), SHUT_WR);
    CHECK(client.is_ended());
}

TEST_CASE("a request that comes byte by byte is one request", "[bps][server]") {
    Served served;
    Client client(served);
    for (const char byte : request("slow") + request("next"))
        client.write(std::string(1, byte));
    CHECK(client.answer() == "slow");
    CHECK(client.answer() == "next");
}

TEST_CASE("a request without an answer holds none back", "[bps][server]") {
    Served served;
    served.on_ask = [&](const bps::RequestId& id, bps::Frame frame) {
        if (text_of(frame).ends_with("none"))
            return served.listener().send({.id = id, .response = std::nullopt, .close_reason = {}});
        served.say(id, text_of(frame).substr(8));
    };
    Client client(served);
    client.write(request("none") + request("none") + request("some"));
    CHECK(client.answer() == "some");
}

TEST_CASE("an answer twice, or to nobody, does nothing", "[bps][server]") {
    Served served;
    served.on_ask = [&](const bps::RequestId& id, bps::Frame frame) {
        served.say({.connection = id.connection, .number = 99}, "wrong");
        served.say({.connection = 99, .number = 1}, "wrong");
        served.say(id, text_of(frame).substr(8));
        served.say(id, "twice");
    };
    Client client(served);
    client.write(request("one"));
    CHECK(client.answer() == "one");
    client.write(request("two"));
    CHECK(client.answer() == "two");
}

TEST_CASE("a length that nobody may send ends the connection at once", "[bps][server]") {
    Served served({.login_frame_bytes_max = 1'000});
    served.admits = false;
    for (const std::string& length : {std::string("\x7f\xff\xff\xff"),
                                      std::string("\xff\xff\xff\xff"),
                                      std::string("\x80\0\0\0", 4),
                                      std::string("\0\0\0\0", 4),
                                      std::string("\0\0\0\7", 4),
                                      std::string("\0\0\3\xe9", 4)}) {
        Client client(served);
        client.write(length);
        CHECK(client.is_ended());
    }
    CHECK(served.log.has("1001 bytes; 8 to 1000 are taken before the login"));
    Client client(served);
    client.write(request(std::string(992, 'x')));
    CHECK(client.answer() == std::string(992, 'x'));
    CHECK(served.asked() == 1);
}

TEST_CASE("after the login requests may be as large as messages and 1 MiB", "[bps][server]") {
    Served served({.message_bytes_max = 1'000});
    Client client(served);
    greet(client);
    const std::size_t most = (std::size_t{1} << 20) + 1'000 - 8;
    client.write(request(std::string(most, 'x')));
    CHECK(client.answer()->size() == most);
    client.write(request(std::string(most + 1, 'x')));
    CHECK(client.is_ended());
}

TEST_CASE("who does not log in, send on, or ask is closed in time", "[bps][server]") {
    SECTION("no login") {
        Served served({.login_time = 1'000ms});
        served.admits = false;
        Client client(served);
        client.write(request("one"));
        CHECK(client.answer() == "one");
        CHECK(client.is_ended());
        CHECK(served.log.has("no login within 1000 ms"));
    }
    SECTION("half a length, half a request") {
        Served served({.frame_time = 1'000ms});
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{4}, std::size_t{9}}) {
            Client client(served);
            client.write(request("whole"));
            CHECK(client.answer() == "whole");
            client.write(request("half").substr(0, bytes));
            CHECK(client.is_ended());
        }
        CHECK(served.log.has("5 of 12 bytes of a request after 1000 ms"));
    }
    SECTION("a request that trickles") {
        Served served({.frame_time = 300ms});
        Client client(served);
        const std::string bytes = request(std::string(10'000, 'x'));
        std::size_t sent = 0;
        while (sent < bytes.size() && served.closed() == 0) {
            client.write(bytes.substr(sent++, 1));
            std::this_thread::sleep_for(5ms);
        }
        CHECK(sent < bytes.size());
        CHECK(client.is_ended());
    }
    SECTION("idle") {
        Served served({.idle_time = 1'000ms});
        Client client(served);
        client.write(request("one"));
        CHECK(client.answer() == "one");
        CHECK(client.is_ended());
        CHECK(served.log.has("idle for 1000 ms"));
    }
}

TEST_CASE("a client whose request waits at the broker is not idle", "[bps][server]") {
    Served served({.idle_time = 1'000ms});
    hold_all(served);
    Client client(served);
    client.write(request("long poll"));
    REQUIRE(soon([&] { return served.asked() == 1; }));
    std::this_thread::sleep_for(1'500ms);
    answer_held(served, false);
    CHECK(client.answer() == "long poll");
}

TEST_CASE("a connection with too many requests under way is not read", "[bps][server]") {
    Served served({.requests_in_flight_max = 10, .frame_time = 1'000ms, .idle_time = 1'000ms});
    hold_all(served);
    Client client(served);
    for (int i = 0; i < 25; ++i)
        client.write(request(number(i)));
    REQUIRE(soon([&] { return served.asked() == 10; }));
    std::this_thread::sleep_for(1'500ms);  // Which does not count as a request that trickles.
    CHECK(served.asked() == 10);
    for (int answered = 0; answered < 25;) {
        for (int left = answer_held(served, false); left > 0; --left)
            CHECK(client.answer() == number(answered++));
    }
}

TEST_CASE("who does not take its answers is not read, and closed", "[bps][server]") {
    Served served({.unsent_bytes_max = std::size_t{64} << 10, .progress_time = 1'000ms});
    served.on_ask = [&](const bps::RequestId& id, bps::Frame frame) {
        served.say(id, text_of(frame).size() > 20 ? std::string(std::size_t{1} << 20, 'x') : "ok");
    };
    Client slow(served);
    const int window = 4'096;
    ::setsockopt(slow.socket(), SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
    for (int i = 0; i < 30; ++i)
        slow.write(request(std::string(100, 'x')));
    // Others go on meanwhile.
    Client other(served);
    for (int i = 0; i < 100; ++i) {
        other.write(request("x"));
        CHECK(other.answer() == "ok");
    }
    // What the kernel took, and what was read before the first answer was made.
    REQUIRE(soon([&] { return served.closed() == 1; }));
    CHECK(served.log.has("no byte of an answer was taken for 1000 ms"));
    REQUIRE(soon([&] { return served.listener().memory_used() == 0; }));
    other.write(request("x"));
    CHECK(other.answer() == "ok");
}

TEST_CASE("an unread answer stops the reading of requests", "[bps][server]") {
    Served served({.unsent_bytes_max = 1});
    served.on_ask = [&](const bps::RequestId& id, const bps::Frame& /*frame*/) {
        served.say(id, std::string(std::size_t{16} << 20, 'x'));
    };
    Client client(served);
    client.write(request("one"));
    REQUIRE(soon([&] { return served.listener().memory_used() > (std::size_t{16} << 20); }));
    client.write(request("two") + request("three"));
    std::this_thread::sleep_for(300ms);
    CHECK(served.asked() == 1);
    for (int i = 0; i < 3; ++i)
        CHECK(client.answer()->size() == std::size_t{16} << 20);
}

TEST_CASE("a tenant that fills its share of memory waits, others do not", "[bps][server]") {
    Served served({.message_bytes_max = 0, .memory_bytes_max = std::size_t{5} << 20});
    hold_all(served);
    const std::string big = request(std::string(std::size_t{1} << 19, 'x'));
    Client first(served);
    greet(first);
    Client second(served);  // Of the same tenant.
    greet(second);
    for (int i = 0; i < 3; ++i)
        first.write(big);
    REQUIRE(soon([&] { return served.asked() == 5; }));
    std::thread writer([&] {
        second.write(big);
        second.write(big);
    });
    std::this_thread::sleep_for(300ms);
    CHECK(served.asked() == 5);
    served.as_broker([&] { served.tenant = 2; });
    Client other(served);
    greet(other);
    other.write(big);
    REQUIRE(soon([&] { return served.asked() == 7; }));
    CHECK(served.listener().memory_used() <= std::size_t{5} << 20);
    answer_held(served, false);
    for (int i = 0; i < 3; ++i)
        CHECK(first.answer()->size() == std::size_t{1} << 19);
    REQUIRE(soon([&] { return served.asked() == 9; }));
    answer_held(served, false);
    writer.join();
    CHECK(second.answer()->size() == std::size_t{1} << 19);
}

TEST_CASE("answers that are not taken hold no more memory than a share", "[bps][server]") {
    Served served({.memory_bytes_max = std::size_t{64} << 20});
    served.on_ask = [&](const bps::RequestId& id, const bps::Frame& /*frame*/) {
        served.say(id, std::string(std::size_t{1} << 20, 'x'));
    };
    Client client(served);
    std::string all;
    for (int i = 0; i < 90; ++i)
        all += request("x");
    client.write(all);
    REQUIRE(soon([&] { return served.closed() == 1; }));
    CHECK(served.log.has("no memory for an answer of 1048580 bytes"));
    Client other(served);
    other.write(request("x"));
    CHECK(other.answer()->size() == std::size_t{1} << 20);
}

TEST_CASE("connections are bounded in all, by address, and before the login", "[bps][server]") {
    SECTION("in all") {
        Served served({.connections_max = 2});
        Client one(served);
        auto two = std::make_unique<Client>(served);
        REQUIRE(soon([&] { return served.opened() == 2; }));
        CHECK(Client(served).is_ended());
        CHECK(served.log.has("there are 2 connections"));
        two.reset();
        REQUIRE(soon([&] { return served.closed() == 1; }));
        Client again(served);
        again.write(request("again"));
        CHECK(again.answer() == "again");
    }
    SECTION("by address") {
        Served served({.connections_per_address_max = 2});
        Client one(served);
        Client two(served);
        REQUIRE(soon([&] { return served.opened() == 2; }));
        CHECK(Client(served).is_ended());
        CHECK(served.log.has("2 connections of one address"));
        CHECK(served.listener().counters().refused == 1);
    }
    SECTION("before the login: the oldest goes") {
        Served served({.logins_max = 2});
        Client in(served);
        in.write(request("in"));
        CHECK(in.answer() == "in");
        served.as_broker([&] { served.admits = false; });
        Client one(served);
        Client two(served);
        REQUIRE(soon([&] { return served.opened() == 3; }));
        Client three(served);
        CHECK(one.is_ended());
        two.write(request("two"));
        CHECK(two.answer() == "two");
        three.write(request("three"));
        CHECK(three.answer() == "three");
        in.write(request("in"));
        CHECK(in.answer() == "in");
    }
}

TEST_CASE("a muted connection is read again after the longest of its times", "[bps][server]") {
    Served served;
    Client client(served);
    client.write(request("one"));
    CHECK(client.answer() == "one");
    const std::uint64_t id = served.peers().begin()->first;
    for (const bool is_muted_again : {false, true}) {
        const auto before = std::chrono::steady_clock::now();
        served.as_broker([&] {
            served.listener().mute(id, 400ms);
            if (is_muted_again) served.listener().mute(id, 10ms);
        });
        std::this_thread::sleep_for(50ms);
        client.write(request("two"));
        CHECK(client.answer() == "two");
        CHECK(std::chrono::steady_clock::now() - before >= 400ms);
    }
}

TEST_CASE("answers that take longer than a turn all leave", "[bps][server]") {
    Served served;
    hold_all(served);
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 50; ++i) {
        clients.push_back(std::make_unique<Client>(served));
        clients.back()->write(request(number(i)));
    }
    REQUIRE(soon([&] { return served.asked() == 50; }));
    const std::string body(std::size_t{1} << 18, 'x');
    served.as_broker([&] {
        for (const auto& [id, frame] : served.held)
            served.say(id, body);
        served.held.clear();
    });
    for (const auto& client : clients)
        CHECK(client->answer() == body);
}

TEST_CASE("a client is not closed for the time in which the broker was away", "[bps][server]") {
    Served served({.frame_time = 300ms});
    Client client(served);
    client.write(request("one"));
    CHECK(client.answer() == "one");
    const std::string bytes = request("two");
    client.write(bytes.substr(0, 9));
    std::this_thread::sleep_for(50ms);
    served.as_broker([&] {
        client.write(bytes.substr(9));
        std::this_thread::sleep_for(1'500ms);
    });
    CHECK(client.answer() == "two");
}

TEST_CASE("the last answer arrives before the end, though more was sent", "[bps][server]") {
    Served served;
    served.on_ask = [&](const bps::RequestId& id, const bps::Frame& /*frame*/) {
        if (id.number == 1) {
            served.listener().send(
                {.id = id, .response = response("refused"), .close_reason = "wrong login"});
        } else {
            served.say(id, "never");
        }
    };
    for (int i = 0; i < 20; ++i) {
        Client client(served);
        client.write(request("one") + request("two") + request(std::string(30'000, 'x')));
        CHECK(client.answer() == "refused");
        CHECK(client.is_ended());
    }
    CHECK(served.log.has("reason=wrong login"));
}

TEST_CASE("of a client that leaves after a refusal the log has the reason", "[bps][server]") {
    Served served;
    served.on_ask = [&](const bps::RequestId& id, const bps::Frame& /*frame*/) {
        served.listener().send({.id = id,
                                .response = response("no"),
                                .close_reason = {},
                                .refusal = id.number == 1 ? "wrong token" : ""});
    };
    for (const bool goes_on : {true, false}) {
        {
            Client client(served);
            client.write(request("one"));
            CHECK(client.answer() == "no");
            if (goes_on) {
                client.write(request("two"));
                CHECK(client.answer() == "no");
            }
        }
        REQUIRE(soon([&] { return served.closed() == (goes_on ? 1 : 2); }));
        REQUIRE(served.log.has(goes_on ? "reason=the client has closed\n"
                                       : "reason=the client has closed after: wrong token\n"));
        CHECK(served.log.has_now("after: wrong token") == !goes_on);
    }
}

TEST_CASE("the broker ends a connection, and its waiting answers with it", "[bps][server]") {
    Served served;
    hold_all(served);
    Client client(served);
    client.write(request("one"));
    REQUIRE(soon([&] { return served.asked() == 1; }));
    const std::uint64_t id = served.peers().begin()->first;
    served.as_broker([&] { served.listener().close(id, "token revoked"); });
    answer_held(served, false);
    CHECK(client.is_ended());
    REQUIRE(soon([&] { return served.closed() == 1; }));
    CHECK(served.log.has("reason=token revoked"));
}

TEST_CASE("records go from the file into the answer", "[bps][server]") {
    Served served;
    std::string content(std::size_t{8} << 20, '\0');
    for (std::size_t i = 0; i < content.size(); ++i)
        content[i] = static_cast<char>(i * 31 >> 7);
    served.files.write(7, content);
    served.files.write(8, "short");
    served.on_ask = [&](const bps::RequestId& id, const bps::Frame& /*frame*/) {
        const auto bytes = static_cast<std::uint32_t>(content.size() - 100);
        bps::ResponseFrame frame = response("ab" + std::string(bytes + 5, 'x') + "c");
        frame.bytes.resize(4 + 2);
        frame.bytes.push_back(std::byte{'c'});
        frame.splices = {
            {.at = 6, .records = {.log = 7, .segment = 0, .position = 100, .bytes = bytes}},
            {.at = 6, .records = {.log = 8, .segment = 0, .position = 0, .bytes = 5}}};
        served.listener().send({.id = id, .response = std::move(frame), .close_reason = {}});
        // What is open stays readable.
        ::unlink(served.files.path(7).c_str());
    };
    Client client(served);
    client.write(request("fetch"));
    CHECK(client.answer() == "ab" + content.substr(100) + "short" + "c");
    // The file is gone now.
    client.write(request("fetch"));
    CHECK(client.is_ended());
    CHECK(served.log.has("records of an answer: no such segment"));
}

TEST_CASE("records that are not in their file end the connection", "[bps][server]") {
    Served served;
    served.files.write(7, "short");
    served.on_ask = [&](const bps::RequestId& id, const bps::Frame& /*frame*/) {
        bps::ResponseFrame frame = response("0123456789");
        frame.bytes.resize(4);
        frame.splices = {{.at = 4, .records = {.log = 7, .position = 0, .bytes = 10}}};
        served.listener().send({.id = id, .response = std::move(frame), .close_reason = {}});
    };
    Client client(served);
    client.write(request("fetch"));
    CHECK_FALSE(client.answer());
    CHECK(served.log.has("the file of the records is shorter than they are"));
}

TEST_CASE("a broker that stops answers what it was asked", "[bps][server]") {
    Served served;
    hold_all(served);
    Client client(served);
    client.write(request("one"));
    REQUIRE(soon([&] { return served.asked() == 1; }));
    std::thread stopper([&] { served.finish(60s); });
    // Nobody new comes in.
    REQUIRE(soon([&] { return Client(Client::Tried{}, served.port()).is_ended(); }));
    answer_held(served, false);
    CHECK(client.answer() == "one");
    CHECK(client.is_ended());
    stopper.join();
    CHECK(served.opened() == served.closed());
}

TEST_CASE("a broker that stops does not wait for ever", "[bps][server]") {
    Served served;
    hold_all(served);
    Client client(served);
    client.write(request("one"));
    REQUIRE(soon([&] { return served.asked() == 1; }));
    served.finish(100ms);
    CHECK(client.is_ended());
    CHECK(served.opened() == served.closed());
}

TEST_CASE("many clients at once: each gets its own answers", "[bps][server]") {
    Served served;
    std::vector<std::thread> threads;
    threads.reserve(8);
    std::atomic<int> right = 0;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
            for (int round = 0; round < 20; ++round) {
                Client client(served);
                std::string all;
                for (int i = 0; i < 20; ++i)
                    all += request(number(t * 1'000 + i));
                client.write(all);
                // Some leave without their answers.
                for (int i = 0; i < (round % 4 == 0 ? 3 : 20); ++i)
                    right += client.answer() == number(t * 1'000 + i) ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(right == 8 * (5 * 3 + 15 * 20));
    REQUIRE(soon([&] { return served.closed() == 160; }));
    CHECK(served.listener().memory_used() == 0);
    CHECK(served.listener().counters().connections == 0);
}

TEST_CASE("a flood of connections writes few lines", "[bps][server]") {
    Served served({.connections_per_address_max = 5});
    std::vector<std::unique_ptr<Client>> clients;
    clients.reserve(300);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 300; ++i)
        clients.push_back(std::make_unique<Client>(served));
    REQUIRE(soon([&] { return served.listener().counters().refused >= 290; }));
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
    CHECK(served.log.lines() <= 12 * (seconds.count() + 2));
}
