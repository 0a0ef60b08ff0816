#pragma once

#include "chain/types/parameters.hpp"

namespace chain::host {

// Antelope's numbered parameters: the fields of ChainConfig in order, from 0.

// A varuint32 count and that many ids, to the count and that many pairs of id and value.
// config_parse_error: an id that does not exist, or one twice.
[[nodiscard]] base::Result<base::Bytes> pack_parameters(const ChainConfig& config,
                                                        base::ByteView ids);
// The count and pairs of id and value, into `config`. The same errors.
[[nodiscard]] base::Result<void> change_parameters(ChainConfig& config, base::ByteView pairs);

// action_validate_exception with nodeos' text: a limit so low that no module could pass. Also
// one so high that this chain's VM does not have it.
[[nodiscard]] base::Result<void> check_wasm_config(const WasmConfig& config);

}  // namespace chain::host
