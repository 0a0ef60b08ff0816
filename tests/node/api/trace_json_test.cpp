// Traces: what nodeos answered is read into our own values, which must print the same again.
#include "../../chain/abi/vectors.hpp"
#include "node/api/chain_json.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <utility>

namespace {

using chain::Name;
using node::api::Json;
using node::api::TraceForm;

Name name(const Json& json) {
    return Name::from_string(json.get<std::string>()).value();
}

base::Hash256 hash(const Json& json) {
    return chain::abi::hash_from_json(json).value();
}

std::uint64_t number(const Json& json) {
    return chain::abi::as_uint64(json).value();
}

chain::ActionReceipt receipt(const Json& json) {
    chain::ActionReceipt out;
    out.receiver = name(json["receiver"]);
    out.act_digest = hash(json["act_digest"]);
    out.global_sequence = number(json["global_sequence"]);
    out.recv_sequence = number(json["recv_sequence"]);
    for (const Json& entry : json["auth_sequence"]) {
        out.auth_sequence.emplace_back(name(entry[0]), number(entry[1]));
    }
    out.code_sequence = json["code_sequence"].get<std::uint32_t>();
    out.abi_sequence = json["abi_sequence"].get<std::uint32_t>();
    return out;
}

chain::TraceException except(const Json& json) {
    chain::TraceException out;
    out.code = static_cast<chain::Exception>(number(json["code"]));
    for (const Json& entry : json["stack"]) {
        chain::TraceMessage message{entry["format"].get<std::string>(), {}};
        for (const auto& [key, value] : entry["data"].items()) {
            const auto* text = value.get_ptr<const std::string*>();
            message.values.emplace_back(key, text != nullptr ? *text : value.dump());
        }
        out.stack.push_back(std::move(message));
    }
    return out;
}

template <class T, class Read>
void read_optional(const Json& json, std::optional<T>& out, Read read) {
    if (!json.is_null()) out = read(json);
}

void read_actions(const Json& list, chain::TransactionTrace& trace) {
    for (const Json& json : list) {
        chain::ActionTrace& out = trace.action_traces.emplace_back();
        out.action_ordinal = json["action_ordinal"].get<std::uint32_t>();
        out.creator_action_ordinal = json["creator_action_ordinal"].get<std::uint32_t>();
        out.closest_unnotified_ancestor_action_ordinal =
            json["closest_unnotified_ancestor_action_ordinal"].get<std::uint32_t>();
        read_optional(json["receipt"], out.receipt, receipt);
        out.receiver = name(json["receiver"]);
        Json act = json["act"];
        act["data"] = act["hex_data"];
        out.act = chain::abi::action_from_json(act, {}).value();
        out.context_free = json["context_free"].get<bool>();
        out.elapsed = json["elapsed"].get<std::int64_t>();
        out.console = json["console"].get<std::string>();
        for (const Json& delta : json["account_ram_deltas"]) {
            out.account_ram_deltas.push_back(
                {name(delta["account"]), delta["delta"].get<std::int64_t>()});
        }
        read_optional(json["except"], out.except, except);
        read_optional(json["error_code"], out.error_code, number);
        out.return_value = vectors::hex(json["return_value_hex_data"]);
        if (json.contains("inline_traces")) read_actions(json["inline_traces"], trace);
    }
}

chain::TransactionTrace read_trace(const Json& json) {
    chain::TransactionTrace trace;
    trace.id = hash(json["id"]);
    trace.block_num = json["block_num"].get<std::uint32_t>();
    trace.block_time = chain::TimePoint::from_string(json["block_time"].get<std::string>()).value();
    read_optional(json["producer_block_id"], trace.producer_block_id, hash);
    if (const Json& header = json["receipt"]; !header.is_null()) {
        trace.receipt = {chain::TransactionStatus::executed,
                         header["cpu_usage_us"].get<std::uint32_t>(),
                         header["net_usage_words"].get<std::uint32_t>()};
    }
    trace.elapsed = json["elapsed"].get<std::int64_t>();
    trace.net_usage = number(json["net_usage"]);
    read_actions(json["action_traces"], trace);
    std::ranges::sort(trace.action_traces, {}, &chain::ActionTrace::action_ordinal);
    read_optional(json["except"], trace.except, except);
    read_optional(json["error_code"], trace.error_code, number);
    return trace;
}

// Where, when and in which thread nodeos failed is its own.
void forget_contexts(Json& json) {
    if (json.is_object()) json.erase("context");
    for (Json& inner : json) {
        if (inner.is_structured()) forget_contexts(inner);
    }
}

void check_trace(const std::string& file, TraceForm form) {
    INFO(file);
    Json recorded = vectors::load("http/" + file)["response"];
    const chain::TransactionTrace trace = read_trace(recorded["processed"]);
    Json shown = node::api::processed_to_json(trace, vectors::resolver(), form);
    forget_contexts(recorded);
    forget_contexts(shown);
    CHECK(shown.dump() == recorded.dump());
    const auto stored = chain::unpack<chain::TransactionTrace>(chain::pack(trace), "trace");
    REQUIRE(stored);
    CHECK(*stored == trace);
}

}  // namespace

TEST_CASE("push_transaction nests what an action caused") {
    check_trace("0010-chain-push_transaction-ok-zlib.json", TraceForm::nested);
    check_trace("0020-chain-push_transaction-ok-newaccount.json", TraceForm::nested);
    check_trace("0021-chain-push_transaction-ok-setcode-abi.json", TraceForm::nested);
}

TEST_CASE("send_transaction lists actions, and failures with their stack") {
    check_trace("0028-chain-send_transaction-ok.json", TraceForm::flat);
    check_trace("0035-chain-send_transaction2-failure-auth.json", TraceForm::flat);
    check_trace("0052-chain-compute_transaction-unknown-actor.json", TraceForm::flat);
}

TEST_CASE("a message's values are found again by its format") {
    for (const char* file : {"0035-chain-send_transaction2-failure-auth.json",
                             "0052-chain-compute_transaction-unknown-actor.json"}) {
        const Json recorded = vectors::load("http/" + std::string(file))["response"]["processed"];
        const chain::TraceException expected = except(recorded["except"]);
        CHECK(chain::TraceException::from_error(expected.to_error()) == expected);
    }
    const auto plain =
        chain::TraceException::from_error({base::Errc::invalid, "anything else", 3040000});
    REQUIRE(plain.stack.size() == 1);
    CHECK(plain.stack[0].values.empty());
    CHECK(plain.stack[0].text() == "anything else");
}
