#include "node/disk/secret_file.hpp"

#include "node/disk/file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fcntl.h>
#include <span>
#include <unistd.h>

namespace node {

namespace {

using base::Errc;
using base::crypto::SecretBytes;

constexpr std::size_t kWordFileBytesMax = 4096;  // A file of one word: a key, a token.
constexpr std::size_t kTokenCharactersMin = 16;

base::Result<void> check_mode(const std::string& path, const File& file) {
    struct ::stat about {};
    if (::fstat(file.descriptor(), &about) != 0 || !S_ISREG(about.st_mode)) {
        return base::fail(Errc::invalid, path + " is no regular file");
    }
    const bool is_own = about.st_uid == ::geteuid();
    if (!is_own && about.st_uid != 0) {
        return base::fail(
            Errc::invalid,
            fmt::format(
                "{0} has a secret, and is another user's: type chown {1} {0}", path, ::geteuid()));
    }
    const unsigned mode = about.st_mode & 0777U;
    const unsigned allowed = is_own ? 0700U : 0740U;
    if ((mode & ~allowed) == 0) return {};
    return base::fail(Errc::invalid,
                      fmt::format("{0} has a secret, and its mode {1:04o} lets others at it: type "
                                  "chmod {2} {0}",
                                  path,
                                  mode,
                                  is_own ? "0600" : "0640"));
}

std::string_view first_word(base::ByteView bytes) {
    constexpr std::string_view kBlanks = " \t\r\n";
    const std::string_view text = base::as_text(bytes);
    const std::size_t start = std::min(text.find_first_not_of(kBlanks), text.size());
    const std::size_t end = std::min(text.find_first_of(kBlanks, start), text.size());
    return text.substr(start, end - start);
}

base::Result<File> open_secret(const std::string& path) {
    // Nobody may write to what turns out to be a pipe.
    auto file = File::open(path, O_RDONLY | O_NONBLOCK);
    if (!file) return file;
    if (auto good = check_mode(path, *file); !good) return base::fail(good.error());
    return file;
}

}  // namespace

base::Result<void> check_secret_file(const std::string& path) {
    const auto file = open_secret(path);
    if (!file) return base::fail(file.error());
    return {};
}

base::Result<SecretBytes> read_secret_file(const std::string& path, std::size_t bytes_max) {
    const auto file = open_secret(path);
    if (!file) return base::fail(file.error());
    const auto size = file->size();
    if (!size) return base::fail(size.error());
    if (*size > bytes_max) {
        return base::fail(
            Errc::malformed,
            fmt::format("{} has {} bytes, at most {} are expected", path, *size, bytes_max));
    }
    SecretBytes bytes(static_cast<std::size_t>(*size));
    if (auto read = file->read_at(0, std::span(bytes)); !read) return base::fail(read.error());
    return bytes;
}

base::Result<base::crypto::PrivateKey> read_key_file(const std::string& path) {
    const auto bytes = read_secret_file(path, kWordFileBytesMax);
    if (!bytes) return base::fail(bytes.error());
    auto key = base::crypto::PrivateKey::from_string(first_word(*bytes));
    if (!key) return base::fail(Errc::invalid, path + " holds no private key");
    return key;
}

base::Result<std::string> read_token(std::string_view option, const std::string& path) {
    const auto bytes = read_secret_file(path, kWordFileBytesMax);
    if (!bytes) {
        return base::fail(bytes.error().code, fmt::format("{}: {}", option, bytes.error().detail));
    }
    std::string token(first_word(*bytes));
    if (token.size() >= kTokenCharactersMin) return token;
    return base::fail(Errc::invalid,
                      fmt::format("{}: the token in {} has {} characters, at least {} are needed; "
                                  "'openssl rand -hex 32' makes one",
                                  option,
                                  path,
                                  token.size(),
                                  kTokenCharactersMin));
}

}  // namespace node
