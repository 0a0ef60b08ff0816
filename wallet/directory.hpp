#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "node/disk/file.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace wallet {

inline constexpr std::size_t kFileBytesMax = std::size_t{2} << 20;

// The directory of the wallet files, which one process at a time holds by a lock on
// "wallet.lock" in it. The lock ends with the process, however it ends.
class Directory : base::Pinned {
  public:
    // Makes the directory (mode 0700) when it is missing. unavailable (wallet_exception): it
    // cannot be made, or another process holds it.
    [[nodiscard]] static base::Result<std::unique_ptr<Directory>> open(const std::string& path);

    // Where the wallet of that name is; the name is valid (see valid_name).
    [[nodiscard]] std::string file_of(std::string_view name) const;
    [[nodiscard]] bool exists(std::string_view name) const;

    // not_found: there is no such file. malformed: no regular file, or above kFileBytesMax.
    [[nodiscard]] base::Result<std::string> read(std::string_view name) const;
    // Replaces the file as a whole (mode 0600), durable when it returns: after a crash there is
    // the old or the new one. unavailable: nothing was changed.
    [[nodiscard]] base::Result<void> write(std::string_view name, std::string_view text) const;
    // Keeps the present file as "NAME.wallet.SUFFIX" beside, unless there is one already.
    [[nodiscard]] base::Result<void> keep_copy(std::string_view name,
                                               std::string_view suffix) const;

  private:
    Directory(std::string path, node::File lock) : path_(std::move(path)), lock_(std::move(lock)) {}

    [[nodiscard]] bool holds_lock() const;

    std::string path_;
    node::File lock_;
};

// Letters, digits, '.', '_', '-'; not empty, not "." or "..", at most 200 characters.
[[nodiscard]] bool valid_name(std::string_view name);

}  // namespace wallet
