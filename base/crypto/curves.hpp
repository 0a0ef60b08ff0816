#pragma once

#include "base/crypto/keys.hpp"

// One set of functions for each curve, below keys.hpp. For base/crypto only.
namespace base::crypto::k1 {

using Secret = std::array<std::byte, 32>;
using Point = std::array<std::byte, 33>;
using Compact = std::array<std::byte, 65>;

// Whether 0 < secret < order.
[[nodiscard]] bool in_range(const Secret& secret);
[[nodiscard]] Point public_point(const Secret& secret);
[[nodiscard]] Compact sign(const Secret& secret, const Hash256& digest);
[[nodiscard]] Result<Point> recover(const Compact& signature, const Hash256& digest);
[[nodiscard]] bool is_on_curve(const Point& point);

}  // namespace base::crypto::k1

namespace base::crypto::r1 {

using k1::Compact;
using k1::Point;
using k1::Secret;

[[nodiscard]] bool in_range(const Secret& secret);
[[nodiscard]] Point public_point(const Secret& secret);
[[nodiscard]] Compact sign(const Secret& secret, const Hash256& digest);
// `high_s_allowed`: WebAuthn signatures come from devices that do not normalise s.
[[nodiscard]] Result<Point> recover(const Compact& signature,
                                    const Hash256& digest,
                                    bool high_s_allowed);
[[nodiscard]] bool is_on_curve(const Point& point);

}  // namespace base::crypto::r1

namespace base::crypto::webauthn {

// The digest that the device signed and the key it names, up to the point.
struct Assertion {
    Hash256 signed_digest;
    std::uint8_t user_presence = 0;
    std::string relying_party;
};

// Checks what the signature's data claim: an assertion ("webauthn.get") over `digest` as its
// challenge, from an https origin whose host's hash stands in auth_data.
[[nodiscard]] Result<Assertion> check(const Signature& signature, const Hash256& digest);

}  // namespace base::crypto::webauthn

namespace base::crypto {

// An error with the number of fc's assert_exception, as nodeos shows failed assertions.
[[nodiscard]] inline Error assertion(Errc code, std::string detail) {
    constexpr std::uint32_t kAssertException = 10;
    return Error{code, std::move(detail), kAssertException};
}

}  // namespace base::crypto
