// Rows and actions in the packed form that the contract's ABI says.
#include "chain/abi/definition.hpp"
#include "chain/abi/json.hpp"
#include "chain/abi/serializer.hpp"
#include "node/bps/core/actions.hpp"
#include "node/bps/core/directory.hpp"
#include "tests/node/bps/core/chain_view.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)

constexpr std::uint32_t kNowSeconds = 1'800'000'000;

chain::abi::SerializerPtr bps_abi() {
    std::ifstream file(BPS_ABI);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto json = chain::abi::parse_json(text);
    REQUIRE(json.has_value());
    auto definition = chain::abi::definition_from_json(*json);
    REQUIRE(definition.has_value());
    const auto abi = chain::abi::Serializer::make(*std::move(definition));
    REQUIRE(abi.has_value());
    return *abi;
}

// The value has the bytes that the ABI gives its JSON, and is read from them.
template <class T>
void check_packed(const T& value, std::string_view type, const std::string& as_json) {
    static const auto kAbi = bps_abi();
    INFO(as_json);
    const auto parsed = chain::abi::parse_json(as_json);
    REQUIRE(parsed.has_value());
    const auto packed = kAbi->to_binary(type, *parsed);
    REQUIRE(packed.has_value());
    CHECK(base::to_hex(chain::pack(value)) == base::to_hex(*packed));
    const auto read = chain::unpack<T>(*packed, "value");
    REQUIRE(read.has_value());
    CHECK(base::to_hex(chain::pack(*read)) == base::to_hex(*packed));
}
void check(const auto& row, const std::string& as_json) {
    static const auto kAbi = bps_abi();
    check_packed(row, kAbi->table_type(std::decay_t<decltype(row)>::kTable), as_json);
}
void check_action(const auto& action, const std::string& as_json) {
    static const auto kAbi = bps_abi();
    check_packed(action, kAbi->action_type(std::decay_t<decltype(action)>::kName), as_json);
}

}  // namespace

TEST_CASE("rows of rights are packed as the contract's ABI says", "[bps][rows]") {
    check(bps::rows::Topic{.id = 7,
                           .name = "t",
                           .owner = "alice"_n,
                           .partitions = 3,
                           .settings = {{"retention.ms", "5"}}},
          R"({"id":7,"name":"t","owner":"alice","partitions":3,
              "settings":[{"name":"retention.ms","value":"5"}]})");
    check(bps::rows::Grant{.resource = bps::rows::Resource::group,
                           .prefixed = true,
                           .name = "g",
                           .account = "bob"_n,
                           .permission = "active"_n,
                           .operation = bps::rows::Operation::admin,
                           .first = 1,
                           .last = 2,
                           .id = 9},
          R"({"resource":1,"prefixed":true,"name":"g","account":"bob","permission":"active",
              "operation":2,"first":1,"last":2,"id":9})");
    check(bps::rows::Quota{.account = "alice"_n,
                           .bytes_in = 1,
                           .bytes_out = 2,
                           .connections = 3,
                           .partitions = 4,
                           .groups = 5,
                           .stored_bytes = 6},
          R"({"account":"alice","bytes_in":1,"bytes_out":2,"connections":3,"partitions":4,
              "groups":5,"stored_bytes":6})");
    check(bps::rows::Prefix{.id = 3, .owner = "alice"_n, .prefix = "alice."},
          R"({"id":3,"owner":"alice","prefix":"alice."})");
    check(bps::rows::Delegation{.account = "broker1"_n,
                                .broker = 1,
                                .actions = {"grant"_n},
                                .prefix = "a.",
                                .until = {kNowSeconds}},
          R"({"account":"broker1","broker":1,"actions":["grant"],"prefix":"a.",
              "until":"2027-01-15T08:00:00"})");
    check(
        bps::rows::Cert{.id = 4, .hash = {}, .account = "bob"_n, .permission = "tls"_n},
        R"({"id":4,"hash":")" + std::string(64, '0') + R"(","account":"bob","permission":"tls"})");
    check(bps::rows::Revocation{.key = 5, .jti = "x", .until = {kNowSeconds}},
          R"({"key":5,"jti":"x","until":"2027-01-15T08:00:00"})");
    check(bps::rows::NotBefore{.account = "alice"_n, .time = {kNowSeconds}},
          R"({"account":"alice","time":"2027-01-15T08:00:00"})");
    check(bps::rows::IdSpace{.account = "alice"_n, .number = 7},
          R"({"account":"alice","number":7})");
}

