#include "transport/ntb/mapped_file.hpp"

#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>

namespace transport::ntb {

base::Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::filesystem::path& file) {
    const auto refuse = [&](const std::string& what) {
        const char* reason = std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): glibc's is.
        return base::fail(base::Errc::unavailable,
                          "no window: " + file.string() + " " + what + ": " + reason);
    };
    Descriptor opened(::open(file.c_str(), O_RDWR | O_CLOEXEC));
    if (!opened) return refuse("can't be opened to read and write");
    if (flock(opened.get(), LOCK_EX | LOCK_NB) != 0) return refuse("is used by another process");
    struct stat about {};
    if (fstat(opened.get(), &about) != 0 || about.st_size <= 0) return refuse("has no size");
    const auto size = static_cast<std::size_t>(about.st_size);
    void* begin = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, opened.get(), 0);
    if (begin == MAP_FAILED) return refuse("can't be mapped");
    return std::unique_ptr<MappedFile>(
        new MappedFile(std::move(opened), static_cast<std::byte*>(begin), size));
}

MappedFile::~MappedFile() {
    munmap(begin_, size_);
}

}  // namespace transport::ntb
