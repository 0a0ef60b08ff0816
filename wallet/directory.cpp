#include "wallet/directory.hpp"

#include "base/bytes.hpp"
#include "chain/types/exception.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace wallet {

namespace {

using node::File;

constexpr std::size_t kNameCharactersMax = 200;
constexpr const char* kLockName = "wallet.lock";

bool is_open(const File& file) {
    return file.descriptor() >= 0;
}

base::Error failed(std::string_view doing, std::string_view path) {
    base::Error error =
        chain::make_error(chain::Exception::wallet_exception,
                          fmt::format("Failed to {} {}: {}", doing, path, std::strerror(errno)));
    error.code = base::Errc::unavailable;
    return error;
}

}  // namespace

bool valid_name(std::string_view name) {
    const auto is_letter = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               c == '.' || c == '_' || c == '-';
    };
    return !name.empty() && name.size() <= kNameCharactersMax && name != "." && name != ".." &&
           std::all_of(name.begin(), name.end(), is_letter);
}

base::Result<std::unique_ptr<Directory>> Directory::open(const std::string& path) {
    std::error_code error;
    if (std::filesystem::create_directories(path, error)) {
        std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
    }
    const std::string lock_path = path + "/" + kLockName;
    File lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!is_open(lock)) return base::fail(failed("open wallet lock file at", lock_path));
    if (!lock.lock()) {
        base::Error busy = chain::make_error(
            chain::Exception::wallet_exception,
            fmt::format("Failed to lock access to wallet directory {}; is another bor-wallet "
                        "running?",
                        path));
        busy.code = base::Errc::unavailable;
        return base::fail(busy);
    }
    return std::unique_ptr<Directory>(new Directory(path, std::move(lock)));
}

std::string Directory::file_of(std::string_view name) const {
    return fmt::format("{}/{}.wallet", path_, name);
}

bool Directory::exists(std::string_view name) const {
    struct stat found {};
    return ::lstat(file_of(name).c_str(), &found) == 0;
}

base::Result<std::string> Directory::read(std::string_view name) const {
    const std::string path = file_of(name);
    // Not blocking: the file might be a pipe.
    const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat found {};
    if (!is_open(file) || ::fstat(file.descriptor(), &found) != 0) {
        return chain::fail(chain::Exception::wallet_nonexistent_exception,
                           "Unable to open file: " + path);
    }
    if (!S_ISREG(found.st_mode) || found.st_size > static_cast<off_t>(kFileBytesMax)) {
        return chain::fail(
            chain::Exception::wallet_exception,
            fmt::format(
                "{} is no wallet: no regular file of at most {} bytes", path, kFileBytesMax));
    }
    const auto bytes = file.read_at(0, static_cast<std::size_t>(found.st_size));
    if (!bytes) return base::fail(failed("read", path));
    return std::string(base::as_text(*bytes));
}

base::Result<void> Directory::write(std::string_view name, std::string_view text) const {
    if (!holds_lock()) {
        return chain::fail(chain::Exception::wallet_exception,
                           fmt::format("{}/{} was removed or replaced while bor-wallet runs; "
                                       "restart it",
                                       path_,
                                       kLockName));
    }
    const std::string path = file_of(name);
    const std::string fresh = path + ".new";
    ::unlink(fresh.c_str());
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    File file(::open(fresh.c_str(), flags, 0600));
    if (!is_open(file)) return base::fail(failed("create", fresh));
    auto written = file.write_at(0, base::as_bytes(text));
    if (written) written = file.sync();
    if (!written) written = base::fail(failed("write", fresh));
    if (written && ::rename(fresh.c_str(), path.c_str()) != 0) {
        written = base::fail(failed("replace", path));
    }
    if (!written) {
        ::unlink(fresh.c_str());
        return written;
    }
    if (!node::sync_directory_of(path)) return base::fail(failed("sync", path_));
    return {};
}

base::Result<void> Directory::keep_copy(std::string_view name, std::string_view suffix) const {
    const std::string path = file_of(name);
    const std::string copy = fmt::format("{}.{}", path, suffix);
    if (::link(path.c_str(), copy.c_str()) != 0 && errno != EEXIST) {
        return base::fail(failed("keep a copy of the wallet as", copy));
    }
    return {};
}

bool Directory::holds_lock() const {
    const std::string lock_path = path_ + "/" + kLockName;
    struct stat ours {};
    struct stat theirs {};
    return ::fstat(lock_.descriptor(), &ours) == 0 && ::lstat(lock_path.c_str(), &theirs) == 0 &&
           ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

}  // namespace wallet
