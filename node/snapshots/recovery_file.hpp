#pragma once

#include "genesis/snapshot_proof.hpp"
#include "node/disk/file_calls.hpp"

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace node {

// The value of recover-from. invalid: it is no id; names the option.
[[nodiscard]] base::Result<base::Hash256> recovery_id_from(std::string_view text);

// A recovery that the operator confirms. `recoveries`: the ids that recover-from names. not_found:
// there is no such file; invalid: it is none of these, or too few of the members that it names have
// signed it.
[[nodiscard]] base::Result<genesis::Recovery> read_recovery_file(
    const std::filesystem::path& path,
    const std::vector<base::Hash256>& recoveries,
    const chain::ChainId& chain_id,
    FileCalls& calls = system_calls());

// Adds what the files of recoveries say that trust.recoveries names: the times of the last, which
// are no link. What only set the time back is not looked for among the links any more. As
// read_recovery_file().
[[nodiscard]] base::Result<void> take_recovery_files(
    genesis::Trust& trust,
    const std::vector<std::filesystem::path>& paths,
    FileCalls& calls = system_calls());

}  // namespace node
