// Primary tables: what each function answers and refuses, who pays, and a random walk beside a
// model. Iterators are the numbers that nodeos would give.
#include "base/rng.hpp"
#include "host_fixture.hpp"
#include "host_model.hpp"

using chain::Exception;
using host_test::failed;
using host_test::Host;
using namespace chain::literals;

namespace {

using std::int32_t;
using std::uint32_t;
using std::uint64_t;

constexpr uint32_t kIn = 1000;
constexpr uint32_t kOut = 2000;
constexpr uint64_t kContract = ("contract"_n).value;
constexpr uint64_t kOther = ("other"_n).value;
constexpr uint64_t kAlice = ("alice"_n).value;
constexpr uint64_t kBob = ("bob"_n).value;
constexpr uint64_t kTable = ("table"_n).value;

int32_t store(Host& host, uint64_t id, std::string_view value, uint64_t payer = kAlice) {
    host.write_text(kIn, value);
    return host.i32("db_store_i64", {1, kTable, payer, id, kIn, value.size()});
}
int32_t find(Host& host, uint64_t id) {
    return host.i32("db_find_i64", {kContract, 1, kTable, id});
}
std::string get(Host& host, int32_t iterator) {
    const int32_t size = host.i32("db_get_i64", {static_cast<uint32_t>(iterator), kOut, 1000});
    return std::string(base::as_text(base::ByteView(host.bytes).subspan(kOut)))
        .substr(0, static_cast<std::size_t>(size));
}
std::uint64_t ram(Host& host, chain::Name account) {
    return host.transaction->find_account(account)->ram_usage;
}
uint32_t slot(int32_t iterator) {
    return static_cast<uint32_t>(iterator);
}

}  // namespace

TEST_CASE("a stored row is found and read") {
    Host host;
    CHECK(find(host, 7) == -1);
    CHECK(store(host, 7, "seven") == 0);
    CHECK(find(host, 7) == 0);
    CHECK(find(host, 8) == -2);
    CHECK(get(host, 0) == "seven");
    CHECK(host.i32("db_get_i64", {0, kOut, 0}) == 5);
    CHECK(host.i32("db_get_i64", {0, kOut + 100, 3}) == 3);
    CHECK(host.hex(kOut + 100, 4) == "73657600");
    CHECK(host.i32("db_end_i64", {kContract, 1, kTable}) == -2);
    CHECK(host.i32("db_end_i64", {kContract, 2, kTable}) == -1);
}

TEST_CASE("a row can be empty") {
    Host host;
    CHECK(store(host, 7, "") == 0);
    CHECK(get(host, 0).empty());
}

TEST_CASE("an id is stored once") {
    Host host;
    store(host, 7, "seven");
    CHECK_FALSE(host.call("db_store_i64", {1, kTable, kAlice, 7, kIn, 5}).has_value());
    CHECK(host.failure().find("uniqueness constraint was violated") != std::string::npos);
}

TEST_CASE("a row needs a payer, who must exist") {
    Host host;
    CHECK_FALSE(host.call("db_store_i64", {1, kTable, 0, 7, kIn, 5}).has_value());
    CHECK(host.failure() == failed(Exception::invalid_table_payer,
                                   "must specify a valid account to pay for new record"));
    Host other;
    CHECK_FALSE(other.call("db_store_i64", {1, kTable, ("nobody"_n).value, 7, kIn, 5}).has_value());
    CHECK(other.failure() == failed(Exception::account_query_exception,
                                    "cannot bill RAM to account nobody, which does not exist"));
}

TEST_CASE("rows cost their payers bytes, and the table its first payer") {
    Host host;
    store(host, 7, "seven");
    CHECK(ram(host, "alice"_n) == 112 + 112 + 5);
    store(host, 8, "eight", kBob);
    CHECK(ram(host, "bob"_n) == 112 + 5);
    host.write_text(kIn, "longer than seven");
    CHECK(host.call("db_update_i64", {0, 0, kIn, 17}).has_value());
    CHECK(ram(host, "alice"_n) == 112 + 112 + 17);
    CHECK(host.call("db_update_i64", {0, kBob, kIn, 1}).has_value());
    CHECK(ram(host, "alice"_n) == 112);
    CHECK(ram(host, "bob"_n) == 112 + 5 + 112 + 1);
    CHECK(host.call("db_remove_i64", {0}).has_value());
    CHECK(host.call("db_remove_i64", {1}).has_value());
    CHECK(ram(host, "alice"_n) == 0);
    CHECK(ram(host, "bob"_n) == 0);
    CHECK(host.i32("db_end_i64", {kContract, 1, kTable}) == -1);
}

