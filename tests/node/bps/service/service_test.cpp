// A whole broker: real sockets and a real directory, a ledger in memory.
#include "node/bps/service/service.hpp"

#include "base/crypto/hash.hpp"
#include "tests/node/bps/core/batches.hpp"
#include "tests/node/bps/core/login_fixture.hpp"
#include "tests/node/bps/server/served.hpp"
#include "tests/node/bps/service/chain_in_memory.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)
using bps::ErrorCode;
using tests::ChainInMemory;

// A segment that has had its time ends, and a fetch has batches of one: records are of today.
std::int64_t milliseconds_now() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

// Who comes is alice, whose the topic is.
class ServedBroker : base::Pinned {
  public:
    ServedBroker(ChainInMemory& chain, const std::string& directory) : chain_(chain) {
        bps::Service::Options options{
            .directory = directory,
            .listener = {},
            .gateway = {.protocol_of_tls = "SASL_SSL", .protocol_of_plain = "PLAINTEXT"},
            .rights = {.contract = ChainInMemory::kContract,
                       .broker = 1,
                       .broker_account = "broker1"_n,
                       .anonymous = bps::Principal{.account = "alice"_n, .permission = "active"_n}},
            .groups = {},
            .chain = {.chain = {},
                      .contract = ChainInMemory::kContract,
                      .authorization = {"broker1"_n, "active"_n}},
            .key = base::crypto::PrivateKey::generate(base::crypto::KeyType::r1),
            .node_key = {},
            .listeners = {{.protocol = "PLAINTEXT", .host = "127.0.0.1", .port = 9092}},
            .cluster_id = "chain"};
        options.listener.listen.push_back({.address = "127.0.0.1:0"});
        auto opened = bps::Service::open(
            std::move(options),
            {.submit = [&chain](const chain::PackedTransaction& packed,
                                const auto& answered) { return chain.submit(packed, answered); },
             .all_rows = [&chain] { return chain.all(); },
             .permissions = permissions_},
            base::Log(log, "bps"));
        if (!opened) FAIL(opened.error().detail);
        permissions_.needs[{("alice"_n).value, ("active"_n).value}] = {1, {alice_key.public_key()}};
        service_ = *std::move(opened);
        chain.follow([this](bps::FinalRows rows) { service_->on_final(std::move(rows)); });
        if (const auto started = service_->start(); !started) FAIL(started.error().detail);
    }
    ~ServedBroker() {
        service_->stop();
        chain_.follow({});
    }

