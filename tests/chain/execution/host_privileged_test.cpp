// What only privileged accounts may do: limits, parameters, schedules.
#include "chain/execution/schedule_rows.hpp"
#include "host_fixture.hpp"

using chain::Exception;
using host_test::failed;
using host_test::Host;
using namespace chain::literals;

namespace {

using std::int64_t;
using std::uint32_t;
using std::uint64_t;

constexpr uint32_t kIn = 1000;
constexpr uint32_t kOut = 3000;
constexpr uint64_t kAlice = ("alice"_n).value;
constexpr uint64_t kNobody = ("nobody"_n).value;

std::string after(std::string_view name, std::initializer_list<uint64_t> args) {
    Host host({.privileged = true});
    CHECK_FALSE(host.call(name, args).has_value());
    return host.failure();
}

chain::PublicKey key_of(int seed) {
    std::array<std::byte, 32> secret{};
    secret.fill(static_cast<std::byte>(seed));
    return base::crypto::PrivateKey(base::crypto::KeyType::k1, secret).public_key();
}

// The layout of set_proposed_producers.
base::Bytes producers(const std::vector<std::pair<chain::Name, chain::PublicKey>>& entries) {
    base::Writer out;
    out.varuint32(static_cast<uint32_t>(entries.size()));
    for (const auto& [name, key] : entries) {
        chain::encode(out, name);
        chain::encode(out, key);
    }
    return out.take();
}

// The layout of set_proposed_producers_ex, format 1, with the given weight of each key.
base::Bytes authorities(const std::vector<std::pair<chain::Name, chain::PublicKey>>& entries,
                        std::uint16_t weight) {
    base::Writer out;
    out.varuint32(static_cast<uint32_t>(entries.size()));
    for (const auto& [name, key] : entries) {
        chain::encode(out, name);
        out.varuint32(0);
        out.u32(1);
        out.varuint32(1);
        chain::encode(out, key);
        out.u16(weight);
    }
    return out.take();
}

}  // namespace

TEST_CASE("other accounts may not call them") {
    const std::string expected =
        failed(Exception::unaccessible_api, "contract does not have permission to call this API");
    const auto refused = [](std::string_view name, std::initializer_list<uint64_t> args) {
        Host host;
        CHECK_FALSE(host.call(name, args).has_value());
        return host.failure();
    };
    CHECK(refused("set_resource_limits", {kAlice, 1, 1, 1}) == expected);
    CHECK(refused("get_resource_limits", {kAlice, 8, 16, 24}) == expected);
    CHECK(refused("is_privileged", {kAlice}) == expected);
    CHECK(refused("set_privileged", {kAlice, 1}) == expected);
    CHECK(refused("get_blockchain_parameters_packed", {kOut, 0}) == expected);
    CHECK(refused("set_blockchain_parameters_packed", {kIn, 72}) == expected);
    CHECK(refused("get_parameters_packed", {kIn, 1, kOut, 0}) == expected);
    CHECK(refused("set_parameters_packed", {kIn, 1}) == expected);
    CHECK(refused("get_wasm_parameters_packed", {kOut, 0, 0}) == expected);
    CHECK(refused("set_wasm_parameters_packed", {kIn, 48}) == expected);
    CHECK(refused("set_proposed_producers", {kIn, 1}) == expected);
    CHECK(refused("set_proposed_producers_ex", {0, kIn, 1}) == expected);
    CHECK(refused("is_feature_active", {1}) == expected);
    CHECK(refused("activate_feature", {1}) == expected);
    CHECK(refused("preactivate_feature", {kIn}) == expected);
}

