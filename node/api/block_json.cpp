#include "node/api/chain_json.hpp"

#include <utility>

namespace node::api {

namespace {

using chain::Block;
using chain::BlockHeader;
using chain::PackedTransaction;
using chain::abi::json_integer;

std::string hex(const base::Hash256& hash) {
    return base::to_hex(hash.view());
}

// The members that all forms begin with; ours stand where Antelope's of the same use stood.
Json begin_header(const BlockHeader& header, const chain::SlotTimes& times) {
    Json json;
    json["timestamp"] = times.time_of(header.slot).to_string();
    json["producer"] = header.producer.to_string();
    json["confirmed"] = 0;
    json["previous"] = hex(header.previous);
    json["transaction_mroot"] = hex(header.transaction_root);
    json["action_mroot"] = hex(header.action_root);
    json["schedule_version"] = header.schedule_version;
    return json;
}

Json begin_receipt(const chain::TransactionReceipt& receipt) {
    return {{"status", chain::to_string(receipt.status)},
            {"cpu_usage_us", receipt.cpu_usage_us},
            {"net_usage_words", receipt.net_usage_words}};
}

Json hex_list(const std::vector<base::Bytes>& items) {
    Json list = Json::array();
    for (const base::Bytes& item : items) {
        list.push_back(base::to_hex(item));
    }
    return list;
}

// A transaction of a block with its content. The block was valid, so it decodes; one that does
// not is shown packed.
Json decoded_transaction(const PackedTransaction& packed, const Resolver& resolver) {
    Json json = chain::abi::packed_transaction_to_json(packed);
    const auto decoded = chain::decode_transaction(packed);
    if (!decoded) return json;
    const chain::DecodedTransaction& transaction = **decoded;
    Json out;
    out["id"] = hex(transaction.id);
    out["signatures"] = std::move(json["signatures"]);
    out["compression"] = std::move(json["compression"]);
    out["packed_context_free_data"] = std::move(json["packed_context_free_data"]);
    out["context_free_data"] = hex_list(transaction.content.context_free_data);
    out["packed_trx"] = std::move(json["packed_trx"]);
    out["transaction"] = chain::abi::transaction_to_json(
        transaction.content, resolver, chain::abi::TransactionForm::plain);
    return out;
}

Json receipt_to_json(const chain::TransactionReceipt& receipt, const Resolver& resolver) {
    Json json = begin_receipt(receipt);
    if (const auto* packed = std::get_if<PackedTransaction>(&receipt.transaction)) {
        json["trx"] = decoded_transaction(*packed, resolver);
    } else {
        json["trx"] = hex(std::get<chain::TransactionId>(receipt.transaction));
    }
    return json;
}

Json raw_transactions(const Block& block) {
    Json list = Json::array();
    for (const chain::TransactionReceipt& receipt : block.transactions) {
        Json json = begin_receipt(receipt);
        if (const auto* packed = std::get_if<PackedTransaction>(&receipt.transaction)) {
            json["trx"] = Json::array({1, chain::abi::packed_transaction_to_json(*packed)});
        } else {
            json["trx"] =
                Json::array({0, hex(std::get<chain::TransactionId>(receipt.transaction))});
        }
        list.push_back(std::move(json));
    }
    return list;
}

Json ref_to_json(const chain::BlockRef& block) {
    return {{"slot", json_integer(block.slot)}, {"id", hex(block.id)}};
}

Json certificate_or_null(const std::optional<chain::Certificate>& certificate) {
    return certificate ? certificate_to_json(*certificate) : Json();
}

}  // namespace

Json block_to_json(const Block& block, const chain::SlotTimes& times, const Resolver& resolver) {
    Json json = begin_header(block.header, times);
    json["new_producers"] = nullptr;
    json["producer_signature"] = block.signature.to_string();
    Json transactions = Json::array();
    for (const chain::TransactionReceipt& receipt : block.transactions) {
        transactions.push_back(receipt_to_json(receipt, resolver));
    }
    json["transactions"] = std::move(transactions);
    json["id"] = hex(block.id);
    json["block_num"] = block.header.height;
    json["ref_block_prefix"] = chain::ref_block_prefix_of(block.id);
    return json;
}

Json raw_block_to_json(const Block& block, const chain::SlotTimes& times) {
    Json json = begin_header(block.header, times);
    json["header_extensions"] = Json::array();
    json["producer_signature"] = block.signature.to_string();
    json["transactions"] = raw_transactions(block);
    json["block_extensions"] = Json::array();
    return json;
}

Json block_header_to_json(const Block& block, const chain::SlotTimes& times, bool with_extensions) {
    Json header = begin_header(block.header, times);
    header["header_extensions"] = Json::array();
    header["producer_signature"] = block.signature.to_string();
    Json json = {{"id", hex(block.id)}, {"signed_block_header", std::move(header)}};
    if (with_extensions) json["block_extensions"] = Json::array();
    return json;
}

Json block_info_to_json(const Block& block, const chain::SlotTimes& times) {
    Json json;
    json["block_num"] = block.header.height;
    json["ref_block_num"] = block.header.height & 0xFFFFU;
    json["id"] = hex(block.id);
    json.update(begin_header(block.header, times));
    json["producer_signature"] = block.signature.to_string();
    json["ref_block_prefix"] = chain::ref_block_prefix_of(block.id);
    return json;
}

Json bor_block_to_json(const Block& block, const chain::SlotTimes& times) {
    const BlockHeader& header = block.header;
    Json json;
    json["id"] = hex(block.id);
    json["slot"] = json_integer(header.slot);
    json["timestamp"] = times.time_of(header.slot).to_string();
    json["height"] = header.height;
    json["producer"] = header.producer.to_string();
    json["previous"] = hex(header.previous);
    json["schedule_version"] = header.schedule_version;
    json["transaction_root"] = hex(header.transaction_root);
    json["action_root"] = hex(header.action_root);
    json["state_digest"] = hex(header.state_digest);
    json["justify"] = ref_to_json(header.justify);
    json["final"] = ref_to_json(header.finalized);
    json["finality_root"] = hex(header.finality_root);
    json["schedule_change"] =
        header.schedule_change ? schedule_to_json(*header.schedule_change) : Json();
    json["producer_signature"] = block.signature.to_string();
    json["transactions"] = raw_transactions(block);
    json["witness"] = {{"justify", certificate_or_null(block.witness.justify)},
                       {"final", certificate_or_null(block.witness.finalized)}};
    return json;
}

Json certificate_to_json(const chain::Certificate& certificate) {
    const chain::VoteData& data = certificate.data;
    Json signatures = Json::array();
    for (const chain::Signature& signature : certificate.signatures) {
        signatures.push_back(signature.to_string());
    }
    return {{"kind", data.kind == chain::VoteKind::commit ? "commit" : "notarize"},
            {"schedule_version", data.schedule_version},
            {"slot", json_integer(data.slot)},
            {"height", data.height},
            {"block_id", hex(data.block_id)},
            {"justify_slot", json_integer(data.justify_slot)},
            {"bitmaps", hex_list(certificate.bitmaps)},
            {"signatures", std::move(signatures)}};
}

Json schedule_to_json(const chain::Schedule& schedule) {
    Json entries = Json::array();
    for (const chain::ScheduleEntry& entry : schedule.entries) {
        entries.push_back({{"producer", entry.producer.to_string()},
                           {"signing_key", entry.signing_key.to_string()},
                           {"vote_key", entry.vote_key.to_string()}});
    }
    return {{"version", schedule.version}, {"entries", std::move(entries)}};
}

Json producer_schedule_to_json(const chain::Schedule& schedule) {
    Json producers = Json::array();
    for (const chain::ScheduleEntry& entry : schedule.entries) {
        Json key = {{"key", entry.signing_key.to_string()}, {"weight", 1}};
        Json authority = {{"threshold", 1}, {"keys", Json::array({std::move(key)})}};
        producers.push_back({{"producer_name", entry.producer.to_string()},
                             {"authority", Json::array({0, std::move(authority)})}});
    }
    return {{"version", schedule.version}, {"producers", std::move(producers)}};
}

}  // namespace node::api
