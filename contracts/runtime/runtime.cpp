// What compiled C++ expects below it, for a module that has no operating system and no C library:
// a heap, the four memory functions that the compiler calls by itself, and ways to fail.
#include <bor/intrinsics.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

namespace {

constexpr std::size_t kPage = 65536;
constexpr std::size_t kAlignment = 16;

// An action is short and its memory is thrown away afterwards: nothing is ever freed.
class Heap {
  public:
    void* allocate(std::size_t size) {
        const std::size_t rounded = (size + kAlignment - 1) & ~(kAlignment - 1);
        if (next_ == 0) next_ = start();
        const std::size_t end = __builtin_wasm_memory_size(0) * kPage;
        if (rounded < size || rounded > SIZE_MAX - next_) return out_of_memory();
        if (next_ + rounded > end) grow(next_ + rounded - end);
        void* const block = reinterpret_cast<void*>(next_);
        next_ += rounded;
        return block;
    }

  private:
    static std::size_t start();
    static void grow(std::size_t missing) {
        const std::size_t pages = (missing + kPage - 1) / kPage;
        if (__builtin_wasm_memory_grow(0, pages) == SIZE_MAX) out_of_memory();
    }
    [[noreturn]] static void* out_of_memory() {
        bor::host::eosio_assert(0, "failed to allocate pages");
        __builtin_unreachable();
    }
    std::size_t next_ = 0;
};

Heap heap;

}  // namespace

extern "C" {

extern unsigned char __heap_base;  // NOLINT: the linker names it.

// Eight bytes at a time; WebAssembly has no alignment faults.
__attribute__((no_builtin)) void* memcpy(void* to, const void* from, std::size_t size) {
    auto* out = static_cast<unsigned char*>(to);
    const auto* in = static_cast<const unsigned char*>(from);
    using Word __attribute__((aligned(1), may_alias)) = uint64_t;
    for (; size >= 8; size -= 8, out += 8, in += 8) {
        *reinterpret_cast<Word*>(out) = *reinterpret_cast<const Word*>(in);
    }
    for (; size > 0; --size)
        *out++ = *in++;
    return to;
}

__attribute__((no_builtin)) void* memmove(void* to, const void* from, std::size_t size) {
    auto* out = static_cast<unsigned char*>(to);
    const auto* in = static_cast<const unsigned char*>(from);
    if (out <= in || out >= in + size) {
        for (std::size_t i = 0; i < size; ++i)
            out[i] = in[i];
    } else {
        for (std::size_t i = size; i > 0; --i)
            out[i - 1] = in[i - 1];
    }
    return to;
}

__attribute__((no_builtin)) void* memset(void* to, int value, std::size_t size) {
    auto* out = static_cast<unsigned char*>(to);
    for (std::size_t i = 0; i < size; ++i)
        out[i] = static_cast<unsigned char>(value);
    return to;
}

__attribute__((no_builtin)) int memcmp(const void* left, const void* right, std::size_t size) {
    const auto* a = static_cast<const unsigned char*>(left);
    const auto* b = static_cast<const unsigned char*>(right);
    for (std::size_t i = 0; i < size; ++i) {
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    }
    return 0;
}

__attribute__((no_builtin)) void* memchr(const void* text, int letter, std::size_t size) {
    const auto* in = static_cast<const unsigned char*>(text);
    for (std::size_t i = 0; i < size; ++i) {
        if (in[i] == static_cast<unsigned char>(letter)) return const_cast<unsigned char*>(in + i);
    }
    return nullptr;
}

__attribute__((no_builtin)) std::size_t strlen(const char* text) {
    std::size_t size = 0;
    while (text[size] != 0)
        ++size;
    return size;
}

void* malloc(std::size_t size) {
    return heap.allocate(size);
}
void free(void*) {}
void abort() {
    bor::host::host_abort();
}

// Nothing is destroyed at the end of an action.
int __cxa_atexit(void (*)(void*), void*, void*) {
    return 0;
}  // NOLINT: the ABI names it.

}  // extern "C"

namespace {

std::size_t Heap::start() {
    const auto base = reinterpret_cast<std::size_t>(&__heap_base);
    return (base + kAlignment - 1) & ~(kAlignment - 1);
}

}  // namespace

void* operator new(std::size_t size) {
    return heap.allocate(size);
}
void* operator new[](std::size_t size) {
    return heap.allocate(size);
}
void operator delete(void*) noexcept {}
void operator delete[](void*) noexcept {}
void operator delete(void*, std::size_t) noexcept {}
void operator delete[](void*, std::size_t) noexcept {}

namespace std {
// libc++ declares these members of std::string as compiled elsewhere: here. The linker drops what
// is not used.
#define BOR_DEFINE_TEMPLATE(...) template __VA_ARGS__;
_LIBCPP_STRING_UNSTABLE_EXTERN_TEMPLATE_LIST(BOR_DEFINE_TEMPLATE, char)
#undef BOR_DEFINE_TEMPLATE

// The standard library's way to fail: a length that cannot be, an empty optional.
[[noreturn]] void __libcpp_verbose_abort(const char* format, ...) {  // NOLINT: libc++ names it.
    bor::host::eosio_assert(0, format);
    __builtin_unreachable();
}
}  // namespace std
