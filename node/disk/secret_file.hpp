#pragma once

#include "base/crypto/keys.hpp"
#include "base/crypto/secret.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace node {

// Whether a file with a secret is one for this process alone (spec 10; PostgreSQL's rule for key
// files): it is this user's and of mode 0600 or less, or root's and of 0640 or less, as where root
// gives it to the group of a service. invalid: it is not; names it and the command that mends it.
// not_found, unavailable: it cannot be opened.
[[nodiscard]] base::Result<void> check_secret_file(const std::string& path);

// All of such a file, of at most `bytes_max` bytes. malformed: it is longer.
[[nodiscard]] base::Result<base::crypto::SecretBytes> read_secret_file(const std::string& path,
                                                                       std::size_t bytes_max);

// The private key, as text, that is the first word of such a file. invalid: also where there is
// none.
[[nodiscard]] base::Result<base::crypto::PrivateKey> read_key_file(const std::string& path);

// The first word of such a file, which an option names: what whoever asks has to show. invalid: it
// is shorter than 16 characters, too.
[[nodiscard]] base::Result<std::string> read_token(std::string_view option,
                                                   const std::string& path);

}  // namespace node
