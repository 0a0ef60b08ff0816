#pragma once

#include "transport/link/frame.hpp"
#include "transport/link/prelude.hpp"
#include "transport/tcp/thread.hpp"

#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

// Two ends of real TLS connections on loopback: nodes of ours, and peers that misbehave.
namespace tests {

using namespace std::chrono_literals;
namespace command = transport::command;
namespace event = transport::event;
namespace tcp = transport::tcp;
namespace link = transport::link;
using base::crypto::KeyType;
using base::crypto::PrivateKey;
using transport::ChannelId;
using transport::Lane;

// Costs time only when a test fails: long enough for a sanitizer on a busy machine.
inline constexpr auto kPatience = 60s;

class LogLines : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level /*level*/) const override { return true; }
    void write(base::Level /*level*/, std::string_view, std::string_view line) override {
        const std::scoped_lock lock(mutex_);
        text_ += std::string(line) + "\n";
    }
    [[nodiscard]] std::string text() const {
        const std::scoped_lock lock(mutex_);
        return text_;
    }

  private:
    mutable std::mutex mutex_;
    std::string text_;
};

// What nodes have besides TCP, for each of them; every program with these tests says.
std::vector<std::unique_ptr<link::FastKind>> make_fast_kinds();

// A node: its key, its I/O thread, and what that has told it.
class Node : public transport::Host {
  public:
    explicit Node(tcp::Options options = {},
                  const PrivateKey& node_key = PrivateKey::generate(KeyType::r1))
        : key(node_key) {
        if (options.listen.empty()) options.listen = {"127.0.0.1:0"};
        options.pool.bytes = std::max<std::size_t>(options.pool.bytes, 1);
        thread.emplace(std::move(options), key, *this, base::Log(log, "tcp"));
        for (auto& kind : make_fast_kinds()) {
            thread->add(std::move(kind));
            has_fast_kinds = true;
        }
        REQUIRE(thread->start());
    }
    ~Node() override {
        thread->stop();
        drop_events();
    }

    [[nodiscard]] transport::Verdict admit(const transport::PeerKey& peer, bool) override {
        const std::scoped_lock lock(mutex_);
        if (refused_.contains(peer)) return {false, "key " + peer.to_string() + " is revoked"};
        return {true, ""};
    }

    void on_events(std::vector<transport::Event>& events) override {
        const std::scoped_lock lock(mutex_);
        for (auto& each : events)
            events_.push_back(std::move(each));
        events.clear();
        changed_.notify_all();
    }

    // The next event of type E that `fits`; those before it are forgotten. Empty: it did not come.
    template <class E>
    std::optional<E> next(const std::function<bool(const E&)>& fits = {}) {
        std::unique_lock lock(mutex_);
        const auto deadline = std::chrono::steady_clock::now() + kPatience;
        while (true) {
            while (!events_.empty()) {
                transport::Event front = std::move(events_.front());
                events_.pop_front();
                auto* found = std::get_if<E>(&front);
                if (found != nullptr && (!fits || fits(*found))) return std::move(*found);
            }
            if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) return {};
        }
    }

    void refuse(const transport::PeerKey& peer) {
        const std::scoped_lock lock(mutex_);
        refused_.insert(peer);
    }
    void drop_events() {
        const std::scoped_lock lock(mutex_);
        events_.clear();
    }

    void post(transport::Command command) {
        std::vector<transport::Command> commands;
        commands.push_back(std::move(command));
        thread->post(commands);
    }
    void send(ChannelId channel, Lane lane, transport::Priority priority, base::Bytes bytes) {
        post(command::Send{
            channel, lane, priority, std::make_shared<const base::Bytes>(std::move(bytes))});
    }
    void connect(const Node& other) {
        post(command::Connect{other.address(), other.key.public_key()});
    }
    [[nodiscard]] std::string address() const { return thread->addresses().front(); }

    PrivateKey key;
    LogLines log;
    std::optional<tcp::Thread> thread;
    bool has_fast_kinds = false;

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<transport::Event> events_;
    std::set<transport::PeerKey> refused_;
};

