#pragma once

#include "base/crypto/keys.hpp"
#include "chain/abi/serializer.hpp"
#include "ledger.hpp"

namespace support {

// JSON with ' instead of ", which reads better in a source.
inline chain::abi::Json quoted(std::string text) {
    for (char& letter : text)
        letter = letter == '\'' ? '"' : letter;
    INFO(text);
    auto json = chain::abi::parse_json(text);
    REQUIRE(json.has_value());
    return *std::move(json);
}

// A ledger with the broker's contract on bps. Brokers 1 to 3 are started, broker1 to broker3 are
// their accounts; alice and bob are tenants.
struct BpsLedger : Ledger {
    explicit BpsLedger(const std::vector<chain::Name>& producers = {"eosio"_n})
        : Ledger(producers) {
        const base::Bytes text = contract_file("bps/bps.abi");
        const auto json = chain::abi::parse_json(base::as_text(text));
        REQUIRE(json.has_value());
        auto definition = chain::abi::definition_from_json(*json);
        REQUIRE(definition.has_value());
        auto made = chain::abi::Serializer::make(*std::move(definition));
        REQUIRE(made.has_value());
        abi = *made;
        deploy("bps"_n, "bps");
        for (const chain::Name account :
             {"alice"_n, "bob"_n, "broker1"_n, "broker2"_n, "broker3"_n})
            create(account);
        must("bps", "setslots", "{'initial_ms':1800000000000,'interval_ms':500,'repetitions':1}");
        for (int id = 1; id <= 3; ++id) {
            must("bps", "addbroker", broker(id) + ",'account':'" + account_of(id) + "'}");
            must(account_of(id), "regbroker", start(id, 1, 10 + id, "", id));
        }
    }

    static std::string account_of(int id) { return "broker" + std::to_string(id); }
    static std::string broker(int id) { return "{'broker':" + std::to_string(id); }
    static base::crypto::PrivateKey key_of(base::crypto::KeyType type, std::uint8_t number) {
        std::array<std::byte, 32> secret{};
        secret[31] = static_cast<std::byte>(number);
        return {type, secret};
    }
    // That start() names.
    static std::string node_key(base::crypto::KeyType type) {
        return key_of(type, 9).public_key().to_string();
    }
    // `earlier` has the numbers of start ids with commas between.
    static std::string start(
        int id, int boot, int start_id, const std::string& earlier, int log_id) {
        std::string ids;
        for (const char letter : earlier)
            ids += letter == ',' ? std::string("','") : std::string(1, letter);
        return broker(id) + ",'boot':" + std::to_string(boot) + ",'start_id':'" +
               std::to_string(start_id) + "','earlier':[" + (ids.empty() ? "" : "'" + ids + "'") +
               "],'log_id':'" + std::to_string(log_id) + "','node_key':'" +
               node_key(base::crypto::KeyType::r1) +
               "','listeners':[{'protocol':'SSL','host':'a.example','port':9092}]}";
    }
    // {topic 1, partition 0
    static std::string partition() { return "{'topic':1,'partition':0"; }

    chain::TransactionTrace run(const std::string& actor,
                                const std::string& action,
                                const std::string& arguments) {
        const auto name = chain::Name::from_string(action);
        REQUIRE(name.has_value());
        const std::string_view type = abi->action_type(*name);
        const auto data = abi->to_binary(type, quoted(arguments));
        INFO(action << ' ' << arguments << ' ' << (data ? "" : data.error().detail));
        REQUIRE(data.has_value());
        return push("bps"_n, *name, *chain::Name::from_string(actor), *data);
    }
    // Why the contract refuses; empty: it does not.
    std::string act(const std::string& actor,
                    const std::string& action,
                    const std::string& arguments) {
        const std::string text = failure(run(actor, action, arguments));
        const std::string_view prefix = "assertion failure with message: ";
        return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
    }
    void must(const std::string& actor, const std::string& action, const std::string& arguments) {
        INFO(actor << ' ' << action << ' ' << arguments);
        REQUIRE(act(actor, action, arguments) == "");
    }
    // A topic of alice's with one partition on brokers 1 to 3, and min.insync.replicas.
    void make_topic(int minimum = 2) {
        must("alice",
             "createtopic",
             "{'by':'alice','owner':'alice','name':'t','settings':[{'name':'min.insync.replicas',"
             "'value':'" +
                 std::to_string(minimum) + "'}],'assignment':[{'brokers':[1,2,3]}]}");
    }

    // The row as JSON; null: there is none.
    chain::abi::Json json_row(chain::Name table, std::uint64_t id, chain::Name scope = "bps"_n) {
        const auto found =
            state().find(chain::Table::contract_row, chain::row_key({"bps"_n, scope, table}, id));
        if (!found) return {};
        const auto json = abi->to_json(abi->table_type(table), chain::row_value(*found));
        REQUIRE(json.has_value());
        return *json;
    }
    chain::abi::Json broker_row(int id) {
        return json_row("brokers"_n, static_cast<std::uint64_t>(id));
    }
    chain::abi::Json partition_row() { return json_row("partitions"_n, std::uint64_t{1} << 32U); }
    // "leader L epoch E/P isr a,b": with the members' brokers.
    std::string partition_text() {
        const chain::abi::Json row = partition_row();
        std::string isr;
        for (const auto& replica : row["replicas"]) {
            if (replica["generation"] == -1) continue;
            isr += (isr.empty() ? "" : ",") + replica["broker"].dump();
        }
        return "leader " + row["leader"].dump() + " epoch " + row["leader_epoch"].dump() + "/" +
               row["partition_epoch"].dump() + " isr " + isr;
    }
    // Suspects and fences a broker by another one, with one producer: four blocks pass.
    void fence(int by, int id) {
        next_block(40);
        must(account_of(by),
             "suspect",
             "{'by':" + std::to_string(by) + ",'brokers':[" + std::to_string(id) + "]}");
        const std::string call =
            "{'by':" + std::to_string(by) + ",'broker':" + std::to_string(id) + "}";
        next_block();
        must(account_of(by), "fence", call);
        next_block();
        next_block();
        must(account_of(by), "fence", call);
        next_block();
        next_block();
        must(account_of(by), "fence", call);
        REQUIRE(broker_row(id)["fenced"] == 1);
    }

    chain::abi::SerializerPtr abi;
};

}  // namespace support
