// The contracts of the recordings make the rows that nodeos' contracts made.
#include "ledger.hpp"
#include "tests/support/paths.hpp"

#include <nlohmann/json.hpp>

namespace {

using support::Arguments;
using support::Ledger;
using namespace chain::literals;  // NOLINT(google-build-using-namespace): for names.

nlohmann::json recorded(const std::string& name) {
    std::ifstream in(tests::data_dir() + "/vectors/http/" + name + ".json");
    REQUIRE(in.good());
    return nlohmann::json::parse(in);
}

}  // namespace

TEST_CASE("get_table_test packs its rows as recorded") {
    Ledger ledger;
    const chain::Name account = "tabtest"_n;
    ledger.deploy(account, "get_table_test");
    const std::uint64_t inputs[] = {2, 5, 7, 0, 4294967296, 9007199254740993, 9223372036854775808U};
    for (const std::uint64_t input : inputs) {
        Ledger::require_success(
            ledger.push(account, "addnumobj"_n, account, Arguments().integer(input)));
    }
    const nlohmann::json rows =
        recorded("0322-chain-get_table_rows-json-false")["response"]["rows"];
    REQUIRE(rows.size() == std::size(inputs));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK(ledger.row(account, account.value, "numobjs"_n, i) == rows[i].get<std::string>());
    }
    Ledger::require_success(
        ledger.push(account, "modifynumobj"_n, account, Arguments().integer(std::uint64_t{0})));
    Ledger::require_success(
        ledger.push(account, "erasenumobj"_n, account, Arguments().integer(std::uint64_t{1})));
    CHECK(ledger.row(account, account.value, "numobjs"_n, 0).substr(16, 2) == "03");
    CHECK(ledger.row(account, account.value, "numobjs"_n, 1).empty());
    CHECK(Ledger::failure(ledger.push(
              account, "erasenumobj"_n, account, Arguments().integer(std::uint64_t{1}))) ==
          "assertion failure with message: Record does not exist.");
}

TEST_CASE("indexes of digests and floats are ordered as recorded") {
    Ledger ledger;
    const chain::Name account = "tabtest"_n;
    ledger.deploy(account, "get_table_test");
    for (const char* input : {"firstinput", "secondinput", "thirdinput"}) {
        Ledger::require_success(
            ledger.push(account, "addhashobj"_n, account, Arguments().text(input)));
    }
    const nlohmann::json rows =
        recorded("0386-chain-get_table_rows-hash-sha256")["response"]["rows"];
    const chain::TableId index{account, account, {("hashobjs"_n).value & ~std::uint64_t{15}}};
    constexpr std::size_t kPrefixBytes = 24;  // Code, scope, table; then the digest.
    auto entry = ledger.state().at_or_after(chain::Table::index256, chain::table_key(index));
    for (const nlohmann::json& row : rows) {
        REQUIRE(entry.has_value());
        base::Bytes key = entry->key;
        CHECK(base::equal(base::ByteView(key).first(kPrefixBytes), chain::table_key(index)));
        CHECK(base::to_hex(base::ByteView(key).subspan(kPrefixBytes, 32)) ==
              row["sec256"].get<std::string>());
        CHECK(chain::key_u64(key, kPrefixBytes + 32) == row["key"].get<std::uint64_t>());
        key.push_back(std::byte{0});  // The first key behind this one.
        entry = ledger.state().at_or_after(chain::Table::index256, key);
    }
    const bool has_more = entry && base::equal(base::ByteView(entry->key).first(kPrefixBytes),
                                               chain::table_key(index));
    CHECK_FALSE(has_more);
}

