#include "transport/ntb/shm_memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <utility>

namespace transport::ntb {

namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

tl::unexpected<base::Error> no_memory(const std::string& what, std::size_t bytes) {
    const std::string reason = std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): glibc's is.
    return base::fail(
        base::Errc::unavailable,
        "no shared memory of " + std::to_string(bytes) + " bytes: " + what + ": " + reason);
}

}  // namespace

base::Result<std::unique_ptr<SharedMemory>> SharedMemory::create(std::size_t bytes) {
    Descriptor memory(memfd_create("bor-window", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!memory) return no_memory("memfd_create", bytes);
    // All of it now: a page that is missing later would end the process which writes there.
    if (fallocate(memory.get(), 0, 0, static_cast<off_t>(bytes)) != 0) {
        return no_memory("fallocate", bytes);
    }
    if (fcntl(memory.get(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0) {
        return no_memory("seals", bytes);
    }
    return map(std::move(memory), bytes, Side::reads);
}

base::Result<std::unique_ptr<SharedMemory>> SharedMemory::adopt(Descriptor memory,
                                                                std::size_t bytes) {
    // Only memfd and tmpfs have seals: a file whose pages its owner can withhold has none.
    const int seals = fcntl(memory.get(), F_GET_SEALS);
    if (seals < 0 || (seals & kSizeSeals) != kSizeSeals) {
        return base::fail(base::Errc::invalid, "the peer's memory is not sealed against resizing");
    }
    struct stat about {};
    if (fstat(memory.get(), &about) != 0 || about.st_size != static_cast<off_t>(bytes)) {
        return base::fail(base::Errc::invalid,
                          "the peer's memory has " + std::to_string(about.st_size) +
                              " bytes, promised were " + std::to_string(bytes));
    }
    return map(std::move(memory), bytes, Side::writes);
}

base::Result<std::unique_ptr<SharedMemory>> SharedMemory::map(Descriptor memory,
                                                              std::size_t bytes,
                                                              Side side) {
    const int protection = side == Side::reads ? PROT_READ : PROT_READ | PROT_WRITE;
    void* begin = mmap(nullptr, bytes, protection, MAP_SHARED, memory.get(), 0);
    if (begin == MAP_FAILED) return no_memory("mmap", bytes);
    return std::unique_ptr<SharedMemory>(
        new SharedMemory(std::move(memory), static_cast<std::byte*>(begin), bytes, side));
}

SharedMemory::~SharedMemory() {
    munmap(begin_, size_);
    if (side_ == Side::writes) return;
    // What the peer still writes there, it pays for.
    (void)fallocate(
        memory_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size_));
}

}  // namespace transport::ntb
