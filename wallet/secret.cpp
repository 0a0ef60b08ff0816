#include "wallet/secret.hpp"

#include "base/check.hpp"
#include "base/crypto/wipe.hpp"

#include <openssl/crypto.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

namespace wallet {

namespace {

// Room for more keys than kKeysMax in one wallet; a power of two, as OpenSSL wants it.
constexpr std::size_t kAreaBytes = std::size_t{4} << 20;
constexpr std::size_t kPieceBytesMin = 32;

}  // namespace

void* allocate_secret(std::size_t bytes) {
    // The area may be full or, in tests, absent; ordinary memory is still wiped when freed.
    void* memory = OPENSSL_secure_malloc(bytes);
    if (memory == nullptr) memory = OPENSSL_malloc(bytes);
    CHECK(memory != nullptr);
    return memory;
}

void free_secret(void* memory, std::size_t bytes) {
    OPENSSL_secure_clear_free(memory, bytes);
}

namespace {

bool protect() {
    const bool is_locked = CRYPTO_secure_malloc_init(kAreaBytes, kPieceBytesMin) == 1;
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

void wipe(std::string& text) {
    base::crypto::secure_wipe(std::as_writable_bytes(std::span(text.data(), text.size())));
    text.clear();
}

SecretText::SecretText(SecretText&& other) noexcept : text_(std::move(other.text_)) {
    wipe(other.text_);  // Short texts are copied when moved.
}

SecretText& SecretText::operator=(SecretText&& other) noexcept {
    if (this != &other) {
        wipe(text_);
        text_ = std::move(other.text_);
        wipe(other.text_);
    }
    return *this;
}

}  // namespace wallet
