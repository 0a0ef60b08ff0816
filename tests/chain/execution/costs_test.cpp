// What is paid, and when: work that grows with a transaction, its actions and its authorizations
// has a price that grows with it, and is paid before the work. The tests compare units, never
// times.
#include "chain_fixture.hpp"
#include "host_fixture.hpp"

#include <catch2/catch.hpp>

using namespace chain;
using namespace chain::test;
using host_test::Host;

namespace {

const PriceTable kPrices;

// So that receipts tell what was used.
TestChain::Options no_minimum() {
    TestChain::Options options = TestChain::open_options();
    options.config.min_transaction_cpu_usage = 0;
    return options;
}

Action reqauth(std::string_view actor, std::string_view permission = "active") {
    return TestChain::action("eosio", "reqauth", actor, data(name(actor)), permission);
}

std::uint64_t cpu_of(const TransactionResult& result) {
    INFO(failure_of(result).text);
    REQUIRE(result.succeeded());
    return result.trace.receipt->cpu_usage_us;
}

// Microseconds of so many units, rounded up.
std::uint64_t us(std::uint64_t units) {
    return (units + 999) / 1'000;
}

// Permissions in the order in which authorities have them.
Authority of_accounts(std::size_t count) {
    Authority authority;
    authority.threshold = static_cast<std::uint32_t>(count);
    for (std::size_t i = 0; i < count; ++i) {
        authority.accounts.push_back({{name("eosio"), Name{(i + 1) << 40U}}, 1});
    }
    return authority;
}

void put(TestChain& chain, PermissionLevel level, const Authority& authority) {
    const PermissionRow row{
        .parent = name("owner"), .last_updated = {}, .last_used = {}, .authority = authority};
    put_permission(chain.state(), level, &row);
}

}  // namespace

