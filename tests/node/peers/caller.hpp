#pragma once

#include "chain/types/transaction.hpp"
#include "cli/journal.hpp"
#include "genesis/genesis.hpp"
#include "node/disk/file.hpp"
#include "node/node.hpp"
#include "p2p/messages.hpp"
#include "transport/tcp/peers.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

// A whole node in this process, a validator alone, and those who call it over TLS.
namespace tests {

// The node's name hides that of the transport's tests.
using CallerIo = Node;

inline chain::Name name_of(const std::string& text) {
    return *chain::Name::from_string(text);
}

class Server {
  public:
    static constexpr std::size_t kCallers = 20;

    explicit Server(std::size_t peers_max = 64) {
        for (std::size_t i = 0; i <= kCallers; ++i)
            node_keys.push_back(PrivateKey::generate(KeyType::r1));
        write_genesis();
        write(dir_ / "validator.key", validator.to_string() + "\n");
        write(dir_ / "node.key", node_keys[0].to_string() + "\n");
        REQUIRE(cli::make_journal(dir_ / "data", {validator.public_key()}));
        address = fmt::format("127.0.0.1:{}", free_port());
        const std::string provider = fmt::format("{}=KEY:file:{}",
                                                 validator.public_key().to_string(),
                                                 (dir_ / "validator.key").string());
        const auto command = node::read_options({"--config-dir",
                                                 (dir_ / "none").string(),
                                                 "--data-dir",
                                                 (dir_ / "data").string(),
                                                 "--genesis-json",
                                                 (dir_ / "genesis.json").string(),
                                                 "--http-server-address",
                                                 "",
                                                 "--producer-name",
                                                 "bora",
                                                 "--signature-provider",
                                                 provider,
                                                 "--p2p-listen-endpoint",
                                                 address,
                                                 "--p2p-node-key",
                                                 (dir_ / "node.key").string(),
                                                 "--p2p-max-peers",
                                                 std::to_string(peers_max)});
        REQUIRE(command);
        log_ = *node::Logging::open({.file = dir_ / "log"});
        auto opened = node::Node::open(command->options, *log_);
        REQUIRE(opened);
        node_ = *std::move(opened);
        REQUIRE(node_->start());
    }
    ~Server() {
        stop();
        node_.reset();
        log_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(dir_, ignored);
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    void stop() { node_->stop(); }
    // A key that is registered and that nobody has used.
    [[nodiscard]] const PrivateKey& next_key() { return node_keys.at(++used_); }
    [[nodiscard]] std::string log_text() const {
        log_->flush();
        std::ifstream in(dir_ / "log");
        std::ostringstream out;
        out << in.rdbuf();
        return out.str();
    }
    // Waits: lines are written by other threads.
    [[nodiscard]] bool logs(const std::string& text) const {
        const auto deadline = std::chrono::steady_clock::now() + kPatience;
        while (std::chrono::steady_clock::now() < deadline) {
            if (log_text().find(text) != std::string::npos) return true;
            std::this_thread::sleep_for(5ms);
        }
        UNSCOPED_INFO(log_text());
        return false;
    }

    PrivateKey system = PrivateKey::generate(KeyType::k1);
    PrivateKey validator = PrivateKey::generate(KeyType::k1);
    std::vector<PrivateKey> node_keys;  // The first is the server's.
    genesis::Genesis genesis;
    std::string address;

    static std::string node_name(std::size_t i) {
        return std::string("node") + static_cast<char>('a' + i);
    }

  private:
    static std::filesystem::path make_dir() {
        std::string path = (std::filesystem::temp_directory_path() / "bor-peers-XXXXXX").string();
        REQUIRE(::mkdtemp(path.data()) != nullptr);
        std::filesystem::create_directories(path + "/data");
        return path;
    }
    static void write(const std::filesystem::path& file, const std::string& text) {
        REQUIRE(node::write_file_atomically(file.string(), base::as_bytes(text)).has_value());
    }
    static std::uint16_t free_port() {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof at;
        REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&at), size) == 0);
        REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0);
        ::close(fd);
        return ntohs(at.sin_port);
    }
    void write_genesis() {
        const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
        const chain::Name bora = name_of("bora");
        genesis.times = {{(now - now % 100) * 1000}, 100};
        genesis.system_authority = chain::Authority::of_key(system.public_key());
        genesis.members.push_back({bora, genesis.system_authority, 1});
        genesis.schedule.entries.push_back({bora, validator.public_key(), validator.public_key()});
        for (std::size_t i = 0; i < node_keys.size(); ++i) {
            genesis.nodes.push_back({name_of(node_name(i)), bora, node_keys[i].public_key(), 1});
        }
        write(dir_ / "genesis.json", genesis::to_json(genesis));
    }

    std::filesystem::path dir_ = make_dir();
    std::unique_ptr<node::Logging> log_;
    std::unique_ptr<node::Node> node_;
    std::size_t used_ = 0;
};