// The ends of a channel between two nodes.
struct Pair {
    ChannelId of_client;
    ChannelId of_server;
};

// Whether it becomes true in time.
template <class F>
bool comes_true(const F& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

// Its log comes to have the text, which a goodbye or a counter may precede.
inline bool logs(const Node& node, const std::string& text) {
    return comes_true([&] { return node.log.text().find(text) != std::string::npos; });
}

// All channels of a node have a faster path than TCP.
inline bool becomes_fast(const Node& node) {
    const auto& counters = node.thread->counters();
    return comes_true([&] { return counters.fast == counters.channels; });
}

inline Pair join(Node& client, Node& server) {
    client.connect(server);
    const auto up = client.next<event::Up>();
    const auto peer_up = server.next<event::Up>();
    REQUIRE(up);
    REQUIRE(peer_up);
    CHECK(up->binding == peer_up->binding);
    CHECK(up->peer == server.key.public_key());
    CHECK(peer_up->peer == client.key.public_key());
    if (client.has_fast_kinds && server.has_fast_kinds) {
        REQUIRE(becomes_fast(client));
        REQUIRE(becomes_fast(server));
    }
    return {up->channel, peer_up->channel};
}

// Bytes that differ from place to place.
inline base::Bytes pattern(std::size_t size, unsigned seed = 1) {
    base::Bytes out(size);
    unsigned state = seed * 2654435761U + 1;
    for (std::byte& each : out) {
        state = state * 1664525U + 1013904223U;
        each = static_cast<std::byte>(state >> 24U);
    }
    return out;
}

inline base::Bytes bytes_of(const transport::Message& message) {
    base::Bytes scratch;
    return base::to_bytes(message.bytes.contiguous(scratch));
}

inline void check_talks(Node& from, ChannelId channel, Node& to) {
    from.send(channel, Lane::control, 0, pattern(500, 9));
    const auto received = to.next<event::Received>();
    REQUIRE(received);
    CHECK(bytes_of(received->message) == pattern(500, 9));
}

// Messages with a number each, of all lanes and levels, and what arrived of them.
struct Stream {
    void send(Node& from, ChannelId channel, unsigned count) {
        for (unsigned i = 0; i < count; ++i, ++sent) {
            const std::size_t size = sent % 50 == 0 ? 300'000 : 4 + sent * 97 % 9'000;
            base::Bytes bytes(size);
            std::memcpy(bytes.data(), &sent, sizeof sent);
            from.send(channel,
                      sent % 3 == 0 ? Lane::data : Lane::control,
                      static_cast<transport::Priority>(sent % 8),
                      std::move(bytes));
        }
    }
    // All that was sent comes, each once, in the order of its lane and level.
    void check_arrives(Node& to) {
        std::map<std::pair<Lane, transport::Priority>, unsigned> last;
        for (; arrived < sent; ++arrived) {
            const auto received = to.next<event::Received>();
            REQUIRE(received);
            const auto& message = received->message;
            unsigned number = 0;
            const base::Bytes bytes = bytes_of(message);
            std::memcpy(&number, bytes.data(), sizeof number);
            const auto before = last.find({message.lane, message.priority});
            if (before != last.end()) REQUIRE(number > before->second);
            last[{message.lane, message.priority}] = number;
        }
    }

    unsigned sent = 0;
    unsigned arrived = 0;
};

// A peer that speaks TLS as told, over blocking calls, and sends any bytes.
class RawPeer {
  public:
    struct Form {
        int version_max = TLS1_3_VERSION;
        bool has_certificate = true;
        // Makes the key; by default on P-256.
        std::function<tcp::OpensslPtr<EVP_PKEY>()> make_key{};
    };

    explicit RawPeer(const std::string& address) : RawPeer(address, Form{}) {}
    RawPeer(const std::string& address, const Form& form) : RawPeer(connect_to(address), form) {}
    // Of a connection that is there.
    explicit RawPeer(int fd) : RawPeer(fd, Form{}) {}
    RawPeer(int fd, const Form& form) : fd_(fd) {
        std::signal(SIGPIPE, SIG_IGN);  // OpenSSL's own sockets raise it.
        context_.reset(SSL_CTX_new(TLS_client_method()));
        SSL_CTX_set_max_proto_version(context_.get(), form.version_max);
        if (form.has_certificate) {
            const auto own = form.make_key ? form.make_key() : tcp::make_openssl_key(key);
            const auto certificate = tcp::make_certificate(*own);
            SSL_CTX_use_certificate(context_.get(), certificate.get());
            SSL_CTX_use_PrivateKey(context_.get(), own.get());
        }
        session_.reset(SSL_new(context_.get()));
        SSL_set_fd(session_.get(), fd_);
        is_connected_ = SSL_connect(session_.get()) == 1;
    }
    ~RawPeer() { ::close(fd_); }
    RawPeer(const RawPeer&) = delete;
    RawPeer& operator=(const RawPeer&) = delete;

    // From another address of this host, if one is given.
    static int connect_to(const std::string& address, const std::string& from = "") {
        const std::size_t colon = address.rfind(':');
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
        inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (!from.empty()) {
            sockaddr_in own{};
            own.sin_family = AF_INET;
            inet_pton(AF_INET, from.c_str(), &own.sin_addr);
            REQUIRE(bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0);
        }
        REQUIRE(connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
        const timeval patience{std::chrono::seconds(kPatience).count(), 0};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        return fd;
    }

    // The handshake went well, as far as a client of TLS 1.3 knows.
    [[nodiscard]] bool is_connected() const { return is_connected_; }
    [[nodiscard]] int fd() const { return fd_; }

    // False: the node has ended the connection.
    bool write(base::ByteView bytes) {
        return SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
    }
    bool write_frame(const link::FrameHeader& header, base::ByteView payload) {
        const auto head = link::encode(header);
        base::Bytes frame(head.begin(), head.end());
        frame.insert(frame.end(), payload.begin(), payload.end());
        return write(frame);
    }
    // A whole message in one slice.
    bool write_message(base::ByteView payload, transport::Priority priority = 3) {
        return write_frame({.lane = Lane::data,
                            .priority = priority,
                            .is_first = true,
                            .length = static_cast<std::uint16_t>(payload.size()),
                            .total_or_offset = static_cast<std::uint32_t>(payload.size())},
                           payload);
    }
    bool greet() {
        const base::Bytes offers = link::encode(link::prelude::Offers{.attempt = 1, .offers = {}});
        return write_frame(
            {.kind = link::FrameKind::prelude, .length = static_cast<std::uint16_t>(offers.size())},
            offers);
    }

    // The next frame that is no heartbeat. Empty: the connection has ended.
    std::optional<std::pair<link::FrameHeader, base::Bytes>> read_frame() {
        while (true) {
            const auto frame = reader_.peek();
            REQUIRE(frame);
            if (*frame) {
                auto out = std::pair((*frame)->header, base::to_bytes((*frame)->payload));
                reader_.consume(**frame);
                if (out.first.kind == link::FrameKind::heartbeat) continue;
                return out;
            }
            const auto space = reader_.space();
            const int count =
                SSL_read(session_.get(), space.data(), static_cast<int>(space.size()));
            if (count <= 0) return {};
            reader_.commit(static_cast<std::size_t>(count));
        }
    }
    // The text with which the node says goodbye; empty: it ends without one.
    std::string read_goodbye() {
        while (auto frame = read_frame()) {
            if (frame->first.kind != link::FrameKind::goodbye) continue;
            const auto info = link::decode_goodbye(frame->second);
            return info ? info->text : "malformed";
        }
        return "";
    }

    PrivateKey key = PrivateKey::generate(KeyType::r1);

  private:
    int fd_;
    tcp::OpensslPtr<SSL_CTX> context_;
    tcp::OpensslPtr<SSL> session_;
    bool is_connected_ = false;
    link::FrameReader reader_;
};

}  // namespace tests