TEST_CASE("each action of a transaction is paid, with its data and its levels") {
    TestChain chain(no_minimum());
    REQUIRE(chain.create("alice").succeeded());
    const auto cost_of = [&chain](std::vector<Action> actions) {
        return cpu_of(chain.push(std::move(actions), {"alice"}));
    };
    const Action empty{name("alice"), name("act"), {{name("alice"), name("active")}}, {}};
    const std::uint64_t one = cost_of({empty});
    // The bytes of the transaction itself are paid, too: 34 for each.
    const std::uint64_t hundred = cost_of(std::vector<Action>(101, empty)) - one;
    const std::uint64_t expected =
        100 * (kPrices[Cost::action].base + kPrices[Cost::authorization].base) +
        kPrices[Cost::transaction].kibibyte * 3'400 / 1'024;
    CHECK(hundred + 1 >= us(expected));
    CHECK(hundred <= us(expected) + 1);

    Action large = empty;
    large.data.resize(100 * 1'024);
    const std::uint64_t more = cost_of({large}) - one;
    CHECK(more + 1 >=
          us(100 * (kPrices[Cost::action].kibibyte + kPrices[Cost::transaction].kibibyte)));
}

TEST_CASE("each account that authorizes pays for its rows, once") {
    TestChain chain(no_minimum());
    for (const char* account : {"alice", "bob", "carol"})
        REQUIRE(chain.create(account).succeeded());
    const auto cost_of = [&chain](const std::vector<std::string>& actors) {
        Action action{name("alice"), name("act"), {}, {}};
        for (const std::string& actor : actors)
            action.authorization.push_back({name(actor), name("active")});
        return cpu_of(chain.push(std::vector<Action>(2, action), {"alice", "bob", "carol"}));
    };
    const std::uint64_t three = cost_of({"alice", "bob", "carol"});
    chain.next_block();
    CHECK(three >= us(3 * kPrices[Cost::signature].base + 2 * kPrices[Cost::action].base +
                      6 * kPrices[Cost::authorization].base + 4 * kPrices[Cost::state].base +
                      2 * kPrices[Cost::row_write].base));
}

TEST_CASE("a row pays for its bytes when it is found, replaced and removed") {
    constexpr std::uint64_t kTable = "t"_n.value;
    constexpr std::uint64_t kRow = 100 * 1'024;
    Host host;
    const auto used_by = [&host](std::string_view function,
                                 std::initializer_list<std::uint64_t> args) {
        const std::uint64_t before = host.meter.remaining();
        REQUIRE(host.call(function, args));
        return before - host.meter.remaining();
    };
    REQUIRE(host.call("db_store_i64", {0, kTable, "alice"_n.value, 1, 0, kRow}));
    REQUIRE(host.call("db_store_i64", {0, kTable, "alice"_n.value, 2, 0, kRow}));
    const std::uint64_t code = "contract"_n.value;
    const std::uint64_t found = 100 * kPrices[Cost::state].kibibyte;
    const std::uint64_t searched = 100 * kPrices[Cost::iterate].kibibyte;
    const std::uint64_t written = 100 * kPrices[Cost::row_write].kibibyte;
    CHECK(used_by("db_find_i64", {code, 0, kTable, 1}) > found);
    CHECK(used_by("db_find_i64", {code, 0, kTable, 3}) < found);
    CHECK(used_by("db_lowerbound_i64", {code, 0, kTable, 1}) > searched);
    CHECK(used_by("db_upperbound_i64", {code, 0, kTable, 1}) > searched);
    CHECK(used_by("db_next_i64", {0, 8}) > searched);
    CHECK(used_by("db_previous_i64", {1, 8}) > searched);
    CHECK(used_by("db_update_i64", {0, 0, 0, 1}) > written);
    CHECK(used_by("db_update_i64", {0, 0, 0, 1}) < written);
    CHECK(used_by("db_remove_i64", {1}) > written);
}

TEST_CASE("actions and authorizations are paid before any account is looked up") {
    TestChain chain(no_minimum());
    // None of these accounts exists: whoever looks first says so.
    const Action unknown{name("nobody"), name("act"), {{name("nobody"), name("active")}}, {}};
    CHECK(failure_of(chain.push({unknown}, {"eosio"})).text.find("does not exist") !=
          std::string::npos);
    Action many = unknown;
    many.authorization.resize(4'000, many.authorization[0]);
    SignedTransaction transaction = chain.make(std::vector<Action>(20, many));
    transaction.max_cpu_usage_ms = 50;
    CHECK(failure_of(chain.push(transaction, {"eosio"})).code == 3080004);
}

TEST_CASE("a compressed transaction pays for what it holds, not for what it weighs") {
    TestChain chain(no_minimum());
    REQUIRE(chain.create("alice").succeeded());
    Action large{name("alice"), name("act"), {{name("alice"), name("active")}}, {}};
    large.data.resize(300 * 1'024);
    const auto price = [&](Compression compression) {
        SignedTransaction transaction = chain.make({large});
        transaction.max_net_usage_words = 0;
        transaction.signatures.resize(1);
        transaction.signatures[0].compact[0] = std::byte{31};
        const TransactionPtr decoded = make_transaction(transaction, compression);
        const TransactionPtr again = decode_transaction(decoded->packed).value();
        CHECK(again->plain_bytes == decoded->plain_bytes);
        return cpu_of(chain.executor().execute(
            {*again, {public_key("alice")}}, chain.state(), chain.block(), {}));
    };
    CHECK(price(Compression::zlib) == price(Compression::none));
}

TEST_CASE("checking authority takes no more than the transaction's form has paid") {
    TestChain chain(no_minimum());
    REQUIRE(chain.create("alice").succeeded());
    const PermissionLevel level{name("alice"), name("active")};
    put(chain, level, of_accounts(20));
    CHECK(failure_of(chain.push(reqauth("alice"), {"alice"})).code == 3090003);
    put(chain, level, of_accounts(1'000));
    const Failure refused = failure_of(chain.push(reqauth("alice"), {"alice"}));
    CHECK(refused.code == 3080004);
    CHECK(refused.text.find("the declared permissions take more than") != std::string::npos);
    CHECK(refused.text.find("use permissions with fewer accounts and keys") != std::string::npos);
}

TEST_CASE("whoever skips signatures and authority bills the same") {
    TestChain first(no_minimum());
    TestChain second(no_minimum());
    const std::uint64_t checked = cpu_of(first.push(reqauth("eosio"), {"eosio"}));
    ExecutionOptions options;
    options.skip_authorization = true;
    options.expected_cpu_us = static_cast<std::uint32_t>(checked);
    CHECK(cpu_of(second.push(second.make({reqauth("eosio")}), {"eosio"}, options)) == checked);
}

TEST_CASE("using a large permission pays for the row that it changes") {
    TestChain chain(no_minimum());
    REQUIRE(chain.create("alice").succeeded());
    Authority large = Authority::of_key(public_key("alice"));
    for (int i = 0; i < 900; ++i) {
        large.waits.push_back({static_cast<std::uint32_t>(i + 1), 1});
    }
    const auto use = [&chain](std::string_view permission) {
        chain.state().put(Table::permission_link,
                          link_key({name("alice"), name("eosio"), name("reqauth")}),
                          encode_u64(name(permission).value));
        return cpu_of(chain.push(reqauth("alice", permission), {"alice"}));
    };
    put(chain, {name("alice"), name("small")}, Authority::of_key(public_key("alice")));
    put(chain, {name("alice"), name("large")}, large);
    const std::uint64_t small = use("small");
    const std::uint64_t used = use("large");
    CHECK(used >= small + us(5 * kPrices[Cost::row_write].kibibyte));
    // In the same block its row is not written again.
    CHECK(use("large") < small);
}

TEST_CASE("deleteauth pays for each link that it looks at") {
    const auto cost_with = [](int links) {
        TestChain chain(no_minimum());
        REQUIRE(chain.create("alice").succeeded());
        put(chain, {name("alice"), name("old")}, Authority::of_key(public_key("alice")));
        for (int i = 0; i < links; ++i) {
            const Name code{static_cast<std::uint64_t>(i + 1) << 40U};
            chain.state().put(Table::permission_link,
                              link_key({name("alice"), code, Name{}}),
                              encode_u64(name("active").value));
        }
        return cpu_of(chain.push(
            TestChain::action(
                "eosio", "deleteauth", "alice", data(name("alice"), name("old")), "owner"),
            {"alice"}));
    };
    const std::uint64_t few = cost_with(1);
    CHECK(cost_with(1'001) + 1 >= few + us(1'000 * kPrices[Cost::iterate].base));
}

TEST_CASE("a notification pays as a run of the action does, and only once for an account") {
    Action large{"contract"_n, "act"_n, {}, base::Bytes(10 * 1'024)};
    large.authorization.resize(100, {"alice"_n, "active"_n});
    const auto used_by = [](Host& host, std::uint64_t account) {
        const std::uint64_t before = host.transaction->meter().remaining();
        REQUIRE(host.call("require_recipient", {account}));
        return before - host.transaction->meter().remaining();
    };
    Host host({.action = large});
    CHECK(used_by(host, "bob"_n.value) == run_price(kPrices, large));
    CHECK(run_price(kPrices, large) ==
          kPrices[Cost::action].of(10 * 1'024) + 100 * kPrices[Cost::authorization].base);
    CHECK(used_by(host, "bob"_n.value) == 0);
    host.transaction->meter() = vm::Meter(run_price(kPrices, large) - 1);
    CHECK_FALSE(host.call("require_recipient", {"other"_n.value}));
    CHECK_FALSE(host.context->has_recipient("other"_n));
}

TEST_CASE("an inline action pays for its run before its levels are looked up") {
    for (const bool context_free : {false, true}) {
        Host host({.privileged = true});
        Action action{"other"_n, "act"_n, {}, base::Bytes(5'000)};
        if (!context_free) action.authorization.resize(10, {"nobody"_n, "active"_n});
        const base::Bytes packed = pack(action);
        host.write_bytes(1'000, packed);
        host.transaction->meter() = vm::Meter(run_price(kPrices, action) - 1);
        CHECK_FALSE(host.call(context_free ? "send_context_free_inline" : "send_inline",
                              {1'000, packed.size()}));
        CHECK(host.failure().starts_with("3080004"));
    }
}

TEST_CASE("a return value pays as an action's data does") {
    Host host({.read_only = true});
    const std::uint64_t before = host.transaction->meter().remaining();
    REQUIRE(host.call("set_action_return_value", {0, 20 * 1'024}));
    CHECK(before - host.transaction->meter().remaining() == 20 * kPrices[Cost::action].kibibyte);
}

TEST_CASE("authorizations are found among few and among many") {
    for (const std::size_t count : {std::size_t{2}, std::size_t{4'000}}) {
        Action action{"contract"_n, "act"_n, {}, {}};
        for (std::size_t i = count; i > 0; --i) {
            action.authorization.push_back({Name{i * 1'000}, Name{7}});
        }
        Host host({.action = action});
        CHECK(host.i32("has_auth", {1'000}) == 1);
        CHECK(host.i32("has_auth", {count * 1'000}) == 1);
        CHECK(host.i32("has_auth", {1'001}) == 0);
        CHECK(host.i32("has_auth", {999}) == 0);
        CHECK(host.i32("has_auth", {count * 1'000 + 1}) == 0);
        CHECK(host.call("require_auth2", {2'000, 7}));
        CHECK_FALSE(host.call("require_auth2", {2'000, 8}));
    }
}

TEST_CASE("a text is searched no further than its units reach") {
    Host host;
    std::ranges::fill(host.bytes, std::byte{'x'});  // No zero anywhere.
    host.meter = vm::Meter(kPrices[Cost::text].of(10'000));
    CHECK_FALSE(host.call("eosio_assert", {1, 0}));
    CHECK(host.meter.exhausted());
    // Who can pay for all of it learns that it has no end.
    Host rich;
    std::ranges::fill(rich.bytes, std::byte{'x'});
    const std::uint64_t before = rich.meter.remaining();
    CHECK_FALSE(rich.call("eosio_assert", {1, 0}));
    CHECK(before - rich.meter.remaining() >= kPrices[Cost::text].of(Host::kMemory));
    CHECK(rich.failure().find("access violation") != std::string::npos);
}

TEST_CASE("setting code pays for compiling it by the byte, and for the row that it replaces") {
    TestChain chain(no_minimum());
    REQUIRE(chain.create("alice").succeeded());
    const base::Bytes code = read_contract("contracts", "token");
    const std::uint64_t set = cpu_of(chain.set_code("alice", code));
    CHECK(set >=
          us(kPrices[Cost::load].of(code.size()) + kPrices[Cost::row_write].of(code.size())));
    CHECK(chain.account("alice").code_bytes == code.size());
    const std::uint64_t cleared = cpu_of(chain.set_code("alice", {}));
    // Beside what any such transaction pays.
    CHECK(cleared >= us(kPrices[Cost::row_write].of(code.size()) + kPrices[Cost::row_write].base +
                        kPrices[Cost::native].base + kPrices[Cost::action].base +
                        kPrices[Cost::signature].base + kPrices[Cost::transaction].base));
    CHECK(chain.account("alice").code_bytes == 0);
}
