// What bor-cli does on its side of the broker's protocol: where it connects, what it reads from
// standard input, how errors become advice. Commands are typed at the cluster that librdkafka has
// for tests, which can be made to fail as no real broker can; tests/network types them at the real
// one.
#include "cli/bps_client.hpp"

#include "cli/kafka_reader.hpp"
#include "cli/lines.hpp"

#include <catch2/catch.hpp>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

using namespace cli;

namespace {

constexpr std::int16_t kProduce = 0;  // The key of a request.

// A cluster of one broker, in this process.
class Cluster {
  public:
    Cluster() {
        std::array<char, 256> text{};
        handle_.reset(
            rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), text.data(), text.size()));
        REQUIRE(handle_ != nullptr);
        cluster_.reset(rd_kafka_mock_cluster_new(handle_.get(), 1));
        REQUIRE(cluster_ != nullptr);
        rd_kafka_mock_topic_create(cluster_.get(), "orders", 2, 1);
    }
    rd_kafka_mock_cluster_t* get() { return cluster_.get(); }
    [[nodiscard]] std::string address() const {
        return rd_kafka_mock_cluster_bootstraps(cluster_.get());
    }
    void fail_once(std::int16_t request, rd_kafka_resp_err_t code) {
        rd_kafka_mock_push_request_errors_array(cluster_.get(), request, 1, &code);
    }

  private:
    Owner<rd_kafka_t, rd_kafka_destroy> handle_;
    Owner<rd_kafka_mock_cluster_t, rd_kafka_mock_cluster_destroy> cluster_;
};

// One of the standard streams is a file of its own meanwhile.
class Redirected {
  public:
    Redirected(int stream, const std::string& contents)
        : stream_(stream), kept_(::dup(stream)), path_(path_of(stream)) {
        std::fflush(nullptr);  // What others have written is theirs.
        std::ofstream(path_) << contents;
        const int file = ::open(path_.c_str(), O_RDWR | (stream == 0 ? 0 : O_APPEND));
        ::dup2(file, stream);
        ::close(file);
    }
    ~Redirected() { (void)text(); }

    static std::string path_of(int stream) {
        return (std::filesystem::temp_directory_path() /
                ("bor-cli-" + std::to_string(::getpid()) + "-" + std::to_string(stream)))
            .string();
    }
    // What was written; the stream is as it was.
    std::string text() {
        if (kept_ < 0) return {};
        std::fflush(nullptr);
        ::dup2(kept_, stream_);
        ::close(kept_);
        kept_ = -1;
        std::stringstream all;
        all << std::ifstream(path_).rdbuf();
        std::filesystem::remove(path_);
        return all.str();
    }

  private:
    int stream_;
    int kept_;
    std::string path_;
};

struct Outcome {
    int status = 0;
    std::string out;
    std::string errors;
};

Outcome typed(const std::vector<std::string>& words, const std::string& input = "") {
    Outcome outcome;
    Redirected in(0, input);
    Redirected out(1, "");
    Redirected errors(2, "");
    outcome.status = run(words);
    outcome.errors = errors.text();
    outcome.out = out.text();
    return outcome;
}

// At a cluster, and at a node that is not there.
Outcome typed_at(Cluster& cluster, std::vector<std::string> words, const std::string& input = "") {
    words.insert(words.end(), {"--url", "http://127.0.0.1:1", "--broker", cluster.address()});
    return typed(words, input);
}

std::vector<std::string> all_lines(Lines& lines) {
    std::vector<std::string> found;
    while (true) {
        const auto line = lines.next();
        REQUIRE(line);
        if (!*line) return found;
        found.push_back(**line);
    }
}

Json broker_row(std::string_view protocol,
                std::string_view host,
                int boot = 1,
                bool fenced = false) {
    return {{"id", 1},
            {"boot", boot},
            {"fenced", fenced ? 1 : 0},
            {"listeners", Json::array({{{"protocol", protocol}, {"host", host}, {"port", 9092}}})}};
}

}  // namespace

TEST_CASE("bytes in any pieces are the same lines", "[bps]") {
    const std::string text = "one\n\ntwo\nlast";
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        CAPTURE(piece);
        Lines lines(4);
        std::vector<std::string> found;
        for (std::size_t at = 0; at < text.size(); at += piece) {
            lines.add(text.substr(at, piece));
            for (std::string& each : all_lines(lines))
                found.push_back(std::move(each));
        }
        CHECK(found == std::vector<std::string>{"one", "", "two"});
        lines.end();
        CHECK(all_lines(lines) == std::vector<std::string>{"last"});
        CHECK(all_lines(lines).empty());
        CHECK(lines.number() == 4);
    }
}

TEST_CASE("a line that no record holds is refused before it is whole", "[bps]") {
    Lines lines(4);
    lines.add("four\nfive!");
    const auto first = lines.next();
    REQUIRE(first);
    CHECK(**first == "four");
    const auto second = lines.next();
    REQUIRE_FALSE(second);
    CHECK(second.error().detail == "line 2 has more than 4 bytes, which no record has");
}

