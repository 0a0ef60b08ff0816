#pragma once

#include <tl/expected.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace base {

// What went wrong, at the granularity at which callers react differently.
// Extend it only when some caller needs to tell the new case apart.
enum class Errc : std::uint8_t {
    not_found,    // Asked for something we do not have.
    malformed,    // Bytes that do not decode; the sender is faulty.
    invalid,      // Decodes, but breaks a rule; the sender is faulty.
    would_block,  // A bounded queue is full; retry after progress.
    unavailable,  // Peer or device is gone for now; retry with backoff.
    corrupt,      // Our own disk lied; stop and repair.
};

struct Error {
    Errc code;
    std::string detail;  // For a human reading a log. Never parsed, never hashed.
    // The number under which Antelope clients know this error (chain/types/exception.hpp);
    // 0: none, the API then chooses one by `code`.
    std::uint32_t exception = 0;
};

// The value of a function that can fail for reasons outside the program.
// A class of its own, not an alias, so that the compiler refuses ignored results.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
    using Base = tl::expected<T, Error>;

  public:
    using Base::Base;
    Result(Base&& other) : Base(std::move(other)) {}  // NOLINT(google-explicit-constructor)
};

[[nodiscard]] inline tl::unexpected<Error> fail(Errc code, std::string detail) {
    return tl::unexpected<Error>(Error{code, std::move(detail)});
}

// Passes an error on, as it is.
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
    return tl::unexpected<Error>(std::move(error));
}

}  // namespace base
