#include "node/bps/disk/disk_space.hpp"

#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace bps {

base::Result<unsigned> free_percent(const std::string& path) {
    struct ::statvfs about {};
    if (::statvfs(path.c_str(), &about) != 0) {
        return base::fail(base::Errc::unavailable,
                          path + ": cannot see how much of the disk is free: " +
                              std::generic_category().message(errno));
    }
    const std::uint64_t free = about.f_bavail;
    const std::uint64_t usable = about.f_blocks - about.f_bfree + free;
    // Some file systems do not say how big they are; they are full when a write fails.
    if (usable == 0) return 100;
    return static_cast<unsigned>(free * 100 / usable);
}

}  // namespace bps