TEST_CASE("limits are set and read") {
    Host host({.privileged = true});
    REQUIRE(host.call("set_resource_limits", {kAlice, 10'000, 20, ~uint64_t{0}}).has_value());
    REQUIRE(host.call("get_resource_limits", {kAlice, kOut, kOut + 8, kOut + 16}).has_value());
    CHECK(host.read<int64_t>(kOut) == 10'000);
    CHECK(host.read<int64_t>(kOut + 8) == 20);
    CHECK(host.read<int64_t>(kOut + 16) == -1);
    CHECK(host.transaction->find_account("alice"_n)->ram_quota == 10'000);
}

TEST_CASE("limits below -1 and of accounts that do not exist are refused") {
    const uint64_t low = static_cast<uint64_t>(int64_t{-2});
    CHECK(after("set_resource_limits", {kAlice, low, 0, 0}) ==
          failed(Exception::wasm_execution_error,
                 "invalid value for ram resource limit expected [-1,INT64_MAX]"));
    CHECK(after("set_resource_limits", {kAlice, 0, low, 0}) ==
          failed(Exception::wasm_execution_error,
                 "invalid value for net resource weight expected [-1,INT64_MAX]"));
    CHECK(after("set_resource_limits", {kAlice, 0, 0, low}) ==
          failed(Exception::wasm_execution_error,
                 "invalid value for cpu resource weight expected [-1,INT64_MAX]"));
    for (const auto& failure : {after("set_resource_limits", {kNobody, 0, 0, 0}),
                                after("get_resource_limits", {kNobody, 8, 16, 24}),
                                after("is_privileged", {kNobody}),
                                after("set_privileged", {kNobody, 1})}) {
        CHECK(failure.find("unknown key (eosio::chain::name): nobody") != std::string::npos);
    }
}

TEST_CASE("privilege is given and taken") {
    Host host({.privileged = true});
    CHECK(host.i32("is_privileged", {kAlice}) == 0);
    REQUIRE(host.call("set_privileged", {kAlice, 1}).has_value());
    CHECK(host.i32("is_privileged", {kAlice}) == 1);
    REQUIRE(host.call("set_privileged", {kAlice, 0}).has_value());
    CHECK(host.i32("is_privileged", {kAlice}) == 0);
}

TEST_CASE("blockchain parameters have the layout of chain_config") {
    Host host({.privileged = true});
    CHECK(host.i32("get_blockchain_parameters_packed", {kOut, 0}) == 68);
    CHECK(host.i32("get_blockchain_parameters_packed", {kOut, 67}) == 0);
    CHECK(host.i32("get_blockchain_parameters_packed", {kOut, 68}) == 68);
    CHECK(host.read<uint64_t>(kOut) == 1'048'576);
    CHECK(host.read<std::uint16_t>(kOut + 66) == 6);
    // Written back with another depth.
    host.write<std::uint16_t>(kOut + 66, 5);
    REQUIRE(host.call("set_blockchain_parameters_packed", {kOut, 68}).has_value());
    CHECK(host.i32("get_blockchain_parameters_packed", {kIn, 68}) == 68);
    CHECK(host.read<std::uint16_t>(kIn + 66) == 5);
}

TEST_CASE("blockchain parameters that contradict each other are refused") {
    Host host({.privileged = true});
    REQUIRE(host.i32("get_blockchain_parameters_packed", {kOut, 68}) == 68);
    host.write<uint32_t>(kOut + 8, 10'001);  // target_block_net_usage_pct
    CHECK_FALSE(host.call("set_blockchain_parameters_packed", {kOut, 68}).has_value());
    CHECK(host.failure() == failed(Exception::action_validate_exception,
                                   "target block net usage percentage cannot exceed 100%"));
    CHECK_FALSE(after("set_blockchain_parameters_packed", {kOut, 67}).empty());
}

TEST_CASE("parameters are read and written by number") {
    Host host({.privileged = true});
    host.write_text(kIn, std::string_view("\x02\x11\x0F", 3));
    CHECK(host.i32("get_parameters_packed", {kIn, 3, kOut, 0}) == 9);
    CHECK(host.i32("get_parameters_packed", {kIn, 3, kOut, 9}) == 9);
    CHECK(host.hex(kOut, 9) == "0211000100000f0400");
    host.write<uint32_t>(kOut + 2, 512);  // max_action_return_value_size
    REQUIRE(host.call("set_parameters_packed", {kOut, 9}).has_value());
    CHECK(host.i32("get_parameters_packed", {kIn, 2 + 1, kOut + 100, 9}) == 9);
    CHECK(host.read<uint32_t>(kOut + 102) == 512);
}

TEST_CASE("parameter numbers must exist, once each, and have room") {
    const auto with = [](std::string_view name, std::string_view bytes, uint64_t room) {
        Host host({.privileged = true});
        host.write_text(kIn, bytes);
        if (name == "get_parameters_packed") {
            CHECK_FALSE(host.call(name, {kIn, bytes.size(), kOut, room}).has_value());
        } else {
            CHECK_FALSE(host.call(name, {kIn, bytes.size()}).has_value());
        }
        return host.failure();
    };
    using namespace std::literals;
    CHECK(with("get_parameters_packed", "\x01\x12"sv, 0) ==
          failed(Exception::config_parse_error, "DataStream& operator<<: no such id: 18"));
    CHECK(with("get_parameters_packed", "\x02\x01\x01"sv, 0) ==
          failed(Exception::config_parse_error, "duplicate id provided: 1"));
    CHECK(with("get_parameters_packed", "\x01\x01"sv, 5) ==
          failed(Exception::config_parse_error,
                 "get_parameters_packed: buffer size is smaller than 6"));
    CHECK_FALSE(with("get_parameters_packed", "\x02\x01"sv, 0).empty());
    CHECK(with("set_parameters_packed", "\x01\x12\0\0\0\0"sv, 0) ==
          failed(Exception::config_parse_error, "DataStream& operator>>: no such id: 18"));
    CHECK(with("set_parameters_packed", "\x02\x10\x06\0\x10\x06\0"sv, 0) ==
          failed(Exception::config_parse_error, "duplicate id provided: 16"));
    CHECK_FALSE(with("set_parameters_packed", "\x01\x01\0\0"sv, 0).empty());
}

TEST_CASE("wasm parameters have a version and eleven numbers") {
    Host host({.privileged = true});
    CHECK(host.i32("get_wasm_parameters_packed", {kOut, 0, 9}) == 48);
    CHECK(host.i32("get_wasm_parameters_packed", {kOut, 47, 0}) == 48);
    CHECK(host.hex(kOut, 8) == std::string(16, '0'));
    CHECK(host.i32("get_wasm_parameters_packed", {kOut, 48, 0}) == 48);
    CHECK(host.read<uint32_t>(kOut) == 0);
    CHECK(host.read<uint32_t>(kOut + 44) == 251);
    host.write<uint32_t>(kOut + 44, 100);
    REQUIRE(host.call("set_wasm_parameters_packed", {kOut, 48}).has_value());
    CHECK(host.i32("get_wasm_parameters_packed", {kIn, 48, 0}) == 48);
    CHECK(host.read<uint32_t>(kIn + 44) == 100);
}

TEST_CASE("wasm parameters that nothing could satisfy are refused") {
    const auto with = [](uint32_t offset, uint32_t value, uint64_t size = 48) {
        Host host({.privileged = true});
        REQUIRE(host.i32("get_wasm_parameters_packed", {kOut, 48, 0}) == 48);
        host.write(kOut + offset, value);
        CHECK_FALSE(host.call("set_wasm_parameters_packed", {kOut, size}).has_value());
        return host.failure();
    };
    CHECK(with(0, 1) == failed(Exception::wasm_config_unknown_version,
                               "set_wasm_parameters_packed: Unknown version: 1"));
    CHECK(with(44, 1) ==
          failed(Exception::action_validate_exception, "max_call_depth cannot be less than 2"));
    CHECK(with(40, 0) ==
          failed(Exception::action_validate_exception, "max_pages cannot be less than 1"));
    CHECK(with(40, 529) ==
          failed(Exception::action_validate_exception, "max_pages cannot be more than 528"));
    CHECK_FALSE(with(4, 0, 47).empty());
}

TEST_CASE("a schedule is proposed in both layouts") {
    const std::vector entries = {std::pair{"alice"_n, key_of(1)}, std::pair{"bob"_n, key_of(2)}};
    for (const int layout : {0, 1, 2}) {
        CAPTURE(layout);
        Host host({.privileged = true});
        const base::Bytes packed = layout == 2 ? authorities(entries, 1) : producers(entries);
        host.write_bytes(kIn, packed);
        const auto version = layout == 0 ? host.call("set_proposed_producers", {kIn, packed.size()})
                                         : host.call("set_proposed_producers_ex",
                                                     {layout == 2 ? 1U : 0U, kIn, packed.size()});
        REQUIRE(version == uint64_t{1});
        const auto proposed = chain::load_proposed(host.state);
        REQUIRE((proposed && *proposed));
        REQUIRE((*proposed)->entries.size() == 2);
        CHECK((*proposed)->entries[1].producer == "bob"_n);
        CHECK((*proposed)->entries[1].signing_key == key_of(2));
        CHECK((*proposed)->entries[1].vote_key == key_of(2));
    }
}

TEST_CASE("schedules that cannot be are refused") {
    const auto with = [](std::string_view name, uint64_t format, const base::Bytes& packed) {
        Host host({.privileged = true});
        host.write_bytes(kIn, packed);
        if (name == "set_proposed_producers") {
            CHECK_FALSE(host.call(name, {kIn, packed.size()}).has_value());
        } else {
            CHECK_FALSE(host.call(name, {format, kIn, packed.size()}).has_value());
        }
        return host.failure();
    };
    const auto key = key_of(1);
    CHECK(with("set_proposed_producers", 0, producers({{"nobody"_n, key}})) ==
          failed(Exception::wasm_execution_error,
                 "producer schedule includes a nonexisting account"));
    CHECK(with("set_proposed_producers", 0, producers({{"bob"_n, key}, {"bob"_n, key}})) ==
          failed(Exception::wasm_execution_error, "duplicate producer name in producer schedule"));
    CHECK(with("set_proposed_producers_ex", 1, authorities({{"bob"_n, key}}, 0))
              .starts_with(failed(Exception::wasm_execution_error,
                                  "a producer's authority must be one key")));
    CHECK(with("set_proposed_producers_ex", 2, producers({})) ==
          failed(Exception::wasm_execution_error, "Producer schedule is in an unknown format!"));
    chain::PublicKey wrong = key;
    wrong.point.fill(std::byte{0xFF});
    CHECK_FALSE(with("set_proposed_producers", 0, producers({{"bob"_n, wrong}})).empty());
    std::vector<std::pair<chain::Name, chain::PublicKey>> many(126, {"bob"_n, key});
    CHECK(with("set_proposed_producers", 0, producers(many)) ==
          failed(Exception::wasm_execution_error,
                 "Producer schedule exceeds the maximum producer count for this chain"));
}

TEST_CASE("anyone may read who produces, in bytes that are counted as names") {
    Host host;
    const chain::Schedule schedule{
        .version = 3,
        .entries = {{"alice"_n, key_of(1), key_of(1)}, {"bob"_n, key_of(2), key_of(2)}}};
    host.state.put(
        chain::Table::global, chain::global_key(chain::kGlobalSchedule), chain::pack(schedule));
    CHECK(host.i32("get_active_producers", {kOut, 0}) == 16);
    CHECK(host.i32("get_active_producers", {kOut, 16}) == 16);
    CHECK(host.read<uint64_t>(kOut) == kAlice);
    CHECK(host.read<uint64_t>(kOut + 8) == ("bob"_n).value);
    // A length of 9 is room for 72 bytes, of which 9 are copied.
    CHECK(host.i32("get_active_producers", {kOut + 100, 9}) == 9);
    CHECK_FALSE(host.call("get_active_producers", {Host::kMemory - 16, 3}).has_value());
}

TEST_CASE("a read-only transaction changes none of it") {
    const auto refused = [](std::string_view name, std::initializer_list<uint64_t> args) {
        Host host({.privileged = true, .read_only = true});
        CHECK_FALSE(host.call(name, args).has_value());
        return host.failure();
    };
    const auto expected = [](std::string_view name) {
        return failed(Exception::wasm_execution_error,
                      std::string(name) + " not allowed in a readonly transaction");
    };
    CHECK(refused("set_resource_limits", {kAlice, 0, 0, 0}) == expected("set_resource_limits"));
    CHECK(refused("set_privileged", {kAlice, 1}) == expected("set_privileged"));
    CHECK(refused("set_blockchain_parameters_packed", {kIn, 68}) ==
          expected("set_blockchain_parameters_packed"));
    CHECK(refused("set_parameters_packed", {kIn, 1}) == expected("set_parameters_packed"));
    CHECK(refused("set_wasm_parameters_packed", {kIn, 48}) ==
          expected("set_wasm_parameters_packed"));
    CHECK(refused("set_proposed_producers", {kIn, 1}) == expected("set_proposed_producers"));
    CHECK(refused("set_proposed_producers_ex", {0, kIn, 1}) ==
          expected("set_proposed_producers_ex"));
    CHECK(refused("preactivate_feature", {kIn}) == expected("preactivate_feature"));
}
