// What host functions with a price that does not grow may do: nothing that grows. Allocations
// stand for work here, since packing a transaction or writing out keys needs many.
#include "host_fixture.hpp"
#include "tests/allocations.hpp"

using host_test::Host;
using namespace chain::literals;

namespace {

std::size_t allocated_by(Host& host,
                         std::string_view name,
                         std::initializer_list<std::uint64_t> args) {
    REQUIRE(host.call(name, args));  // The first call may fill a cache.
    const auto& function = Host::function(name);
    const std::size_t before = tests::allocations();
    const auto result = host.run(function, std::data(args));
    const std::size_t count = tests::allocations() - before;
    REQUIRE(result);
    return count;
}

}  // namespace

TEST_CASE("asking for the transaction's or an action's size packs nothing") {
    chain::Action large{"contract"_n, "act"_n, {}, base::Bytes(100'000)};
    large.authorization.resize(4'000, {"alice"_n, "active"_n});
    Host host({.action = large});
    const auto packed = static_cast<std::int32_t>(chain::pack(large).size());
    CHECK(host.i32("get_action", {1, 0, 0, 0}) == packed);
    CHECK(host.i32("transaction_size") ==
          static_cast<std::int32_t>(chain::pack(host.transaction->transaction()).size()));
    CHECK(allocated_by(host, "transaction_size", {}) == 0);
    CHECK(allocated_by(host, "read_transaction", {1'000, 100}) == 0);
    CHECK(allocated_by(host, "get_action", {1, 0, 1'000, 100}) == 0);
    CHECK(allocated_by(host, "has_auth", {"bob"_n.value}) == 0);
}

TEST_CASE("a refused permission check writes no text that nobody reads") {
    Host host;
    base::Writer keys;
    constexpr std::uint32_t kKeys = 3'000;
    keys.varuint32(kKeys);
    for (std::uint32_t i = 0; i < kKeys; ++i) {
        chain::PublicKey key;
        key.point[0] = std::byte{2};
        key.point[32] = static_cast<std::byte>(i);
        key.point[31] = static_cast<std::byte>(i >> 8U);
        base::crypto::encode(keys, key);
    }
    host.write_bytes(10'000, keys.view());
    chain::SignedTransaction transaction;
    transaction.actions = {{"other"_n, "act"_n, {{"alice"_n, "active"_n}}, {}}};
    chain::PermissionRow row;
    row.authority.threshold = 1;
    row.authority.accounts = {{{"bob"_n, "active"_n}, 1}};
    host.state.put(
        chain::Table::permission, chain::permission_key({"alice"_n, "active"_n}), chain::pack(row));
    const base::Bytes packed = chain::pack(static_cast<const chain::Transaction&>(transaction));
    host.write_bytes(1'000, packed);
    CHECK(host.i32("check_transaction_authorization",
                   {1'000, packed.size(), 10'000, keys.view().size(), 0, 0}) == 0);
    CHECK(allocated_by(host,
                       "check_transaction_authorization",
                       {1'000, packed.size(), 10'000, keys.view().size(), 0, 0}) < 100);
}
