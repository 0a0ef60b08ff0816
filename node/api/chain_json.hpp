#pragma once

#include "chain/abi/transaction_json.hpp"
#include "chain/types/block.hpp"
#include "chain/types/parameters.hpp"
#include "chain/types/protocol_features.hpp"
#include "chain/types/trace.hpp"

#include <cstdint>

namespace node::api {

using chain::abi::Json;
using chain::abi::Resolver;

// How action traces lie: in one list (send_transaction and the rest), or each below the action
// that caused it as `inline_traces` (push_transaction, push_transactions).
enum class TraceForm : std::uint8_t { flat, nested };

// "processed" of the answers about a transaction.
[[nodiscard]] Json trace_to_json(const chain::TransactionTrace& trace,
                                 const Resolver& resolver,
                                 TraceForm form);
// {transaction_id, processed}.
[[nodiscard]] Json processed_to_json(const chain::TransactionTrace& trace,
                                     const Resolver& resolver,
                                     TraceForm form);
// {code, name, message, stack[]}: "except". `time` stands for that of each message; file, line
// and thread are empty, since they would be ours.
[[nodiscard]] Json except_to_json(const chain::TraceException& except, chain::TimePoint time);

// get_block: transactions decoded. `times` gives the block's timestamp.
[[nodiscard]] Json block_to_json(const chain::Block& block,
                                 const chain::SlotTimes& times,
                                 const Resolver& resolver);
// get_raw_block: transactions packed.
[[nodiscard]] Json raw_block_to_json(const chain::Block& block, const chain::SlotTimes& times);
// get_block_header.
[[nodiscard]] Json block_header_to_json(const chain::Block& block,
                                        const chain::SlotTimes& times,
                                        bool with_extensions);
// get_block_info.
[[nodiscard]] Json block_info_to_json(const chain::Block& block, const chain::SlotTimes& times);
// /v1/bor/block: all of our own fields, witness included.
[[nodiscard]] Json bor_block_to_json(const chain::Block& block, const chain::SlotTimes& times);

[[nodiscard]] Json schedule_to_json(const chain::Schedule& schedule);
// {version, producers[{producer_name, authority}]} as in get_producer_schedule.
[[nodiscard]] Json producer_schedule_to_json(const chain::Schedule& schedule);
[[nodiscard]] Json certificate_to_json(const chain::Certificate& certificate);

[[nodiscard]] Json chain_config_to_json(const chain::ChainConfig& config);
[[nodiscard]] Json wasm_config_to_json(const chain::WasmConfig& config);
[[nodiscard]] base::Result<chain::ChainConfig> chain_config_from_json(const Json& json);

// An entry of get_activated_protocol_features.
[[nodiscard]] Json activated_feature_to_json(const chain::ProtocolFeature& feature,
                                             std::uint32_t ordinal,
                                             std::uint32_t block_num);
// An entry of get_supported_protocol_features.
[[nodiscard]] Json supported_feature_to_json(const chain::ProtocolFeature& feature);

}  // namespace node::api
