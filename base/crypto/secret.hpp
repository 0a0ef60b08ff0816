#pragma once

#include "base/bytes.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace base::crypto {

// Makes the area for secrets: locked into RAM, left out of core dumps and fenced by unreadable
// pages. `bytes` is a power of two. Before the first secret and before other threads; once a
// process. Without it, and where it is full, our secrets lie in ordinary memory, which is wiped
// too. It is OpenSSL's: keys of TLS sessions lie in it as well (32 bytes for each that is open, 128
// at most), and OpenSSL fails where it is full. Returns whether it cannot be swapped out.
[[nodiscard]] bool make_secret_area(std::size_t bytes);

// Memory for secrets, in that area where there is one; wiped when given back. Ends the process when
// there is no memory at all. Any thread.
[[nodiscard]] void* allocate_secret(std::size_t bytes);
void free_secret(void* memory, std::size_t bytes);

// An allocator of the standard library over that memory.
template <class T>
struct SecretAllocator {
    using value_type = T;  // NOLINT(readability-identifier-naming): of the standard library.

    SecretAllocator() = default;
    template <class U>
    SecretAllocator(const SecretAllocator<U>& /*other*/) {}  // NOLINT(google-explicit-constructor)

    [[nodiscard]] T* allocate(std::size_t count) {
        return static_cast<T*>(allocate_secret(count * sizeof(T)));
    }
    void deallocate(T* memory, std::size_t count) { free_secret(memory, count * sizeof(T)); }

    friend bool operator==(const SecretAllocator&, const SecretAllocator&) { return true; }
};

using SecretBytes = std::vector<std::byte, SecretAllocator<std::byte>>;

// A secret of 32 bytes in that memory. To move one copies it, so that each has its memory always.
class Secret32 {
  public:
    explicit Secret32(const std::array<std::byte, 32>& bytes);
    ~Secret32();
    Secret32(const Secret32& other);
    Secret32& operator=(const Secret32& other);

    [[nodiscard]] const std::array<std::byte, 32>& bytes() const { return *bytes_; }
    [[nodiscard]] std::array<std::byte, 32>& bytes() { return *bytes_; }

  private:
    std::array<std::byte, 32>* bytes_;
};

// Overwrites what functions that have returned left on the stack below the caller's frame.
void wipe_stack();

// Overwrites what a text holds and empties it.
void wipe(std::string& text);

// A text that is wiped when it goes: a password, a private key.
class SecretText {
  public:
    SecretText() = default;
    explicit SecretText(std::string text) : text_(std::move(text)) {}
    ~SecretText() { wipe(text_); }
    SecretText(SecretText&& other) noexcept;
    SecretText& operator=(SecretText&& other) noexcept;
    SecretText(const SecretText&) = delete;
    SecretText& operator=(const SecretText&) = delete;

    [[nodiscard]] std::string_view view() const { return text_; }
    [[nodiscard]] ByteView bytes() const { return as_bytes(text_); }

  private:
    std::string text_;
};

}  // namespace base::crypto
