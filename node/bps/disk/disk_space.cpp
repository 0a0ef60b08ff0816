#include "node/bps/disk/disk_space.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace bps {

namespace {

// Some file systems do not say how big they are; they are full when a write fails.
unsigned percent(std::uint64_t free, std::uint64_t used) {
    return free + used == 0 ? 100 : static_cast<unsigned>(free * 100 / (free + used));
}

}  // namespace

base::Result<unsigned> free_percent(const std::string& path) {
    struct ::statvfs about {};
    if (::statvfs(path.c_str(), &about) != 0) {
        return base::fail(base::Errc::unavailable,
                          path + ": cannot see how much of the disk is free: " +
                              std::generic_category().message(errno));
    }
    return std::min(percent(about.f_bavail, about.f_blocks - about.f_bfree),
                    percent(about.f_favail, about.f_files - about.f_ffree));
}

}  // namespace bps
