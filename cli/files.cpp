#include "cli/files.hpp"

#include "node/disk/file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

namespace cli {

namespace {

using base::Errc;
using base::fail;

constexpr std::uintmax_t kFileBytesMax = 16 * 1024 * 1024;

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
    const unsigned mode = secrecy == Secrecy::secret ? 0600 : 0644;
    return node::write_file_atomically(path.string(), base::as_bytes(contents), mode);
}

base::Result<void> try_to_write(const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
        return fail(Errc::invalid, fmt::format("{} is a directory: name a file", path.string()));
    }
    const std::string beside = path.string() + ".try";
    auto written = write_file(beside, "");
    if (written) std::filesystem::remove(beside, error);
    return written;
}

}  // namespace cli