TEST_CASE("rows of brokers and partitions are packed as the contract's ABI says", "[bps][rows]") {
    bps::rows::Broker broker;
    broker.id = 2;
    broker.account = "broker2"_n;
    broker.node_key.type = base::crypto::KeyType::r1;
    broker.node_key.point[0] = std::byte{2};
    broker.listeners = {{"SSL", "host", 9093}};
    broker.boot = 3;
    broker.start_id.bytes[0] = std::byte{4};
    broker.log_id.bytes[15] = std::byte{1};
    broker.generation = 5;
    broker.draining = true;
    broker.fenced = false;
    broker.replicas = 6;
    broker.first_id = 7;
    broker.suspects_at = 8;
    broker.suspected_at = 9;
    broker.covered_at = 10;
    broker.called_at = 11;
    broker.producers.bytes[0] = std::byte{12};
    broker.schedule = 13;
    check(broker,
          R"({"id":2,"account":"broker2","node_key":")" + broker.node_key.to_string() +
              R"(","listeners":[{"protocol":"SSL","host":"host","port":9093}],"boot":3,
                 "start_id":"4","log_id":"1329227995784915872903807060280344576","generation":5,
                 "draining":true,"fenced":false,"replicas":6,"first_id":7,"suspects_at":8,
                 "suspected_at":9,"covered_at":10,"called_at":11,"producers":"12","schedule":13})");
    bps::rows::Partition partition;
    partition.topic = 1;
    partition.partition = 2;
    partition.replicas = {{3, 4}, {5, -1}};
    partition.target = {5};
    partition.replicas_before = 6;
    partition.leader = 3;
    partition.leader_boot = 7;
    partition.leader_epoch = 8;
    partition.partition_epoch = 9;
    partition.break_epoch = 10;
    partition.log_start = 11;
    check(partition,
          R"({"topic":1,"partition":2,"replicas":[{"broker":3,"generation":4},
              {"broker":5,"generation":-1}],"target":[5],"replicas_before":6,"leader":3,
              "leader_boot":7,"leader_epoch":8,"partition_epoch":9,"break_epoch":10,
              "log_start":11})");
}

