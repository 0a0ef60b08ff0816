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

// Adds new keys, which have promised nothing, to the journal that is there, or makes it: so that
// a validator can go on with another key. unavailable: the node runs.
[[nodiscard]] base::Result<void> add_to_journal(const std::filesystem::path& data_dir,
                                                const std::vector<base::crypto::PublicKey>& keys);

}  // namespace cli
