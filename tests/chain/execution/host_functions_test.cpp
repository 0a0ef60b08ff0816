// The list of functions that contracts may import. The names and signatures below were written
// down from Leap 5.0.3's interface, apart from our code: each must exist, and no other.
#include "chain/execution/host_functions.hpp"

#include "host_machine.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using host_test::Machine;

namespace {

struct Import {
    std::string_view name;
    // i: i32, I: i64, f: f32, d: f64; the result is after the colon.
    std::string_view signature;
};

const std::vector<Import> kLeap = {
    {"get_context_free_data", "iii:i"},
    {"is_feature_active", "I:i"},
    {"activate_feature", "I:"},
    {"preactivate_feature", "i:"},
    {"set_resource_limits", "IIII:"},
    {"get_resource_limits", "Iiii:"},
    {"get_parameters_packed", "iiii:i"},
    {"set_parameters_packed", "ii:"},
    {"get_wasm_parameters_packed", "iii:i"},
    {"set_wasm_parameters_packed", "ii:"},
    {"set_proposed_producers", "ii:I"},
    {"set_proposed_producers_ex", "Iii:I"},
    {"get_blockchain_parameters_packed", "ii:i"},
    {"set_blockchain_parameters_packed", "ii:"},
    {"is_privileged", "I:i"},
    {"set_privileged", "Ii:"},
    {"get_active_producers", "ii:i"},
    {"assert_recover_key", "iiiii:"},
    {"recover_key", "iiiii:i"},
    {"assert_sha256", "iii:"},
    {"assert_sha1", "iii:"},
    {"assert_sha512", "iii:"},
    {"assert_ripemd160", "iii:"},
    {"sha256", "iii:"},
    {"sha1", "iii:"},
    {"sha512", "iii:"},
    {"ripemd160", "iii:"},
    {"check_transaction_authorization", "iiiiii:i"},
    {"check_permission_authorization", "IIiiiiI:i"},
    {"get_permission_last_used", "II:I"},
    {"get_account_creation_time", "I:I"},
    {"require_auth", "I:"},
    {"require_auth2", "II:"},
    {"has_auth", "I:i"},
    {"require_recipient", "I:"},
    {"is_account", "I:i"},
    {"get_code_hash", "Iiii:i"},
    {"current_time", ":I"},
    {"publication_time", ":I"},
    {"is_feature_activated", "i:i"},
    {"get_sender", ":I"},
    {"abort", ":"},
    {"eosio_assert", "ii:"},
    {"eosio_assert_message", "iii:"},
    {"eosio_assert_code", "iI:"},
    {"eosio_exit", "i:"},
    {"read_action_data", "ii:i"},
    {"action_data_size", ":i"},
    {"current_receiver", ":I"},
    {"set_action_return_value", "ii:"},
    {"prints", "i:"},
    {"prints_l", "ii:"},
    {"printi", "I:"},
    {"printui", "I:"},
    {"printi128", "i:"},
    {"printui128", "i:"},
    {"printsf", "f:"},
    {"printdf", "d:"},
    {"printqf", "i:"},
    {"printn", "I:"},
    {"printhex", "ii:"},
    {"db_store_i64", "IIIIii:i"},
    {"db_update_i64", "iIii:"},
    {"db_remove_i64", "i:"},
    {"db_get_i64", "iii:i"},
    {"db_next_i64", "ii:i"},
    {"db_previous_i64", "ii:i"},
    {"db_find_i64", "IIII:i"},
    {"db_lowerbound_i64", "IIII:i"},
    {"db_upperbound_i64", "IIII:i"},
    {"db_end_i64", "III:i"},
    {"memcpy", "iii:i"},
    {"memmove", "iii:i"},
    {"memcmp", "iii:i"},
    {"memset", "iii:i"},
    {"send_inline", "ii:"},
    {"send_context_free_inline", "ii:"},
    {"send_deferred", "iIiii:"},
    {"cancel_deferred", "i:i"},
    {"read_transaction", "ii:i"},
    {"transaction_size", ":i"},
    {"expiration", ":i"},
    {"tapos_block_num", ":i"},
    {"tapos_block_prefix", ":i"},
    {"get_action", "iiii:i"},
    {"__ashlti3", "iIIi:"},
    {"__ashrti3", "iIIi:"},
    {"__lshlti3", "iIIi:"},
    {"__lshrti3", "iIIi:"},
    {"__divti3", "iIIII:"},
    {"__udivti3", "iIIII:"},
    {"__multi3", "iIIII:"},
    {"__modti3", "iIIII:"},
    {"__umodti3", "iIIII:"},
    {"__addtf3", "iIIII:"},
    {"__subtf3", "iIIII:"},
    {"__multf3", "iIIII:"},
    {"__divtf3", "iIIII:"},
    {"__negtf2", "iII:"},
    {"__extendsftf2", "if:"},
    {"__extenddftf2", "id:"},
    {"__trunctfdf2", "II:d"},
    {"__trunctfsf2", "II:f"},
    {"__fixtfsi", "II:i"},
    {"__fixtfdi", "II:I"},
    {"__fixtfti", "iII:"},
    {"__fixunstfsi", "II:i"},
    {"__fixunstfdi", "II:I"},
    {"__fixunstfti", "iII:"},
    {"__fixsfti", "if:"},
    {"__fixdfti", "id:"},
    {"__fixunssfti", "if:"},
    {"__fixunsdfti", "id:"},
    {"__floatsidf", "i:d"},
    {"__floatsitf", "ii:"},
    {"__floatditf", "iI:"},
    {"__floatunsitf", "ii:"},
    {"__floatunditf", "iI:"},
    {"__floattidf", "II:d"},
    {"__floatuntidf", "II:d"},
    {"__cmptf2", "IIII:i"},
    {"__eqtf2", "IIII:i"},
    {"__netf2", "IIII:i"},
    {"__getf2", "IIII:i"},
    {"__gttf2", "IIII:i"},
    {"__letf2", "IIII:i"},
    {"__lttf2", "IIII:i"},
    {"__unordtf2", "IIII:i"},
    {"get_block_num", ":i"},
    {"alt_bn128_add", "iiiiii:i"},
    {"alt_bn128_mul", "iiiiii:i"},
    {"alt_bn128_pair", "ii:i"},
    {"mod_exp", "iiiiiiii:i"},
    {"blake2_f", "iiiiiiiiiiii:i"},
    {"sha3", "iiiii:"},
    {"k1_recover", "iiiiii:i"},
    {"bls_g1_add", "iiiiii:i"},
    {"bls_g2_add", "iiiiii:i"},
    {"bls_g1_weighted_sum", "iiiiiii:i"},
    {"bls_g2_weighted_sum", "iiiiiii:i"},
    {"bls_pairing", "iiiiiii:i"},
    {"bls_g1_map", "iiii:i"},
    {"bls_g2_map", "iiii:i"},
    {"bls_fp_mod", "iiii:i"},
    {"bls_fp_mul", "iiiiii:i"},
    {"bls_fp_exp", "iiiiii:i"},
};

// The same ten functions for each kind of secondary index. A 256-bit key takes two parameters.
std::vector<std::pair<std::string, std::string>> index_imports() {
    std::vector<std::pair<std::string, std::string>> all;
    for (const std::string kind : {"idx64", "idx128", "idx256", "idx_double", "idx_long_double"}) {
        const std::string key = kind == "idx256" ? "ii" : "i";
        const std::string prefix = "db_" + kind + "_";
        all.emplace_back(prefix + "store", "IIII" + key + ":i");
        all.emplace_back(prefix + "update", "iI" + key + ":");
        all.emplace_back(prefix + "remove", "i:");
        all.emplace_back(prefix + "find_secondary", "III" + key + "i:i");
        all.emplace_back(prefix + "find_primary", "III" + key + "I:i");
        all.emplace_back(prefix + "lowerbound", "III" + key + "i:i");
        all.emplace_back(prefix + "upperbound", "III" + key + "i:i");
        all.emplace_back(prefix + "end", "III:i");
        all.emplace_back(prefix + "next", "ii:i");
        all.emplace_back(prefix + "previous", "ii:i");
    }
    return all;
}

char letter(chain::vm::ValueType type) {
    switch (type) {
        case chain::vm::ValueType::i32:
            return 'i';
        case chain::vm::ValueType::i64:
            return 'I';
        case chain::vm::ValueType::f32:
            return 'f';
        case chain::vm::ValueType::f64:
            return 'd';
    }
    return '?';
}

std::string signature(const chain::vm::HostFunction& function) {
    std::string text;
    for (const chain::vm::ValueType type : function.params)
        text += letter(type);
    text += ':';
    if (function.result) text += letter(*function.result);
    return text;
}

std::vector<std::pair<std::string, std::string>> all_imports() {
    auto all = index_imports();
    for (const Import& import : kLeap)
        all.emplace_back(import.name, import.signature);
    return all;
}

}  // namespace

