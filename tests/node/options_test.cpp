// Options from a file and the command line: which wins, and that whatever is wrong is named with
// its place and its remedy.
#include "node/options.hpp"

#include "node/logging.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

class ConfigDirectory {
  public:
    explicit ConfigDirectory(const std::string& text)
        : path_(fs::temp_directory_path() / ("bor-options-" + std::to_string(::getpid()))) {
        fs::create_directories(path_);
        std::ofstream(path_ / "config.ini") << text;
    }
    ~ConfigDirectory() { fs::remove_all(path_); }
    [[nodiscard]] std::string path() const { return path_.string(); }

  private:
    fs::path path_;
};

node::Options read(const std::string& text, std::vector<std::string> arguments = {}) {
    const ConfigDirectory directory(text);
    arguments.push_back("--config-dir=" + directory.path());
    auto command = node::read_options(arguments);
    if (!command) FAIL(command.error().detail);
    return command->options;
}

std::string refusal(const std::string& text, std::vector<std::string> arguments = {}) {
    const ConfigDirectory directory(text);
    arguments.push_back("--config-dir=" + directory.path());
    auto command = node::read_options(arguments);
    REQUIRE(!command);
    return command.error().detail;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("options come from the file, and the command line wins") {
    const node::Options options = read(
        "# a comment\nhttp-server-address = 0.0.0.0:9999\nmax-body-size=1000\n"
        "plugin = eosio::producer_api_plugin\nplugin = trace_api_plugin\n"
        "plugin = eosio::chain_plugin\nverbose-http-errors = true\n",
        {"--max-body-size=2000", "--http-alias", "a", "--http-alias", "b"});
    CHECK(options.http.server_address == "0.0.0.0:9999");
    CHECK(options.http.body_bytes_max == 2000);
    CHECK(options.http.verbose_errors);
    CHECK(options.plugins ==
          std::set<std::string>{"chain_api_plugin", "producer_api_plugin", "trace_api_plugin"});
    CHECK(options.http.aliases.size() == 2);
    // Beside the database, where nobody else may write.
    CHECK(options.http.unix_socket_path == "bor.sock");
    CHECK(options.http.operator_token_file.empty());
}

TEST_CASE("an unknown option is named with file, line and the nearest name") {
    const std::string text = refusal("\nhttp-server-adress = x\n");
    CHECK(has(text, "config.ini:2"));
    CHECK(has(text, "did you mean 'http-server-address'?"));
    CHECK(has(refusal("", {"--max-bodysize=1"}), "did you mean 'max-body-size'?"));
    CHECK(has(refusal("completely-different = 1\n"), "bor-node --help"));
    CHECK(has(refusal("p2p-accept-transactions = true\n"), "no such setting between nodes"));
    CHECK(has(refusal("plugin = trace_api_plugn\n"), "did you mean trace_api_plugin?"));
}

TEST_CASE("lengths of history are of blocks and of traces, and an old number is refused by name") {
    CHECK(read("").history == "full");
    CHECK(read("").trace_history == "full");
    CHECK(read("history = 1000b\ntrace-history = none\n").history == "1000b");
    CHECK(has(refusal("history = 1000\n"), "trace-history = 1000b"));
    CHECK(has(refusal("history = 0\n"), "trace-history = full"));
    CHECK(has(refusal("history = much\n"), "history = 'much' is not a length of history"));
    CHECK(has(refusal("trace-history = 5\n"), "trace-history = '5' is not a length of history"));
    CHECK(has(refusal("snapshot-every = 0\n"), "snapshot-every must be 1 or more"));
    CHECK(has(refusal("history = 30d\nsnapshot-keep = 0\n"), "snapshot-keep to 1 or more"));
    CHECK(read("trace-history = 5b\nsnapshot-keep = 0\n").trace_history == "5b");
}

TEST_CASE("malformed and contradictory values are refused with their remedy") {
    CHECK(has(refusal("a = 1\nmax-body-size = many\n"), "unknown option 'a'"));
    CHECK(has(refusal("\n\nmax-body-size = many\n"), "config.ini:3"));
    CHECK(has(refusal("producer-name = bank\n"), "needs a signature-provider"));
    std::string providers;
    for (int i = 0; i < 17; ++i)
        providers += fmt::format("signature-provider = KEY{}=KEY:file:k\n", i);
    CHECK(has(refusal(providers), "given 17 times, at most 16"));
    CHECK(has(refusal("http-threads = 0\n"), "1 to 64"));
    CHECK(has(refusal("subjective-failure-ms-per-minute = 60001\n"), "0 to 60000"));
    CHECK(read("").clock_bound == std::chrono::milliseconds(100));
    CHECK(has(refusal("clock-bound = 0\n"), "1 to 10000"));
    CHECK(has(refusal("clock-bound = 10001\n"), "1 to 10000"));
    for (const char* const value : {"many", "-1", "1.5", "4294967296"}) {
        CHECK(has(refusal(std::string("subjective-failure-ms-per-minute = ") + value + "\n"),
                  "subjective-failure-ms-per-minute"));
    }
    CHECK(has(refusal("http-category-address = chain_ro,127.0.0.1:1\n"), "http-server-address"));
    CHECK(has(refusal("http-server-address = http-category-address\n"), "http-category-address"));
    const auto missing = node::read_options({"--config-dir=/nonexistent", "--config=x.ini"});
    REQUIRE(!missing);
    CHECK(has(missing.error().detail, "/nonexistent/x.ini"));
}

TEST_CASE("a number below zero, and a word that no option takes, are named as they were typed") {
    CHECK(has(refusal("", {"--clock-bound=-1"}),
              "command line: clock-bound = -1: a number without a sign is needed"));
    CHECK(has(refusal("", {"--clock-bound", "-1"}), "-1"));
    CHECK(has(refusal("\nhttp-threads = -2\n"), "config.ini:2: http-threads = -2: a number"));
    CHECK(read("", {"--max-transaction-time=-1"}).max_transaction_time.count() > 1'000'000);
    CHECK(
        has(refusal("", {"--accept-amnesia", "maybe"}), "'maybe': accept-amnesia takes no value"));
    CHECK(has(refusal("", {"fast"}), "'fast': an option begins with --"));
    CHECK(read("", {"--accept-amnesia", "--clock-bound", "7"}).accept_amnesia);
}

TEST_CASE("options of peers: lists, checkpoint and what is not served are refused by name") {
    const std::string peers = "p2p-listen-endpoint = 127.0.0.1:1\np2p-node-key = k\n";
    const node::Options options = read(peers + "p2p-access-file = lists\ncheckpoint = 7:00\n");
    CHECK(options.p2p_access_file == "lists");
    CHECK(options.checkpoint == "7:00");
    CHECK(options.trust == "full");
    CHECK_FALSE(options.join_with_one_organisation);
    CHECK(read(peers + "join-with-one-organisation = true\n").join_with_one_organisation);
    CHECK(has(refusal("join-with-one-organisation = true\n"), "without p2p-listen-endpoint"));
    CHECK_FALSE(options.accept_amnesia);
    CHECK(read("", {"--accept-amnesia"}).accept_amnesia);
    // It is for one start, not for all to come.
    CHECK(has(refusal("accept-amnesia = true\n"), "accept-amnesia"));
    CHECK(has(refusal("checkpoint = 7:00\n"), "without p2p-listen-endpoint"));
    CHECK(read(peers + "trust = certified\n").trust == "certified");
    CHECK(has(refusal("trust = blind\n"), "expected full or certified"));
    using Ids = std::vector<std::string>;
    CHECK(read("").recover_from.empty());
    CHECK(read("recover-from = 00\nrecover-from = 11\n").recover_from == Ids{"00", "11"});
    // The last counts: what the command line says takes the place of all of the file.
    CHECK(read("recover-from = 00\n", {"--recover-from", "11"}).recover_from == Ids{"11"});
    CHECK(has(refusal("snapshot = x\n"), "on the command line"));
    CHECK(has(refusal("snapshots-dir = x\n"), "data-dir/snapshots"));
}

TEST_CASE("options of transports are of the right form, with peers and without") {
    const std::string peers = "p2p-listen-endpoint = 127.0.0.1:1\np2p-node-key = k\n";
    for (const std::string& before : {std::string(), peers}) {
        const auto transports = [&](const std::string& text) {
            return read(before + text).transports;
        };
        const auto refused = [&](const std::string& text) { return refusal(before + text); };
        CHECK(transports("").choice == "auto");
        CHECK(transports("transport = tcp\n").choice == "tcp");
        CHECK(transports("transport = rdma,shm\n").choice == "rdma,shm");
        for (const char* choice :
             {"sim", "rdma,", ",rdma", "rdma,rdma", "rdma shm", "auto,shm", "shm,tcp"}) {
            const auto text = refused("transport = " + std::string(choice) + "\n");
            CHECK(has(text, "transport = " + std::string(choice) + ": expected auto, tcp, or one"));
        }
        CHECK(has(refused("rdma-device = x\n"), "transport, rdma-address"));
        for (const char* address : {"10.0.0.1", "fe80::1", "2001:db8::77", "::ffff:10.0.0.1"}) {
            CHECK(transports("rdma-address = " + std::string(address) + "\n").rdma_address ==
                  address);
        }
        for (const char* address : {"300.1.1.1", "10.0.0", "10.0.0.1:7", "fe80::1%eth0", "rxe0"}) {
            const auto text = refused("rdma-address = " + std::string(address) + "\n");
            CHECK(
                has(text, "rdma-address = " + std::string(address) + ": expected the IP address"));
            CHECK(has(text, "bor-transport-probe"));
        }
        for (const char* slot : {"0000:00:04.0", "0000:3a:1f.7", "10000:e1:00.0"})
            CHECK(transports("ntb-device = " + std::string(slot) + "\n").ntb_device == slot);
        for (const char* slot : {"../../../etc",
                                 "00:04.0",
                                 "0:0:4.0",
                                 "0000:00:04",
                                 "0000:00:04.8",
                                 "0000:00:20.0",
                                 "0000:00:04.0/",
                                 "0000:3A:00.0",
                                 "000g:00:04.0",
                                 "0000-00:04.0",
                                 "123456789:00:04.0"}) {
            CAPTURE(slot);
            const auto text = refused("ntb-device = " + std::string(slot) + "\n");
            CHECK(has(text, "ntb-device = " + std::string(slot) + ": expected the slot"));
        }
        CHECK(transports("ntb-device = 0000:00:04.0\nntb-memory = m\n").ntb_memory == "m");
        CHECK(has(refused("transport = ntb\n"), "need ntb-device"));
        CHECK(has(refused("transport = shm,ntb\n"), "need ntb-device"));
        CHECK(has(refused("ntb-memory = m\n"), "need ntb-device"));
    }
}

TEST_CASE("help names every option with its default and unit") {
    const auto command = node::read_options({"--help"});
    REQUIRE(command);
    for (const char* part : {"--max-body-size arg (=4194304)",
                             "bytes",
                             "--signature-provider",
                             "--http-max-response-time-ms",
                             "--enable-stale-production"}) {
        CHECK(has(command->text, part));
    }
    // Who reads of this option must know what comes after it. Lines are broken anywhere.
    std::string text = command->text.substr(command->text.find("--accept-amnesia"));
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    CHECK(has(text, "systemregproducerNAMENEWKEY"));
    CHECK(has(text, "walletgive_up_lockKEY"));
}

TEST_CASE("the nearest name is near") {
    CHECK(node::nearest_name("plugn", {"plugin", "data-dir"}) == "plugin");
    CHECK(node::nearest_name("zzzzzz", {"plugin", "data-dir"}).empty());
}

TEST_CASE("a log has levels for modules that change at run time") {
    const fs::path file = fs::temp_directory_path() / ("bor-log-" + std::to_string(::getpid()));
    {
        auto log = node::Logging::open({file, "warn,http=debug", false});
        REQUIRE(log);
        const base::Log http(**log, "http");
        const base::Log core(**log, "core");
        http.info("shown {}", 1);
        core.info("hidden {}", 2);
        CHECK(!(*log)->set_levels("loud"));
        REQUIRE((*log)->set_levels("info"));
        core.info("shown {}", 3);
    }
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    CHECK(has(text, "http shown 1"));
    CHECK(!has(text, "hidden"));
    CHECK(has(text, "core shown 3"));
    fs::remove(file);
}

TEST_CASE("repeated lines are held back and counted") {
    node::RepeatGuard guard;
    const node::RepeatGuard::Clock::time_point start{std::chrono::seconds(100)};
    std::uint64_t skipped = 0;
    CHECK(guard.allow(start, skipped));
    CHECK_FALSE(guard.allow(start + std::chrono::milliseconds(10), skipped));
    CHECK_FALSE(guard.allow(start + std::chrono::milliseconds(20), skipped));
    CHECK(guard.allow(start + std::chrono::seconds(1), skipped));
    CHECK(skipped == 2);
}
