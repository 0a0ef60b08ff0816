#include "cli/files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace cli {

namespace {

using base::Errc;
using base::fail;

constexpr std::uintmax_t kFileBytesMax = 16 * 1024 * 1024;

base::Result<void> write_all(int file, std::string_view contents) {
    while (!contents.empty()) {
        const ssize_t written = ::write(file, contents.data(), contents.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return fail(Errc::unavailable, std::strerror(errno));
        contents.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fsync(file) != 0) return fail(Errc::unavailable, std::strerror(errno));
    return {};
}

}  // namespace

base::Result<std::string> read_file(const std::filesystem::path& path) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (error) return fail(Errc::not_found, fmt::format("{}: {}", path.string(), error.message()));
    if (size > kFileBytesMax) {
        return fail(
            Errc::malformed,
            fmt::format("{}: {} bytes, at most {} are read", path.string(), size, kFileBytesMax));
    }
    std::ifstream in(path, std::ios::binary);
    if (!in) return fail(Errc::unavailable, fmt::format("{}: cannot be read", path.string()));
    return std::string(std::istreambuf_iterator<char>(in), {});
}

base::Result<void> write_file(const std::filesystem::path& path,
                              std::string_view contents,
                              Secrecy secrecy) {
    const std::string temporary = path.string() + ".new";
    const mode_t mode = secrecy == Secrecy::secret ? 0600 : 0644;
    const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (file < 0) {
        return fail(Errc::unavailable, fmt::format("{}: {}", temporary, std::strerror(errno)));
    }
    const auto written = write_all(file, contents);
    ::close(file);
    if (!written) {
        return fail(Errc::unavailable, fmt::format("{}: {}", temporary, written.error().detail));
    }
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
        return fail(Errc::unavailable, fmt::format("{}: {}", path.string(), std::strerror(errno)));
    }
    return {};
}

}  // namespace cli