// Somebody with a key who has connected, and says what the test likes.
class Caller {
  public:
    Caller(Server& server, const PrivateKey& key) : server_(server), io_({}, key) {
        connect(server, io_);
        const auto up = io_.next<event::Up>();
        REQUIRE(up);
        channel = up->channel;
        binding = up->binding;
    }
    explicit Caller(Server& server) : Caller(server, server.next_key()) {}

    // What the server tells who shows this key and gets no channel.
    static std::string why_refused(Server& server, const PrivateKey& key) {
        CallerIo io({}, key);
        connect(server, io);
        const auto failed = io.next<event::ConnectFailed>();
        return failed ? failed->info.text : "it is not refused";
    }

    void say_bytes(p2p::MessageType type, base::Bytes bytes) {
        const p2p::Carriage carriage = p2p::carriage_of(type);
        io_.send(channel, carriage.lane, carriage.priority, std::move(bytes));
    }
    void say(const p2p::Body& body, p2p::Mark mark = {}) {
        say_bytes(p2p::type_of(body), *p2p::pack_message(body, mark));
    }
    // The next message of this type; absent: it was told to go before, or nothing came.
    template <class Type>
    std::optional<std::pair<p2p::Envelope, Type>> hear() {
        std::optional<std::pair<p2p::Envelope, Type>> heard;
        if (away_) return heard;
        (void)io_.next<event::Received>([&](const event::Received& received) {
            const base::Bytes bytes = bytes_of(received.message);
            const auto envelope = p2p::read_envelope(bytes);
            REQUIRE(envelope);
            auto body = p2p::read_body(*envelope, bytes);
            REQUIRE(body);
            if (const auto* away = std::get_if<p2p::GoAway>(&*body)) away_ = *away;
            auto* value = std::get_if<Type>(&*body);
            if (value != nullptr) heard.emplace(*envelope, std::move(*value));
            return away_ || value != nullptr;
        });
        return heard;
    }
    [[nodiscard]] p2p::Hello hello() const {
        p2p::Hello hello;
        hello.chain_id = server_.genesis.chain_id();
        hello.roles = p2p::kValidator;
        hello.agent = "caller";
        hello.finalized.height = 1;
        hello.head.height = 1;
        return hello;
    }
    // A conversation as it should be.
    p2p::Hello greet() {
        const auto theirs = hear<p2p::Hello>();
        REQUIRE(theirs);
        p2p::Hello ours = hello();
        ours.finalized = ours.head = theirs->second.finalized;
        say(ours);
        REQUIRE(hear<p2p::Notice>());
        say(p2p::Notice{.finalized = ours.finalized, .head = ours.head});
        return theirs->second;
    }
    // Told to go for this reason; then the channel is closed, and the log has a line of it.
    void check_gone(p2p::Reason reason, const std::string& text) {
        (void)hear<p2p::GoAway>();
        REQUIRE(away_);
        INFO(p2p::to_string(away_->reason) << ": " << away_->text);
        CHECK(away_->reason == reason);
        CHECK_THAT(away_->text, Catch::Contains(text));
        const std::string said = std::string(p2p::to_string(reason)) + ": " + away_->text;
        const auto down = io_.next<event::Down>();
        REQUIRE(down);
        CHECK(down->info.text == said);
        CHECK(server_.logs(said));
    }

    ChannelId channel;
    base::Hash256 binding;

  private:
    static void connect(const Server& server, CallerIo& io) {
        io.post(command::Connect{server.address, server.node_keys[0].public_key()});
    }

    Server& server_;
    CallerIo io_;
    std::optional<p2p::GoAway> away_;
};

// The node serves others, and its chain goes on.
inline void check_goes_on(Server& server) {
    Caller good(server);
    const p2p::Hello hello = good.greet();
    while (true) {
        const auto push = good.hear<p2p::Blocks>();
        REQUIRE(push);
        REQUIRE(push->second.blocks.size() == 1);
        if (push->second.blocks.front()->header.height > hello.head.height + 2) return;
    }
}

}  // namespace tests
