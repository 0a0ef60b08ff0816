#pragma once

#include "chain/types/codec.hpp"
#include "chain/types/prices.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace chain {

// Antelope's chain_config; defaults are Leap's. Sizes in bytes, CPU in microseconds, times in
// seconds, *_pct in hundredths of a percent.
struct ChainConfig {
    std::uint64_t max_block_net_usage = 1'048'576;
    std::uint32_t target_block_net_usage_pct = 1'000;
    std::uint32_t max_transaction_net_usage = 524'288;
    std::uint32_t base_per_transaction_net_usage = 12;
    std::uint32_t net_usage_leeway = 500;
    std::uint32_t context_free_discount_net_usage_num = 20;
    std::uint32_t context_free_discount_net_usage_den = 100;
    std::uint32_t max_block_cpu_usage = 200'000;
    std::uint32_t target_block_cpu_usage_pct = 1'000;
    std::uint32_t max_transaction_cpu_usage = 150'000;
    std::uint32_t min_transaction_cpu_usage = 100;
    std::uint32_t max_transaction_lifetime = 3'600;
    std::uint32_t deferred_trx_expiration_window = 600;
    std::uint32_t max_transaction_delay = 3'888'000;
    std::uint32_t max_inline_action_size = 524'288;
    std::uint16_t max_inline_action_depth = 4;
    std::uint16_t max_authority_depth = 6;
    std::uint32_t max_action_return_value_size = 256;  // Not in the v0 layout.

    friend bool operator==(const ChainConfig&, const ChainConfig&) = default;

    // action_validate_exception with nodeos' text: values that contradict each other.
    [[nodiscard]] base::Result<void> validate() const;
};

// The first 17 fields, in order: the layout of genesis, setparams and get_blockchain_parameters.
void encode_v0(base::Writer& out, const ChainConfig& config);
void decode_v0(base::Reader& in, ChainConfig& config, std::string_view field);
// All 18.
void encode(base::Writer& out, const ChainConfig& config);
void decode(base::Reader& in, ChainConfig& config, std::string_view field);

// Antelope's wasm_config; defaults are Leap's.
struct WasmConfig {
    std::uint32_t max_mutable_global_bytes = 1'024;
    std::uint32_t max_table_elements = 1'024;
    std::uint32_t max_section_elements = 8'192;
    std::uint32_t max_linear_memory_init = 65'536;
    std::uint32_t max_func_local_bytes = 8'192;
    std::uint32_t max_nested_structures = 1'024;
    std::uint32_t max_symbol_bytes = 8'192;
    std::uint32_t max_module_bytes = 20'971'520;
    std::uint32_t max_code_bytes = 20'971'520;
    std::uint32_t max_pages = 528;
    std::uint32_t max_call_depth = 251;

    friend bool operator==(const WasmConfig&, const WasmConfig&) = default;
};
void encode(base::Writer& out, const WasmConfig& config);
void decode(base::Reader& in, WasmConfig& config, std::string_view field);

// BoR's own parameters, set by the action `setchain` by name (spec 03, 04).
struct BorParameters {
    std::uint64_t max_block_bytes = kBlockBytesMax;  // Packed, without witness.
    std::uint64_t open_accounts = 0;                 // 1: anyone may create accounts.
    std::uint64_t open_contracts = 0;                // 1: anyone may set code.
    std::uint64_t schedule_period = 120;             // Slots; fixed.
    std::uint64_t max_producers = 21;                // 1 to 125.
    std::uint64_t min_producers = 1;
    std::uint64_t repetitions = 1;   // Slots in a row for each producer; fixed.
    std::uint64_t max_missed = 600;  // Slots missed in a row before a producer is taken out.
    std::uint64_t cpu_units_per_us = 1'000;  // What scales metered units to cpu_usage_us.
    std::uint64_t max_reversible = 3'600;    // Blocks that are kept and not final.
    // Every node makes snapshots at multiples of so many blocks; 0: as many as an hour has slots.
    std::uint64_t snapshot_period = 0;
    // By name: price_sha256 and price_sha256_kib are the two columns of the row sha256.
    PriceTable prices;

    friend bool operator==(const BorParameters&, const BorParameters&) = default;

    // Sets one by name. not_found: no such name. invalid: outside its range, which it names.
    [[nodiscard]] base::Result<void> set(std::string_view name, std::uint64_t value);
    // The same for a chain that runs. invalid: also one that only the genesis file sets.
    [[nodiscard]] base::Result<void> change(std::string_view name, std::uint64_t value);
    // invalid: values that contradict each other.
    [[nodiscard]] base::Result<void> validate() const;
};

// The name and range of each of BoR's parameters, in the order of the fields.
struct ParameterInfo {
    std::string name;
    std::uint64_t minimum;
    std::uint64_t maximum;
    // Only the genesis file sets it: headers are checked by it before any state is known.
    bool fixed = false;
    std::uint64_t BorParameters::*member = nullptr;  // Null: a price, and this column of it.
    Cost cost{};
    std::uint32_t Price::*column = nullptr;

    [[nodiscard]] std::uint64_t value_in(const BorParameters& parameters) const;
    // The value must be in the range.
    void put(BorParameters& parameters, std::uint64_t value) const;
};
[[nodiscard]] std::span<const ParameterInfo> bor_parameter_infos();

void encode(base::Writer& out, const BorParameters& parameters);
void decode(base::Reader& in, BorParameters& parameters, std::string_view field);

}  // namespace chain
