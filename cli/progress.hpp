#pragma once

#include "cli/http_client.hpp"

#include <cstdint>
#include <string>

namespace cli {

// How long work goes on, for people.

// Of bytes: in KiB while that is a short number, then in MiB, "812 KiB" and "34 MiB".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

// What /v1/bor/sync says, in a line: a snapshot or blocks, how far, how fast, from how many peers,
// how many seconds are left where that is known, and what the node waits for.
[[nodiscard]] std::string sync_text(const Json& sync);

// Whether the node has all that its peers have as final, and has such a peer.
[[nodiscard]] bool is_at_head(const Json& sync);

}  // namespace cli
