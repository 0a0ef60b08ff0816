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
    auto mapping = DeviceMapping::create(begin, size);
    if (!mapping) return base::fail(mapping.error());
    return std::unique_ptr<MappedFile>(
        new MappedFile(file, std::move(opened), std::move(*mapping)));
}

// A device that is back at its slot has another file.
bool MappedFile::is_gone() const {
    struct stat now {};
    struct stat ours {};
    if (mapping_->is_lost() || ::stat(path_.c_str(), &now) != 0) return true;
    return fstat(file_.get(), &ours) != 0 || now.st_ino != ours.st_ino || now.st_dev != ours.st_dev;
}

}  // namespace transport::ntb