TEST_CASE("actions are packed as the contract's ABI says", "[bps][rows]") {
    namespace actions = bps::actions;
    check_action(actions::CreateTopic{.by = "broker1"_n,
                                      .owner = "alice"_n,
                                      .name = "a.x",
                                      .settings = {{"flush.ms", "1"}},
                                      .assignment = {{{1, 2}}, {{2}}}},
                 R"({"by":"broker1","owner":"alice","name":"a.x",
                     "settings":[{"name":"flush.ms","value":"1"}],
                     "assignment":[{"brokers":[1,2]},{"brokers":[2]}]})");
    check_action(
        actions::AlterTopic{.by = "broker1"_n, .topic = 5, .settings = {{"flush.ms", "1"}}},
        R"({"by":"broker1","topic":5,"settings":[{"name":"flush.ms","value":"1"}]})");
    check_action(actions::DeleteTopic{.by = "broker1"_n, .topic = 5},
                 R"({"by":"broker1","topic":5})");
    check_action(actions::AddParts{.by = "broker1"_n, .topic = 5, .assignment = {{{3}}}},
                 R"({"by":"broker1","topic":5,"assignment":[{"brokers":[3]}]})");
    check_action(actions::DeleteRecords{.by = "broker1"_n, .topic = 5, .starts = {{1, 7}}},
                 R"({"by":"broker1","topic":5,"starts":[{"partition":1,"offset":7}]})");
    bps::rows::Grant grant;
    grant.resource = bps::rows::Resource::group;
    grant.prefixed = true;
    grant.name = "g";
    grant.account = "bob"_n;
    grant.permission = "app"_n;
    grant.operation = bps::rows::Operation::admin;
    grant.first = 1;
    grant.last = 2;
    check_action(actions::Grant{.by = "broker1"_n, .owner = "alice"_n, .grant = grant},
                 R"({"by":"broker1","owner":"alice","terms":{"resource":1,"prefixed":true,
                     "name":"g","account":"bob","permission":"app","operation":2,"first":1,
                     "last":2}})");
    check_action(actions::Revoke{.by = "broker1"_n, .owner = "alice"_n, .grants = {3, 4}},
                 R"({"by":"broker1","owner":"alice","grants":[3,4]})");
    check_action(actions::Elect{.partitions = {{5, 1}}},
                 R"({"partitions":[{"topic":5,"partition":1}]})");
    check_action(actions::Prefer{.broker = 1, .id = {5, 2}, .epoch = 3},
                 R"({"broker":1,"topic":5,"partition":2,"epoch":3})");
    check_action(actions::Reassign{.by = "broker1"_n, .id = {5, 2}, .target = {1, 3}},
                 R"({"by":"broker1","topic":5,"partition":2,"target":[1,3]})");
    check_action(actions::LeaseIds{.broker = 1, .boot = 2}, R"({"broker":1,"boot":2})");
    check_action(actions::AddIdSpaces{.broker = 1, .accounts = {"alice"_n, "bob"_n}},
                 R"({"broker":1,"accounts":["alice","bob"]})");
}

TEST_CASE("the directory takes rows of brokers and partitions, where their keys say",
          "[bps][rows]") {
    bps::Directory directory;
    const auto put = [&](const auto& row, std::uint64_t key) {
        const base::Bytes bytes = chain::pack(row);
        return directory.apply({std::decay_t<decltype(row)>::kTable, "bps"_n, key},
                               base::ByteView(bytes));
    };
    const auto broker = support::ChainView::broker_row(3);
    CHECK(put(broker, 3).has_value());
    CHECK(directory.is_live(3));
    CHECK_FALSE(put(broker, 4).has_value());
    CHECK_FALSE(put(broker, (std::uint64_t{1} << 32U) + 3).has_value());
    bps::rows::Partition partition;
    partition.topic = 7;
    partition.partition = 1;
    CHECK(put(partition, (std::uint64_t{7} << 32U) + 1).has_value());
    CHECK(directory.find_partition({7, 1}) != nullptr);
    CHECK_FALSE(put(partition, 1).has_value());
    partition.partition = 0x8000'0000;
    CHECK_FALSE(put(partition, (std::uint64_t{7} << 32U) + 0x8000'0000).has_value());
    const auto cut = directory.apply({bps::rows::Broker::kTable, "bps"_n, 3}, base::ByteView());
    REQUIRE_FALSE(cut.has_value());
    CHECK(cut.error().detail.starts_with("table brokers, scope bps, key 3: "));
    CHECK(directory.apply({"anchors"_n, "bps"_n, 1}, base::ByteView()).has_value());
    CHECK(directory.apply({bps::rows::Broker::kTable, "bps"_n, 3}, std::nullopt).has_value());
    CHECK(directory.find_broker(3) == nullptr);
    CHECK(directory
              .apply({bps::rows::Partition::kTable, "bps"_n, (std::uint64_t{7} << 32U) + 1},
                     std::nullopt)
              .has_value());
    CHECK(directory.find_partition({7, 1}) == nullptr);
}
