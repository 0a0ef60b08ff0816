// Whether keys and permissions would do, and what is known of accounts and permissions.
#include "host_fixture.hpp"

using chain::Exception;
using host_test::failed;
using host_test::Host;
using namespace chain::literals;

namespace {

using std::uint32_t;
using std::uint64_t;

constexpr uint32_t kTransaction = 1000;
constexpr uint32_t kKeys = 4000;
constexpr uint32_t kLevels = 6000;
constexpr uint64_t kAlice = ("alice"_n).value;
constexpr uint64_t kActive = ("active"_n).value;

chain::PublicKey key_of(int seed) {
    std::array<std::byte, 32> secret{};
    secret.fill(static_cast<std::byte>(seed));
    return base::crypto::PrivateKey(base::crypto::KeyType::k1, secret).public_key();
}

template <class T>
base::Bytes packed_list(const std::vector<T>& items) {
    base::Writer out;
    chain::encode_list(out, items);
    return out.take();
}

// alice@active: key 1 alone, or bob@active with a wait of ten seconds. bob@active: key 2.
struct Checked : Host {
    Checked() {
        chain::PermissionRow alice;
        alice.parent = "owner"_n;
        alice.last_used = {111};
        alice.authority.threshold = 2;
        alice.authority.keys = {{key_of(1), 2}};
        alice.authority.accounts = {{{"bob"_n, "active"_n}, 1}};
        alice.authority.waits = {{10, 1}};
        put({"alice"_n, "active"_n}, alice);
        alice.authority = chain::Authority::of_key(key_of(3));
        alice.parent = {};
        put({"alice"_n, "owner"_n}, alice);
        chain::PermissionRow bob;
        bob.authority = chain::Authority::of_key(key_of(2));
        put({"bob"_n, "active"_n}, bob);
    }

    void put(chain::PermissionLevel level, const chain::PermissionRow& row) {
        state.put(chain::Table::permission, chain::permission_key(level), chain::pack(row));
    }

    std::int32_t permission(const std::vector<chain::PublicKey>& keys,
                            const std::vector<chain::PermissionLevel>& levels,
                            uint64_t delay) {
        const base::Bytes key_bytes = packed_list(keys);
        const base::Bytes level_bytes = packed_list(levels);
        write_bytes(kKeys, key_bytes);
        write_bytes(kLevels, level_bytes);
        return i32("check_permission_authorization",
                   {kAlice,
                    kActive,
                    kKeys,
                    keys.empty() ? 0 : key_bytes.size(),
                    kLevels,
                    levels.empty() ? 0 : level_bytes.size(),
                    delay});
    }

    std::int32_t transaction_ok(const std::vector<chain::PublicKey>& keys) {
        chain::Transaction wanted;
        wanted.actions = {{"contract"_n, "act"_n, {{"alice"_n, "active"_n}}, {}}};
        const base::Bytes bytes_in = chain::pack(wanted);
        const base::Bytes key_bytes = packed_list(keys);
        write_bytes(kTransaction, bytes_in);
        write_bytes(kKeys, key_bytes);
        return i32("check_transaction_authorization",
                   {kTransaction,
                    bytes_in.size(),
                    kKeys,
                    keys.empty() ? 0 : key_bytes.size(),
                    kLevels,
                    0});
    }
};

}  // namespace

TEST_CASE("keys satisfy a permission or not") {
    Checked host;
    CHECK(host.permission({key_of(1)}, {}, 0) == 1);
    CHECK(host.permission({key_of(2)}, {}, 0) == 0);
    CHECK(host.permission({}, {}, 0) == 0);
    CHECK(host.failure().empty());
}

TEST_CASE("permissions and a delay satisfy one too") {
    Checked host;
    CHECK(host.permission({}, {{"bob"_n, "active"_n}}, 0) == 0);
    CHECK(host.permission({}, {{"bob"_n, "active"_n}}, 10'000'000) == 1);
    CHECK(host.permission({}, {{"bob"_n, "active"_n}}, 9'999'999) == 0);
    CHECK(host.permission({key_of(2)}, {}, 10'000'000) == 1);
}

TEST_CASE("a key given twice is a key") {
    Checked host;
    CHECK(host.permission({key_of(1), key_of(1)}, {}, 0) == 1);
}

TEST_CASE("a delay has a largest value") {
    Checked host;
    CHECK_FALSE(host.call("check_permission_authorization",
                          {kAlice, kActive, kKeys, 0, kLevels, 0, uint64_t{1} << 63U})
                    .has_value());
    CHECK(host.failure() ==
          failed(Exception::action_validate_exception, "provided delay is too large"));
}

TEST_CASE("keys satisfy a transaction or not") {
    Checked host;
    CHECK(host.transaction_ok({key_of(1)}) == 1);
    CHECK(host.transaction_ok({key_of(2)}) == 0);
    CHECK(host.transaction_ok({key_of(3)}) == 0);
    // A key that is not needed.
    CHECK(host.transaction_ok({key_of(1), key_of(2)}) == 0);
    CHECK(host.failure().empty());
}

TEST_CASE("what does not decode fails the action") {
    Checked host;
    CHECK_FALSE(
        host.call("check_transaction_authorization", {kTransaction, 5, kKeys, 0, kLevels, 0})
            .has_value());
    CHECK_FALSE(host.failure().empty());
    Checked keys;
    keys.write<std::uint8_t>(kKeys, 3);
    CHECK_FALSE(
        keys.call("check_permission_authorization", {kAlice, kActive, kKeys, 10, kLevels, 0, 0})
            .has_value());
    CHECK_FALSE(keys.failure().empty());
}

TEST_CASE("when a permission was used last") {
    Checked host;
    CHECK(host.call("get_permission_last_used", {kAlice, ("owner"_n).value}) == uint64_t{111});
    // Of active it is kept with the account.
    host.transaction->change_account("alice"_n).active_last_used = {222};
    CHECK(host.call("get_permission_last_used", {kAlice, kActive}) == uint64_t{222});
    CHECK_FALSE(host.call("get_permission_last_used", {kAlice, ("nosuch"_n).value}).has_value());
    CHECK(host.failure().starts_with(
        "3060001 Failed to retrieve permission: {\"actor\":\"alice\",\"permission\":\"nosuch\"}"));
}

TEST_CASE("when an account was made") {
    Host host;
    CHECK(host.call("get_account_creation_time", {kAlice}) == uint64_t{1'700'000'000'000'000});
    CHECK_FALSE(host.call("get_account_creation_time", {("nobody"_n).value}).has_value());
    CHECK(host.failure() ==
          failed(Exception::action_validate_exception, "account 'nobody' does not exist"));
}

TEST_CASE("looking through authorities is paid for") {
    Host host({.units = 21'000});
    CHECK_FALSE(
        host.call("check_permission_authorization", {kAlice, kActive, kKeys, 5'000, kLevels, 0, 0})
            .has_value());
    CHECK(host.meter.exhausted());
}
