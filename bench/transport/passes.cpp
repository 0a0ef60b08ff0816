#include "bench/transport/passes.hpp"

#include <openssl/evp.h>

#include <atomic>
#include <cstddef>

namespace passes {

namespace {

constexpr std::size_t kBytesMin = 512;

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): one linker, one count.
std::atomic<bool> is_counting = false;
std::atomic<std::uint64_t> copied = 0;
std::atomic<std::uint64_t> elsewhere = 0;
std::atomic<std::uint64_t> in_place = 0;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void count(std::atomic<std::uint64_t>& bytes, std::size_t size) {
    if (size >= kBytesMin && is_counting.load(std::memory_order_relaxed))
        bytes.fetch_add(size, std::memory_order_relaxed);
}

}  // namespace

void begin() {
    copied = elsewhere = in_place = 0;
    is_counting = true;
}

Count end() {
    is_counting = false;
    return {copied, elsewhere, in_place};
}

}  // namespace passes

// The linker's names for what is called and what was meant.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
void* __real_memcpy(void* to, const void* from, std::size_t size);
void* __real_memmove(void* to, const void* from, std::size_t size);
void* __real___memcpy_chk(void* to, const void* from, std::size_t size, std::size_t room);
void* __real___memmove_chk(void* to, const void* from, std::size_t size, std::size_t room);
int __real_EVP_CipherUpdate(
    EVP_CIPHER_CTX* context, unsigned char* out, int* count, const unsigned char* in, int size);

void* __wrap_memcpy(void* to, const void* from, std::size_t size) {
    passes::count(passes::copied, size);
    return __real_memcpy(to, from, size);
}
void* __wrap_memmove(void* to, const void* from, std::size_t size) {
    passes::count(passes::copied, size);
    return __real_memmove(to, from, size);
}
// As _FORTIFY_SOURCE calls them; `room` is what `to` has.
void* __wrap___memcpy_chk(void* to, const void* from, std::size_t size, std::size_t room) {
    passes::count(passes::copied, size);
    return __real___memcpy_chk(to, from, size, room);
}
void* __wrap___memmove_chk(void* to, const void* from, std::size_t size, std::size_t room) {
    passes::count(passes::copied, size);
    return __real___memmove_chk(to, from, size, room);
}
int __wrap_EVP_CipherUpdate(
    EVP_CIPHER_CTX* context, unsigned char* out, int* count, const unsigned char* in, int size) {
    if (out != nullptr) {
        passes::count(in == out ? passes::in_place : passes::elsewhere,
                      static_cast<std::size_t>(size));
    }
    return __real_EVP_CipherUpdate(context, out, count, in, size);
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
