#pragma once

#include <cstddef>
#include <span>

namespace base::crypto {

// Overwrites secrets with zeros in a way that the compiler does not leave out.
void secure_wipe(std::span<std::byte> secret);

// Fills `out` from the operating system's random source. A failing source is a CHECK: there
// is no safe way on. Not for anything that must be deterministic.
void random_bytes(std::span<std::byte> out);

// Whether two secrets are equal, in a time that depends on the lengths only.
[[nodiscard]] bool equal_in_constant_time(std::span<const std::byte> a,
                                          std::span<const std::byte> b);

}  // namespace base::crypto
