#pragma once

#include "base/crypto/keys.hpp"
#include "base/result.hpp"

#include <filesystem>
#include <vector>

namespace cli {

// Makes the safety journal of new keys in a data directory (spec 04: key creation makes it, the
// node never does). invalid: there is one already.
[[nodiscard]] base::Result<void> make_journal(const std::filesystem::path& data_dir,
                                              const std::vector<base::crypto::PublicKey>& keys);

}  // namespace cli