TEST_CASE("an update replaces the value and keeps the iterator") {
    Host host;
    store(host, 7, "seven");
    CHECK(get(host, 0) == "seven");
    host.write_text(kIn, "new");
    REQUIRE(host.call("db_update_i64", {0, 0, kIn, 3}).has_value());
    CHECK(get(host, 0) == "new");
    CHECK(find(host, 7) == 0);
}

TEST_CASE("only the contract itself writes its tables, anyone reads them") {
    Host host;
    const chain::TableId foreign{"other"_n, chain::Name{1}, "table"_n};
    host.state.put(chain::Table::contract_table,
                   chain::table_key(foreign),
                   chain::encode_table({"other"_n, 1}));
    host.state.put(chain::Table::contract_row,
                   chain::row_key(foreign, 5),
                   chain::encode_row("other"_n, base::as_bytes("theirs")));
    CHECK(host.i32("db_find_i64", {kOther, 1, kTable, 5}) == 0);
    CHECK(get(host, 0) == "theirs");
    const std::string expected = failed(Exception::table_access_violation, "db access violation");
    SECTION("update") {
        CHECK_FALSE(host.call("db_update_i64", {0, 0, kIn, 3}).has_value());
        CHECK(host.failure() == expected);
    }
    SECTION("remove") {
        CHECK_FALSE(host.call("db_remove_i64", {0}).has_value());
        CHECK(host.failure() == expected);
    }
}

TEST_CASE("iterators that stand for no row are refused") {
    const auto after = [](std::string_view name, uint32_t iterator, bool removed = false) {
        Host host;
        store(host, 7, "seven");
        if (removed) REQUIRE(host.call("db_remove_i64", {0}).has_value());
        if (name == "db_get_i64") CHECK_FALSE(host.call(name, {iterator, kOut, 4}).has_value());
        if (name == "db_next_i64" || name == "db_previous_i64") {
            CHECK_FALSE(host.call(name, {iterator, kOut}).has_value());
        }
        if (name == "db_update_i64") CHECK_FALSE(host.call(name, {iterator, 0, kIn, 1}));
        if (name == "db_remove_i64") CHECK_FALSE(host.call(name, {iterator}).has_value());
        return host.failure();
    };
    for (const char* name :
         {"db_get_i64", "db_update_i64", "db_remove_i64", "db_next_i64", "db_previous_i64"}) {
        CAPTURE(name);
        CHECK(after(name, slot(-1)) ==
              failed(Exception::invalid_table_iterator, "invalid iterator"));
        CHECK(after(name, 1) == failed(Exception::invalid_table_iterator, "iterator out of range"));
        CHECK(after(name, 0, true) ==
              failed(Exception::table_operation_not_permitted, "dereference of deleted object"));
    }
    for (const char* name : {"db_get_i64", "db_update_i64", "db_remove_i64"}) {
        CHECK(after(name, slot(-2)) ==
              failed(Exception::table_operation_not_permitted, "dereference of end iterator"));
    }
    CHECK(after("db_previous_i64", slot(-3)) ==
          failed(Exception::invalid_table_iterator, "not a valid end iterator"));
}

TEST_CASE("there is no way forward from an end, and one back") {
    Host host;
    store(host, 7, "seven");
    CHECK(host.i32("db_next_i64", {slot(-2), kOut}) == -1);
    CHECK(host.i32("db_next_i64", {slot(-99), kOut}) == -1);
    CHECK(host.i32("db_next_i64", {0, kOut}) == -2);
    CHECK(host.read<uint64_t>(kOut) == 0);  // Left alone.
    CHECK(host.i32("db_previous_i64", {slot(-2), kOut}) == 0);
    CHECK(host.read<uint64_t>(kOut) == 7);
    CHECK(host.i32("db_previous_i64", {0, kOut}) == -1);
}

TEST_CASE("tables beside each other do not mix") {
    Host host;
    store(host, 7, "seven");
    REQUIRE(host.call("db_store_i64", {1, kTable + 1, kAlice, 1, kIn, 1}).has_value());
    REQUIRE(host.call("db_store_i64", {0, kTable, kAlice, ~uint64_t{0}, kIn, 1}).has_value());
    CHECK(host.i32("db_upperbound_i64", {kContract, 1, kTable, 7}) == -2);
    CHECK(host.i32("db_next_i64", {0, kOut}) == -2);
    CHECK(host.i32("db_previous_i64", {0, kOut}) == -1);
    CHECK(host.i32("db_previous_i64", {slot(-2), kOut}) == 0);
}

