#pragma once

#include "base/crypto/keys.hpp"
#include "base/result.hpp"

#include <filesystem>

namespace cli {

// Makes the safety journal of a new key in a data directory, whose node may run (spec 04: the
// creation of a key makes it, the node never does). invalid: there is one already.
[[nodiscard]] base::Result<void> make_journal(const std::filesystem::path& data_dir,
                                              const base::crypto::PublicKey& key);

}  // namespace cli