TEST_CASE("every function of Leap 5.0.3 can be imported with its signature") {
    const chain::vm::HostTable& table = chain::host_table();
    for (const auto& [name, expected] : all_imports()) {
        CAPTURE(name);
        const auto index = table.find(name);
        REQUIRE(index.has_value());
        CHECK(table.at(*index).name == name);
        CHECK(signature(table.at(*index)) == expected);
    }
}

TEST_CASE("nothing else can be imported") {
    std::set<std::string> known;
    for (const auto& [name, ignored] : all_imports())
        known.insert(name);
    const chain::vm::HostTable& table = chain::host_table();
    CHECK(table.size() == known.size());
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        CAPTURE(table.at(i).name);
        CHECK(known.contains(table.at(i).name));
    }
    CHECK_FALSE(table.find("set_finalizers").has_value());  // Spring's.
    CHECK_FALSE(table.find("kv_get").has_value());          // Removed before Leap.
    CHECK_FALSE(table.find("").has_value());
}

TEST_CASE("everything has a price, and calls cost what the table says") {
    for (const chain::PriceInfo& info : chain::price_infos()) {
        CAPTURE(info.name);
        CHECK(info.normal.base >= 1);
        if (info.is_sized) CHECK(info.normal.base >= 20);
    }
    Machine host;
    const auto cost_of_sha256 = [&host](std::uint64_t bytes) {
        const std::array<std::uint64_t, 3> args{0, bytes, 60'000};
        const std::uint64_t before = host.meter.remaining();
        REQUIRE(host.run(Machine::function("sha256"), args.data()));
        return before - host.meter.remaining();
    };
    CHECK(cost_of_sha256(2'048) == 300 + 2 * 4'000);
    host.rules.parameters.prices[chain::Cost::sha256] = {7, 1'024};
    CHECK(cost_of_sha256(2'048) == 7 + 2'048);
    CHECK(cost_of_sha256(0) == 7);
}

TEST_CASE("the normal prices of instructions are the engine's own") {
    CHECK(chain::vm_prices({}) == chain::vm::Prices{});
}
