#pragma once

#include "genesis/genesis.hpp"
#include "node/disk/file_calls.hpp"

#include <filesystem>

namespace node {

// Its name in the data directory.
inline constexpr const char* kGenesisFile = "genesis.json";

// The genesis file of a data directory, or the one that is given for its first start.
struct GenesisFile {
    genesis::Genesis genesis;
    base::Bytes bytes;
    bool is_kept = false;  // The data directory has it.
};

// `given`: empty: none. invalid: neither is there, it is no genesis file, or the two are of
// different chains; says what to do. Writes nothing.
[[nodiscard]] base::Result<GenesisFile> read_genesis(const std::filesystem::path& data_dir,
                                                     const std::filesystem::path& given,
                                                     FileCalls& calls = system_calls());
// Puts it into the data directory, if it is not there. Durable.
base::Result<void> keep_genesis(const std::filesystem::path& data_dir,
                                const GenesisFile& file,
                                FileCalls& calls = system_calls());

}  // namespace node
