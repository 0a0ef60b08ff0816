#pragma once

#include "base/bytes.hpp"
#include "base/crypto/keys.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace wallet {

// Memory for secrets: in an area that is locked into RAM, left out of core dumps and fenced by
// unreadable pages, once protect_process() has made it; wiped when given back. Ends the process
// when there is no memory at all.
[[nodiscard]] void* allocate_secret(std::size_t bytes);
void free_secret(void* memory, std::size_t bytes);

// Makes the area for secrets, forbids core dumps and debuggers, and locks the process into RAM
// where the limit on locked memory allows it. Before the first secret; later calls only tell.
// Returns whether the area cannot be swapped out.
[[nodiscard]] bool protect_process();

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

// The keys of one wallet, in the order in which keosd lists them.
using Keys =
    std::map<base::crypto::PublicKey,
             base::crypto::PrivateKey,
             std::less<>,
             SecretAllocator<std::pair<const base::crypto::PublicKey, base::crypto::PrivateKey>>>;

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
    [[nodiscard]] base::ByteView bytes() const { return base::as_bytes(text_); }

  private:
    std::string text_;
};

}  // namespace wallet