TEST_CASE("a key is what is before the first separator", "[bps]") {
    const auto both = keyed_line("a:b:c", ":", 1);
    REQUIRE(both);
    CHECK(both->key == "a");
    CHECK(both->value == "b:c");
    const auto bare = keyed_line("a:b", "", 1);
    REQUIRE(bare);
    CHECK_FALSE(bare->key);
    CHECK(bare->value == "a:b");
    const auto none = keyed_line("a", "=>", 7);
    REQUIRE_FALSE(none);
    CHECK(none.error().detail == "line 7 has no '=>' between a key and a value");
}

TEST_CASE("a token goes in clear on this machine only", "[bps]") {
    for (const char* here : {"127.0.0.1:9092", "localhost:9092", "[::1]:9092"}) {
        CAPTURE(here);
        CHECK_FALSE(bootstrap_of({here}, false).value().is_tls);
        CHECK(bootstrap_of({here}, true).value().is_tls);
    }
    const auto both = bootstrap_of({"127.0.0.1:9092", "broker.example:9093"}, false);
    REQUIRE(both);
    CHECK(both->is_tls);
    CHECK(both->brokers == "127.0.0.1:9092,broker.example:9093");
    for (const char* bad :
         {"broker", "broker:", ":9092", "broker:0", "broker:70000", "broker:9o", "::1:9092"}) {
        CAPTURE(bad);
        const auto found = bootstrap_of({bad}, false);
        REQUIRE_FALSE(found);
        CHECK(found.error().detail.find(bad) != std::string::npos);
    }
}

TEST_CASE("brokers that are up are found on the chain", "[bps]") {
    const Json rows = Json::array({broker_row("SASL_PLAINTEXT", "127.0.0.1"),
                                   broker_row("PLAINTEXT", "127.0.0.2", 0),
                                   broker_row("PLAINTEXT", "127.0.0.3", 1, true),
                                   broker_row("SASL_SSL", "2001:db8::1")});
    const auto clear = bootstrap_of_rows(rows, false);
    REQUIRE(clear);
    CHECK(clear->brokers == "127.0.0.1:9092");
    CHECK_FALSE(clear->is_tls);
    const auto with_tls = bootstrap_of_rows(rows, true);
    REQUIRE(with_tls);
    CHECK(with_tls->brokers == "[2001:db8::1]:9092");
    CHECK(with_tls->is_tls);
    const auto none = bootstrap_of_rows(Json::array({broker_row("SSL", "a", 0)}), false);
    REQUIRE_FALSE(none);
    CHECK(none.error().detail.find("'bor-cli bps brokers'") != std::string::npos);
}

TEST_CASE("records that are produced are consumed, with their keys", "[bps]") {
    Cluster cluster;
    const Outcome sent = typed_at(
        cluster, {"bps", "produce", "orders", "--key-separator", ":"}, "a:one\na:two\na:\xff\xfe");
    CHECK(sent.errors.empty());
    CHECK(sent.status == 0);
    CHECK(sent.out == "records acknowledged by all replicas in sync: 3\n");
    const Outcome read =
        typed_at(cluster, {"bps", "consume", "orders", "--until-end", "--key-separator", "="});
    CHECK(read.status == 0);
    CHECK(read.out == "a=one\na=two\na=\xff\xfe\n");
    const Outcome json = typed_at(cluster, {"-j", "bps", "consume", "orders", "--count", "3"});
    CHECK(json.status == 0);
    CHECK(json.out.find(R"("offset":0,)") != std::string::npos);
    CHECK(json.out.find(R"("key":"a","value":"one","headers":[]})") != std::string::npos);
    CHECK(json.out.find(R"("value_hex":"fffe")") != std::string::npos);
    const Outcome later =
        typed_at(cluster, {"bps", "consume", "orders", "--until-end", "--from", "2"});
    CHECK(later.out == "\xff\xfe\n");
}