    // The body of the answer, behind the correlation id.
    std::string ask(std::int16_t key, std::int16_t version, base::ByteView body) {
        tests::Client client(port());
        send(client, key, version, body);
        return client.answer().value_or("    ").substr(4);
    }
    static void send(tests::Client& client,
                     std::int16_t key,
                     std::int16_t version,
                     base::ByteView body) {
        bps::Writer frame;
        frame.integer(key);
        frame.integer(version);
        frame.integer<std::int32_t>(1);
        frame.integer<std::int16_t>(-1);
        frame.raw(body);
        client.write(tests::framed(std::string(base::as_text(frame.take()))));
    }
    ErrorCode produce(const std::string& value) {
        const base::Bytes batch = support::make_batch(
            {.records = {{.key = {}, .value = value}}, .base_timestamp = milliseconds_now()});
        bps::Writer body;
        body.integer<std::int16_t>(-1);  // No transaction.
        body.integer<std::int16_t>(-1);  // acks=all.
        body.integer<std::int32_t>(10'000);
        begin_topic(body);
        body.integer(static_cast<std::int32_t>(batch.size()));
        body.raw(batch);
        return code_at(ask(0, 3, body.take()), kOneTopic);
    }
    // An answer to Fetch: its code, then records as they are stored.
    std::pair<ErrorCode, std::string> fetch(std::int64_t offset = 0) {
        const std::string answer = ask(1, 4, fetch_body(0, offset));
        return {code_at(answer, 4 + kOneTopic), answer};
    }
    static base::Bytes fetch_body(std::int32_t max_wait_ms, std::int64_t offset = 0) {
        bps::Writer body;
        body.integer<std::int32_t>(-1);
        body.integer(max_wait_ms);
        body.integer<std::int32_t>(1);
        body.integer<std::int32_t>(1 << 20);
        body.integer<std::int8_t>(0);
        begin_topic(body);
        body.integer(offset);
        body.integer<std::int32_t>(1 << 20);
        return body.take();
    }
    // Until this broker leads it.
    [[nodiscard]] bool leads() {
        return tests::soon([&] { return fetch().first == ErrorCode::none; });
    }
    // The first start of a broker: then it leads the partition of the topic "t".
    void begin_to_lead() {
        REQUIRE(tests::soon([this] { return chain_.broker().boot == 1; }));
        chain_.add_topic();
        REQUIRE(leads());
    }
    [[nodiscard]] std::uint16_t port() const {
        const std::string& address = service_->addresses().at(0);
        return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    }
    void stop() { service_->stop(); }
    [[nodiscard]] bps::Figures figures() { return service_->figures(); }

    // Logs in with a token of alice that is good for an hour.
    void log_in(tests::Client& client, const std::string& jti) {
        const auto now = static_cast<std::uint32_t>(milliseconds_now() / 1'000);
        bps::TokenTerms terms;
        terms.claims = {.account = "alice"_n,
                        .jti = jti,
                        .issued_at = now,
                        .not_before = now,
                        .expires_at = now + 3'600};
        terms.permission = "active"_n;
        terms.scope.items = {{.prefixed = true, .topic = "t", .rights = {bps::Right::consume}}};
        bps::Writer handshake;
        handshake.integer<std::int16_t>(5);
        handshake.raw(base::as_bytes("PLAIN"));
        send(client, 17, 1, handshake.take());
        REQUIRE(client.answer().has_value());
        const std::string zero(1, '\0');
        const std::string message =
            zero + "alice@active" + zero + support::LoginFixture::sign(terms, {alice_key});
        bps::Writer login;
        login.integer(static_cast<std::int32_t>(message.size()));
        login.raw(base::as_bytes(message));
        send(client, 36, 0, login.take());
        const auto answer = client.answer();
        REQUIRE(answer.has_value());
        REQUIRE(code_at(*answer, 4) == ErrorCode::none);
    }

    tests::LogLines log;
    const base::crypto::PrivateKey alice_key =
        base::crypto::PrivateKey::generate(base::crypto::KeyType::r1);

  private:
    // In an answer with one topic "t" and one partition of it, where the code of that is.
    static constexpr std::size_t kOneTopic = 4 + 3 + 4 + 4;

    static void begin_topic(bps::Writer& body) {
        body.integer<std::int32_t>(1);
        body.integer<std::int16_t>(1);
        body.raw(base::as_bytes("t"));
        body.integer<std::int32_t>(1);
        body.integer<std::int32_t>(0);
    }
    static ErrorCode code_at(const std::string& answer, std::size_t at) {
        if (answer.size() < at + 2) return ErrorCode::unknown_server_error;
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(answer[i]); };
        return static_cast<ErrorCode>(static_cast<std::int16_t>(byte(at) << 8U | byte(at + 1)));
    }

    ChainInMemory& chain_;
    support::Permissions permissions_;
    std::unique_ptr<bps::Service> service_;
};

// As a newer contract may write it.
struct UnknownRow {
    static constexpr chain::Name kTable = bps::rows::Partition::kTable;

    std::uint8_t version = 2;

    static void each_field(auto& self, auto&& visit) { visit(self.version); }
};

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// It has started, and leads the partition of the topic "t".
struct LeadingBroker {
    LeadingBroker() { broker.begin_to_lead(); }

    const TemporaryDirectory directory;
    ChainInMemory chain;
    ServedBroker broker{chain, directory.path()};
};

}  // namespace

TEST_CASE("a broker starts on the chain, and what it acknowledged outlives it", "[bps][service]") {
    const TemporaryDirectory directory;
    ChainInMemory chain;
    {
        ServedBroker broker(chain, directory.path());
        REQUIRE(tests::soon([&] { return chain.broker().boot == 1; }));
        CHECK(broker.produce("too early") != ErrorCode::none);  // There is no topic yet.
        chain.add_topic();
        REQUIRE(broker.leads());
        CHECK(broker.produce("the first") == ErrorCode::none);
        CHECK(has(broker.fetch().second, "the first"));
    }
    CHECK(chain.partition({7, 0}).leader_boot == 1);
    {
        ServedBroker broker(chain, directory.path());
        REQUIRE(broker.leads());
        // What was found on the disk is shown once a sync says that it is durable.
        CHECK(tests::soon([&] { return has(broker.fetch().second, "the first"); }));
        CHECK(broker.produce("the second") == ErrorCode::none);
        CHECK(has(broker.fetch().second, "the second"));
    }
    CHECK(chain.partition({7, 0}).leader_boot == 2);
    CHECK(chain.broker().generation == 1);  // The directory was the same.
    CHECK(chain.actions() == std::vector<std::string>{"regbroker", "regbroker", "elect"});
}

TEST_CASE_METHOD(LeadingBroker,
                 "a tenant has as many connections as its quota says",
                 "[bps][service]") {
    chain.put(bps::rows::Quota{.account = "alice"_n, .connections = 1}, ("alice"_n).value);
    const auto is_served = [&](tests::Client& client) {
        ServedBroker::send(client, 1, 4, ServedBroker::fetch_body(0));
        return client.answer().has_value();
    };
    tests::Client first(broker.port());
    CHECK(is_served(first));
    REQUIRE(tests::soon([&] {
        tests::Client second(broker.port());
        return !is_served(second);
    }));
    CHECK(is_served(first));
}

TEST_CASE_METHOD(LeadingBroker,
                 "a client above its tenant's rate is not read for a while",
                 "[bps][service]") {
    REQUIRE(broker.produce(std::string(1'000, 'x')) == ErrorCode::none);
    CHECK(broker.figures().throttled == 0);
    chain.put(bps::rows::Quota{.account = "alice"_n, .bytes_out = 2'000}, ("alice"_n).value);
    tests::Client client(broker.port());
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 6; ++i) {
        ServedBroker::send(client, 1, 4, ServedBroker::fetch_body(0));
        CHECK(client.answer().has_value());
    }
    // More than 6,000 bytes, of which 2,000 are ahead of the rate.
    CHECK(std::chrono::steady_clock::now() - begin > std::chrono::seconds(1));
    CHECK(tests::soon([&] { return broker.figures().throttled > 0; }));
}

TEST_CASE_METHOD(LeadingBroker,
                 "the connection of a token that is revoked is closed, also where it is idle",
                 "[bps][service]") {
    tests::Client revoked(broker.port());
    broker.log_in(revoked, "one");
    tests::Client kept(broker.port());
    broker.log_in(kept, "two");
    const auto until = static_cast<std::uint32_t>(milliseconds_now() / 1'000 + 7'200);
    std::uint64_t key = 0;
    std::memcpy(&key, base::crypto::sha256(base::as_bytes("one")).bytes.data(), sizeof(key));
    chain.put(bps::rows::Revocation{.key = key, .jti = "one", .until = {.seconds = until}},
              key,
              "alice"_n);
    CHECK(broker.log.has("the token one of alice is revoked"));
    CHECK(revoked.is_ended());
    ServedBroker::send(kept, 1, 4, ServedBroker::fetch_body(0));
    CHECK(kept.answer().has_value());
}

TEST_CASE("what a broker does is counted", "[bps][service]") {
    const TemporaryDirectory directory;
    ChainInMemory chain;
    ServedBroker broker(chain, directory.path());
    REQUIRE(tests::soon([&] { return chain.broker().boot == 1; }));
    CHECK(broker.produce("too early") == ErrorCode::topic_authorization_failed);
    chain.add_topic();
    REQUIRE(broker.leads());
    const std::size_t bytes =
        support::make_batch({.records = {{.key = {}, .value = "12345"}}}).size();
    constexpr std::uint64_t kRecords = 3;
    for (std::uint64_t i = 0; i < kRecords; ++i)
        REQUIRE(broker.produce("12345") == ErrorCode::none);
    REQUIRE(has(broker.fetch().second, "12345"));
    REQUIRE(tests::soon([&] { return broker.figures().sent_bytes == kRecords * bytes; }));
    const bps::Figures figures = broker.figures();
    CHECK(figures.taken.batches == kRecords);
    CHECK(figures.taken.records == kRecords);
    CHECK(figures.taken.bytes == kRecords * bytes);
    CHECK(figures.log_bytes == kRecords * bytes);
    CHECK(figures.answered.at({0, ErrorCode::none}) == kRecords);
    CHECK(figures.answered.at({0, ErrorCode::topic_authorization_failed}) == 1);
    CHECK(figures.answered.at({1, ErrorCode::none}) >= 1);
    CHECK(figures.syncs >= kRecords);
    CHECK(figures.sync_microseconds > 0);
    CHECK(figures.partitions == 1);
    CHECK(figures.led == 1);
    CHECK(figures.groups == 0);
    CHECK(figures.rows_time > 0);
    CHECK(figures.broker == 1);
    CHECK(figures.boot == 1);
    CHECK(figures.trouble.starts_with("the last final block is "));  // It is of 1970.
    CHECK(figures.addresses.size() == 1);
    CHECK_FALSE(figures.is_disk_low);
    const tests::Client idle(broker.port());
    CHECK(tests::soon([&] { return broker.figures().connections >= 1; }));
}

TEST_CASE("a broker without final blocks says that it serves nobody", "[bps][service]") {
    const TemporaryDirectory directory;
    ChainInMemory chain;
    ServedBroker broker(chain, directory.path());
    REQUIRE(tests::soon([&] { return chain.broker().boot == 1; }));
    CHECK(broker.log.has("topics are served to nobody: the last final block is "));
    CHECK(broker.figures().trouble.starts_with("the last final block is "));
    chain.set_time(milliseconds_now());
    chain.add_topic();
    CHECK(broker.log.has("topics are served again"));
    CHECK(tests::soon([&] { return broker.figures().trouble.empty(); }));
}

TEST_CASE("a broker whose directory is lost is in no ISR, and leads nothing", "[bps][service]") {
    ChainInMemory chain;
    {
        const TemporaryDirectory directory;
        const ServedBroker broker(chain, directory.path());
        REQUIRE(tests::soon([&] { return chain.broker().boot == 1; }));
        chain.add_topic();
    }
    const TemporaryDirectory other;
    ServedBroker broker(chain, other.path());
    REQUIRE(tests::soon([&] { return chain.broker().boot == 2; }));
    CHECK(chain.broker().generation == 2);
    CHECK(broker.produce("lost") == ErrorCode::not_leader_or_follower);
    CHECK(chain.partition({7, 0}).leader_boot == 1);
}

TEST_CASE_METHOD(LeadingBroker,
                 "a broker that was started elsewhere serves no more",
                 "[bps][service]") {
    bps::rows::Broker row = chain.broker();
    row.boot = 2;
    row.start_id.bytes[0] ^= std::byte{1};
    chain.put(row, 1);
    CHECK(broker.log.has("broker 1 was started elsewhere"));
    CHECK(tests::soon([&] { return broker.fetch().first == ErrorCode::not_leader_or_follower; }));
    CHECK(broker.produce("lost") == ErrorCode::not_leader_or_follower);
}

TEST_CASE("a partition that has another replica in sync is not served", "[bps][service]") {
    const TemporaryDirectory directory;
    ChainInMemory chain;
    ServedBroker broker(chain, directory.path());
    REQUIRE(tests::soon([&] { return chain.broker().boot == 1; }));
    bps::rows::Broker other = chain.broker();
    other.id = 2;
    other.account = "broker2"_n;
    chain.put(other, 2);
    chain.add_topic();
    bps::rows::Partition row = chain.partition({7, 0});
    row.replicas.push_back({2, other.generation});
    ++row.leader_epoch;
    chain.put(row, bps::PartitionId{7, 0}.log());
    CHECK(broker.log.has("partition 0 of 't' is not served: it has 2 replicas in sync"));
    CHECK(broker.produce("lost") == ErrorCode::not_leader_or_follower);
    REQUIRE(tests::soon([&] { return broker.figures().unserved == 1; }));
    CHECK(broker.figures().reasons.at(0).starts_with("partition 0 of 't' is not served"));
    row.replicas[1].generation = -1;
    chain.put(row, bps::PartitionId{7, 0}.log());
    REQUIRE(broker.leads());
    CHECK(broker.produce("kept") == ErrorCode::none);
    CHECK(tests::soon([&] { return broker.figures().unserved == 0; }));
    CHECK(broker.figures().reasons.empty());
}

TEST_CASE_METHOD(LeadingBroker,
                 "a topic that is deleted takes its records with it",
                 "[bps][service]") {
    REQUIRE(broker.produce("gone") == ErrorCode::none);
    REQUIRE(std::filesystem::exists(directory / "7-0"));
    chain.erase<bps::rows::Topic>(7);
    CHECK(tests::soon([&] { return !std::filesystem::exists(directory / "7-0"); }));
    CHECK(broker.fetch().first == ErrorCode::topic_authorization_failed);
}

TEST_CASE("a topic that is deleted while the broker is down goes with its next start",
          "[bps][service]") {
    const bool reads_all = GENERATE(true, false);
    const TemporaryDirectory directory;
    ChainInMemory chain;
    {
        ServedBroker broker(chain, directory.path());
        broker.begin_to_lead();
    }
    REQUIRE(std::filesystem::exists(directory / "7-0"));
    std::filesystem::create_directory(directory / "8-0");
    chain.erase<bps::rows::Partition>(bps::PartitionId{7, 0}.log());
    chain.erase<bps::rows::Topic>(7);
    bps::rows::Partition others;
    others.topic = 6;
    others.replicas = {{2, 0}};
    chain.put(others, bps::PartitionId{6, 0}.log());
    std::filesystem::create_directory(directory / "6-0");
    chain.put(bps::rows::Ids{.broker = 1, .topic = 7}, bps::rows::Ids::kTable.value);
    if (!reads_all) chain.put(UnknownRow{}, 5);
    ServedBroker broker(chain, directory.path());
    REQUIRE(tests::soon([&] { return chain.broker().boot == 2; }));
    (void)broker.fetch();  // A turn later.
    if (reads_all) {
        CHECK(tests::soon([&] { return !std::filesystem::exists(directory / "7-0"); }));
    } else {
        CHECK(broker.log.has("a row of the contract is passed over"));
        CHECK(std::filesystem::exists(directory / "7-0"));
    }
    CHECK(std::filesystem::exists(directory / "6-0"));  // It is another broker's.
    CHECK(std::filesystem::exists(directory / "8-0"));  // The chain has not made it yet.
}

TEST_CASE("a partition whose directory is lost is not begun anew", "[bps][service]") {
    const TemporaryDirectory directory;
    ChainInMemory chain;
    {
        ServedBroker broker(chain, directory.path());
        broker.begin_to_lead();
        REQUIRE(broker.produce("the first") == ErrorCode::none);
    }
    std::filesystem::rename(directory / "7-0", directory / "elsewhere");
    ServedBroker broker(chain, directory.path());
    REQUIRE(tests::soon([&] { return chain.broker().boot == 2; }));
    CHECK(broker.log.has("partition 0 of 't' is not served: " + (directory / "7-0") + " is gone"));
    CHECK(broker.produce("lost") == ErrorCode::not_leader_or_follower);
    std::filesystem::rename(directory / "elsewhere", directory / "7-0");
    chain.put(chain.partition({7, 0}), bps::PartitionId{7, 0}.log());
    REQUIRE(broker.leads());
    CHECK(tests::soon([&] { return has(broker.fetch().second, "the first"); }));
}

TEST_CASE("a partition that is lost goes on above what was deleted of it", "[bps][service]") {
    const TemporaryDirectory directory;
    ChainInMemory chain;
    {
        ServedBroker broker(chain, directory.path());
        broker.begin_to_lead();
        for (const char* each : {"one", "two", "three"})
            REQUIRE(broker.produce(each) == ErrorCode::none);
    }
    auto row = chain.partition({7, 0});
    row.log_start = 5;  // As two more were there, and all of them deleted.
    chain.put(row, bps::PartitionId{7, 0}.log());
    const auto is_unserved = [](ServedBroker& broker) {
        return broker.log.has(
            "the log ends with offset 3, and what is before offset 5 was deleted");
    };
    {
        ServedBroker broker(chain, directory.path());
        REQUIRE(tests::soon([&] { return is_unserved(broker); }));
        CHECK(broker.produce("lost") == ErrorCode::not_leader_or_follower);
    }
    std::filesystem::remove_all(directory / "7-0");
    std::filesystem::create_directory(directory / "7-0");
    ServedBroker broker(chain, directory.path());
    REQUIRE(tests::soon([&] { return broker.produce("kept") == ErrorCode::none; }));
    CHECK(broker.fetch(0).first == ErrorCode::offset_out_of_range);
    CHECK(has(broker.fetch(5).second, "kept"));
}

TEST_CASE_METHOD(LeadingBroker,
                 "who waits for records is answered before the broker stops",
                 "[bps][service]") {
    tests::Client client(broker.port());
    ServedBroker::send(client, 1, 4, ServedBroker::fetch_body(0));
    REQUIRE(client.answer().has_value());
    ServedBroker::send(client, 1, 4, ServedBroker::fetch_body(500));
    (void)broker.fetch();  // Asked later, answered now: the broker has the other one, too.
    broker.stop();
    CHECK(client.answer().has_value());
    CHECK(client.is_ended());
}

TEST_CASE("a start that the contract refuses is said once, with its text", "[bps][service]") {
    const TemporaryDirectory directory;
    ChainInMemory chain;
    chain.refuse_next("broker 1 has had its last generation");
    ServedBroker broker(chain, directory.path());
    CHECK(broker.log.has("the start of this broker was refused: broker 1 has had its last"));
    CHECK(broker.produce("lost") != ErrorCode::none);
    CHECK(chain.broker().boot == 0);
}