TEST_CASE("the other contracts of the recordings do what was recorded") {
    Ledger ledger;
    for (const char* name : {"alice", "bob", "carol"}) {
        ledger.create(chain::Name::from_string(name).value());
    }
    SECTION("action_results returns values up to the limit") {
        ledger.deploy("actres"_n, "action_results");
        const auto ten = ledger.push("actres"_n, "actionresret"_n, "alice"_n, {});
        CHECK(base::to_hex(ten.action_traces.at(0).return_value) == "0a000000");
        Ledger::require_success(ledger.push("actres"_n, "retlim"_n, "alice"_n, {}));
        CHECK(Ledger::failure(ledger.push("actres"_n, "ret1overlim"_n, "alice"_n, {})) ==
              "action return value size must be less or equal to 256 bytes");
    }
    SECTION("no_auth_table keeps people") {
        ledger.deploy("noauth"_n, "no_auth_table");
        Ledger::require_success(ledger.push(
            "noauth"_n,
            "insert"_n,
            "bob"_n,
            Arguments().name("bob"_n).integer(std::uint64_t{2}).integer(std::uint64_t{30})));
        const auto age = ledger.push("noauth"_n, "getage"_n, "alice"_n, Arguments().name("bob"_n));
        CHECK(base::to_hex(age.action_traces.at(0).return_value) == "1e00000000000000");
        const auto by_id = [&](chain::Name action, const Arguments& arguments) {
            return Ledger::failure(ledger.push("noauth"_n, action, "noauth"_n, arguments));
        };
        CHECK(
            by_id("modifybyid"_n, Arguments().integer(std::uint64_t{2}).integer(std::uint64_t{31}))
                .empty());
        CHECK(by_id("erasebyid"_n, Arguments().integer(std::uint64_t{2})).empty());
        CHECK(Ledger::failure(
                  ledger.push("noauth"_n, "getage"_n, "alice"_n, Arguments().name("bob"_n))) ==
              "assertion failure with message: Record does not exist");
    }
    SECTION("snapshot_test changes a row in each index") {
        ledger.deploy("snaptest"_n, "snapshot_test");
        for (const std::uint32_t value : {1U, 3U}) {
            Ledger::require_success(
                ledger.push("snaptest"_n, "increment"_n, "snaptest"_n, Arguments().integer(value)));
        }
        CHECK(ledger.row("snaptest"_n, ("snaptest"_n).value, "data"_n, 1) ==
              "01000000000000000000000000001040000000000000000000000000000001400400000000000000"
              "04000000000000000000000000000000"
              "0000000000000000000000000000000400000000000000000000000000000000");
    }
    SECTION("proxy writes its settings and speaks when it is paid") {
        ledger.deploy("proxy"_n, "proxy");
        const auto set = ledger.push("proxy"_n,
                                     "setowner"_n,
                                     "proxy"_n,
                                     Arguments().name("alice"_n).integer(std::uint32_t{0}));
        Ledger::require_success(set);
        CHECK(set.action_traces[0].console == "Setting owner to alice with delay 0\n");
        CHECK(ledger.row("proxy"_n, ("proxy"_n).value, "config"_n, ("config"_n).value) ==
              "0000000000855c340000000000000000");
    }
    SECTION("test_ram_limit fills rows with the low byte of their size") {
        ledger.deploy("ramlim"_n, "test_ram_limit");
        Ledger::require_success(ledger.push("ramlim"_n,
                                            "setentry"_n,
                                            "ramlim"_n,
                                            Arguments()
                                                .name("ramlim"_n)
                                                .integer(std::uint64_t{1})
                                                .integer(std::uint64_t{5})
                                                .integer(std::uint64_t{1780})));
        const std::string row = ledger.row("ramlim"_n, ("ramlim"_n).value, "test.table"_n, 5);
        CHECK(row.size() == std::size_t{2} * (8 + 2 + 1780));
        CHECK(row.substr(row.size() - 4) == "f4f4");
        const auto printed =
            ledger.push("ramlim"_n,
                        "printentry"_n,
                        "ramlim"_n,
                        Arguments().integer(std::uint64_t{1}).integer(std::uint64_t{1}));
        Ledger::require_success(printed);
        CHECK(printed.action_traces[0].console ==
              "test_ram_limit::printout ramlim:\nkey=1 size=1780");
    }
    SECTION("asserter says what it is told, and globals begin anew") {
        ledger.deploy("asserter"_n, "asserter");
        CHECK(Ledger::failure(ledger.push("asserter"_n,
                                          "procassert"_n,
                                          "alice"_n,
                                          Arguments().integer(std::uint8_t{0}).text("told"))) ==
              "assertion failure with message: told");
        for (int i = 0; i < 2; ++i) {
            Ledger::require_success(ledger.push("asserter"_n, "provereset"_n, "alice"_n, {}));
        }
    }
    SECTION("nested containers are read and written") {
        ledger.deploy("nested"_n, "nested_container_multi_index");
        // A map from 1 to the set {2, 3}, then a vector of an absent and a present value.
        const auto set = [&](chain::Name action, const char* hex) {
            const base::Bytes data = Arguments().name("alice"_n).raw(base::from_hex(hex).value());
            Ledger::require_success(ledger.push("nested"_n, action, "alice"_n, data));
        };
        set("setmst"_n, "0101000202000300");
        set("setvo"_n, "0200010500");
    }
    SECTION("params_test reads back what it sets") {
        ledger.deploy("params"_n, "params_test");
        CHECK_FALSE(Ledger::failure(ledger.push("params"_n, "maintest"_n, "alice"_n, {})).empty());
        ledger.make_privileged("params"_n);
        Ledger::require_success(ledger.push("params"_n, "maintest"_n, "alice"_n, {}));
        for (const char* action :
             {"setthrow1", "setthrow2", "setthrow3", "getthrow1", "getthrow2", "getthrow3"}) {
            const chain::Name name = chain::Name::from_string(action).value();
            INFO(action);
            CHECK_FALSE(Ledger::failure(ledger.push("params"_n, name, "alice"_n, {})).empty());
        }
    }
    SECTION("eosio.bios sets limits and remembers ABIs") {
        const base::Bytes wasm = support::contract_file("eosio.bios/eosio.bios.wasm");
        const base::Bytes code = Arguments().name("eosio"_n).integer(std::uint16_t{0}).bytes(wasm);
        Ledger::require_success(ledger.push("eosio"_n, "setcode"_n, "eosio"_n, code));
        const base::Bytes abi = Arguments().name("alice"_n).bytes({});
        Ledger::require_success(ledger.push("eosio"_n, "setabi"_n, "alice"_n, abi));
        CHECK(ledger.row("eosio"_n, ("eosio"_n).value, "abihash"_n, ("alice"_n).value) ==
              "0000000000855c34"
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        const base::Bytes limits = Arguments()
                                       .name("alice"_n)
                                       .integer(std::uint64_t{100'000})
                                       .integer(~std::uint64_t{0})
                                       .integer(~std::uint64_t{0});
        Ledger::require_success(ledger.push("eosio"_n, "setalimits"_n, "eosio"_n, limits));
        CHECK(Ledger::failure(ledger.push("eosio"_n, "setalimits"_n, "alice"_n, limits)) ==
              "missing authority of eosio");
    }
}