// That a member goes on there is tried at the real broker: this cluster keeps one that has left for
// 45 s.
TEST_CASE("a member keeps in its group how far it printed", "[bps]") {
    Cluster cluster;
    REQUIRE(
        typed_at(cluster, {"bps", "produce", "orders", "--partition", "1"}, "one\ntwo\n").status ==
        0);
    CHECK(typed_at(cluster, {"bps", "consume", "orders", "--group", "g", "--until-end"}).out ==
          "one\ntwo\n");
    const auto client = KafkaClient::make(KafkaClient::Role::reader,
                                          {.brokers = cluster.address(),
                                           .ca_file = "",
                                           .certificate_file = "",
                                           .key_file = "",
                                           .make_token = nullptr},
                                          {{"group.id", "g"}});
    REQUIRE(client);
    const KafkaPlaces places(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(places.get(), "orders", 1);
    REQUIRE(rd_kafka_committed((*client)->get(), places.get(), 10'000) ==
            RD_KAFKA_RESP_ERR_NO_ERROR);
    CHECK(places->elems[0].offset == 2);
    const Outcome refused =
        typed_at(cluster, {"bps", "consume", "orders", "--group", "g", "--from", "end"});
    CHECK(refused.status == 1);
    CHECK(refused.errors.find("'bor-cli bps groups reset'") != std::string::npos);
}

TEST_CASE("a record that is not acknowledged is counted and fails the command", "[bps]") {
    Cluster cluster;
    cluster.fail_once(kProduce, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    const Outcome sent =
        typed_at(cluster, {"-j", "bps", "produce", "orders", "--partition", "0"}, "one\ntwo\n");
    CHECK(sent.status == 1);
    CHECK(Json::parse(sent.out) == Json({{"acknowledged", 0}, {"failed", 2}}));
    CHECK(sent.errors.find("2 of 2 records were not acknowledged: ") != std::string::npos);
    CHECK(sent.errors.find("--as ACCOUNT@PERMISSION") != std::string::npos);
}

TEST_CASE("a line without a separator ends producing after those before it", "[bps]") {
    Cluster cluster;
    const Outcome sent = typed_at(
        cluster, {"bps", "produce", "orders", "--key-separator", ":"}, "a:one\ntwo\na:three\n");
    CHECK(sent.status == 1);
    CHECK(sent.out == "records acknowledged by all replicas in sync: 1\n");
    CHECK(sent.errors.find("line 2 has no ':' between") != std::string::npos);
}

TEST_CASE("what a topic's reader may not do names the grant", "[bps]") {
    Cluster cluster;
    rd_kafka_mock_topic_set_error(
        cluster.get(), "secret", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    const Outcome read = typed_at(cluster, {"bps", "consume", "secret", "--until-end"});
    CHECK(read.status == 1);
    CHECK(read.errors.find("the right 'consume' on the topic 'secret' of OWNER") !=
          std::string::npos);
    const Outcome part = typed_at(cluster, {"bps", "consume", "orders", "--partition", "2"});
    CHECK(part.status == 1);
    CHECK(part.errors.find("has 2 partitions, from 0 on, and no partition 2") != std::string::npos);
}

TEST_CASE("an error names who asks, the topic or group, and the command that helps", "[bps]") {
    Arguments arguments;
    arguments.options.emplace("as", "alice");
    const Session session{.url = "http://127.0.0.1:1", .wallet_url = "", .dir = ""};
    const auto text = [&](rd_kafka_resp_err_t code) {
        const AskedOf asked{.topic = "orders", .group = "g", .right = "produce"};
        return explained(session, arguments, {code, "why"}, asked).detail;
    };
    CHECK(text(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
              .find("bor-cli bps grant OWNER orders alice@active produce") != std::string::npos);
    CHECK(text(RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
              .find("bor-cli bps grant OWNER g alice@active produce --group") != std::string::npos);
    CHECK(text(RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP).find("bps groups show g") != std::string::npos);
    CHECK(text(RD_KAFKA_RESP_ERR__AUTHENTICATION) == "no login: why");
    CHECK(text(RD_KAFKA_RESP_ERR__TRANSPORT).find("no answer from a broker: why") == 0);
    CHECK(text(RD_KAFKA_RESP_ERR_POLICY_VIOLATION).find("'bor-cli bps quotas'") !=
          std::string::npos);
    CHECK(text(RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS) == "the broker says: why");
}

TEST_CASE("where no broker answers, the command ends and says where", "[bps]") {
    const auto start = std::chrono::steady_clock::now();
    const Outcome read =
        typed({"bps", "consume", "orders", "--broker", "127.0.0.1:1", "--timeout", "60"});
    CHECK(read.status == 1);
    CHECK(read.errors.find("no answer from a broker: 127.0.0.1:1") != std::string::npos);
    CHECK(read.errors.find("'bor-cli bps brokers'") != std::string::npos);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(50));
    const Outcome chain = typed({"bps", "lag", "--url", "http://127.0.0.1:1"});
    CHECK(chain.status == 1);
    CHECK(chain.errors.find("--broker HOST:PORT") != std::string::npos);
}

TEST_CASE("an interrupt ends a reader in order", "[bps]") {
    Cluster cluster;
    REQUIRE(typed_at(cluster, {"bps", "produce", "orders"}, "one\n").status == 0);
    const pthread_t reader = ::pthread_self();
    std::thread other([&] {
        // Until it has printed what is there, for a minute at most.
        const std::string printed = Redirected::path_of(STDOUT_FILENO);
        std::error_code is_missing;
        for (int tries = 0; tries < 6'000; ++tries) {
            const auto size = std::filesystem::file_size(printed, is_missing);
            if (!is_missing && size > 0) break;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        ::pthread_kill(reader, SIGINT);
    });
    const Outcome read = typed_at(cluster, {"bps", "consume", "orders"});
    other.join();
    CHECK(read.status == 0);
    CHECK(read.out == "one\n");
}
