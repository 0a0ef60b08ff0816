#include "transport/rdma/memory.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <fstream>
#include <string>

namespace transport::rdma {

namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
constexpr std::size_t kPageBytes = 4096;
constexpr unsigned kCapabilityToLock = 14;  // CAP_IPC_LOCK: the limit does not hold.

std::size_t whole(std::size_t bytes, std::size_t page) {
    return (bytes + page - 1) / page * page;
}

std::byte* map(std::size_t bytes, int flags) {
    void* begin =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return begin == MAP_FAILED ? nullptr : static_cast<std::byte*>(begin);
}

bool may_lock_all() {
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with("CapEff:")) continue;
        const auto capabilities = std::stoull(line.substr(line.find(':') + 1), nullptr, 16);
        return (capabilities >> kCapabilityToLock & 1U) != 0;
    }
    return false;
}

}  // namespace

base::Result<std::unique_ptr<Memory>> Memory::create(ibv_pd& domain, std::size_t bytes, Use use) {
    std::unique_ptr<Memory> out(new Memory);
    out->bytes_ = bytes;
    out->mapped_ = whole(bytes, kHugePageBytes);
    out->begin_ = map(out->mapped_, MAP_HUGETLB);
    out->is_huge_ = out->begin_ != nullptr;
    if (!out->is_huge_) {
        out->mapped_ = whole(bytes, kPageBytes);
        out->begin_ = map(out->mapped_, 0);
    }
    if (out->begin_ == nullptr)
        return base::fail(base::Errc::unavailable, why_failed("memory for RDMA", errno));
    // What a child process writes to its copy must not move our pages away from the device.
    ::madvise(out->begin_, out->mapped_, MADV_DONTFORK);
    int access = 0;
    if (use == Use::peer_writes) access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    // In brackets: not the macro of this name, which mixes signs.
    out->region_.reset((::ibv_reg_mr)(&domain, out->begin_, bytes, access));
    if (out->region_ == nullptr) {
        return base::fail(base::Errc::unavailable,
                          why_failed("registering " + std::to_string(bytes) +
                                         " bytes with the RDMA device (LimitMEMLOCK= of the "
                                         "service, or ulimit -l, bounds them)",
                                     errno));
    }
    return out;
}

std::size_t Memory::locked_bytes_max(std::size_t bytes) {
    return whole(bytes, kHugePageBytes);
}

Memory::~Memory() {
    region_.reset();
    if (begin_ != nullptr) ::munmap(begin_, mapped_);
}

bool has_huge_pages() {
    std::byte* page = map(kHugePageBytes, MAP_HUGETLB);
    if (page != nullptr) ::munmap(page, kHugePageBytes);
    return page != nullptr;
}

std::optional<std::size_t> lockable_bytes() {
    rlimit limit{};
    ::getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur == RLIM_INFINITY || may_lock_all()) return std::nullopt;
    return limit.rlim_cur;
}

}  // namespace transport::rdma