TEST_CASE("the largest id is an id like any other") {
    Host host;
    const uint64_t largest = ~uint64_t{0};
    CHECK(store(host, largest, "max") == 0);
    CHECK(host.i32("db_lowerbound_i64", {kContract, 1, kTable, largest}) == 0);
    CHECK(host.i32("db_upperbound_i64", {kContract, 1, kTable, largest}) == -2);
    CHECK(host.i32("db_next_i64", {0, kOut}) == -2);
    CHECK(host.i32("db_previous_i64", {slot(-2), kOut}) == 0);
}

TEST_CASE("a table that went and came back has another end") {
    Host host;
    store(host, 7, "seven");
    REQUIRE(host.call("db_remove_i64", {0}).has_value());
    CHECK(find(host, 7) == -1);
    CHECK(store(host, 7, "again") == 1);
    CHECK(find(host, 8) == -3);
    CHECK(host.i32("db_previous_i64", {slot(-2), kOut}) == -1);
    CHECK(host.i32("db_previous_i64", {slot(-3), kOut}) == 1);
}

TEST_CASE("an index and a table of the same name share their count of rows") {
    Host host;
    host.write<uint64_t>(kIn, 42);
    REQUIRE(host.call("db_idx64_store", {1, kTable, kAlice, 7, kIn}).has_value());
    CHECK(store(host, 7, "seven") == 0);
    CHECK(ram(host, "alice"_n) == 112 + 128 + 112 + 5);
    REQUIRE(host.call("db_remove_i64", {0}).has_value());
    // The index still holds the table.
    CHECK(host.i32("db_end_i64", {kContract, 1, kTable}) == -2);
    REQUIRE(host.call("db_idx64_remove", {0}).has_value());
    CHECK(host.i32("db_end_i64", {kContract, 1, kTable}) == -1);
    CHECK(ram(host, "alice"_n) == 0);
}

TEST_CASE("rows have a largest size") {
    Host host;
    const uint64_t size = 1024 * 1024 + 1;
    host.bytes.resize(20 * 65'536);
    chain::vm::Memory larger(host.bytes);
    const auto& function = chain::host_table().at(*chain::host_table().find("db_store_i64"));
    uint64_t result = 0;
    const std::array<uint64_t, 6> args{1, kTable, kAlice, 7, 0, size};
    CHECK_FALSE(function.call(*host.context, larger, host.meter, args.data(), &result));
    CHECK(host.failure() ==
          failed(Exception::db_api_exception,
                 "a table row of 1048577 bytes exceeds the limit of 1048576 bytes"));
}

TEST_CASE("a read-only transaction reads and does not write") {
    const auto after = [](std::string_view name, std::initializer_list<uint64_t> args) {
        Host host({.read_only = true});
        CHECK_FALSE(host.call(name, args).has_value());
        return host.failure();
    };
    const auto text = [](std::string_view verb) {
        return failed(
            Exception::table_operation_not_permitted,
            "cannot " + std::string(verb) + " a db record when executing a readonly transaction");
    };
    CHECK(after("db_store_i64", {1, kTable, kAlice, 7, kIn, 5}) == text("store"));
    CHECK(after("db_update_i64", {0, 0, kIn, 5}) == text("update"));
    CHECK(after("db_remove_i64", {0}) == text("remove"));
    CHECK(after("db_idx64_store", {1, kTable, kAlice, 7, kIn}) == text("store"));
    CHECK(after("db_idx64_update", {0, 0, kIn}) == text("update"));
    CHECK(after("db_idx64_remove", {0}) == text("remove"));
    Host host({.read_only = true});
    CHECK(find(host, 7) == -1);
}

TEST_CASE("a context-free action has no database") {
    Host host({.context_free = true});
    CHECK_FALSE(host.call("db_find_i64", {kContract, 1, kTable, 7}).has_value());
    CHECK(host.failure() == failed(Exception::unaccessible_api,
                                   "only context free api's can be used in this context"));
}

TEST_CASE("primary tables agree with a model over random calls") {
    for (const uint64_t seed : {1U, 2U, 3U}) {
        host_test::PrimaryWalk walk(seed);
        for (int i = 0; i < 4'000; ++i)
            walk.step();
        walk.check_ram();
    }
}
