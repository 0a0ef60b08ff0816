#include "wallet/secret.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

namespace wallet {

namespace {

// Room for more keys than kKeysMax in one wallet.
constexpr std::size_t kAreaBytes = std::size_t{4} << 20;

bool protect() {
    const bool is_locked = base::crypto::make_secret_area(kAreaBytes);
    const rlimit no_core{0, 0};
    static_cast<void>(setrlimit(RLIMIT_CORE, &no_core));
    static_cast<void>(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
    // With a limit, locking all future memory would make later allocations fail.
    rlimit memory{};
    const bool unlimited =
        getrlimit(RLIMIT_MEMLOCK, &memory) == 0 && memory.rlim_cur == RLIM_INFINITY;
    if (unlimited) static_cast<void>(mlockall(MCL_CURRENT | MCL_FUTURE));
    return is_locked;
}

}  // namespace

bool protect_process() {
    static const bool kIsLocked = protect();
    return kIsLocked;
}

}  // namespace wallet
