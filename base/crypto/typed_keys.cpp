#include "base/crypto/typed_keys.hpp"

#include <string>

namespace base::crypto {

Result<PublicKey> read_public_key(std::string_view text) {
    constexpr std::size_t kShownMax = 80;
    auto key = PublicKey::from_string(text);
    if (key) return key;
    if (text.starts_with("PVT_") || PrivateKey::from_string(text)) {
        return fail(Errc::malformed,
                    "that is a private key, which nobody should see; a public one is needed");
    }
    const bool looks_right = text.starts_with("PUB_") || text.starts_with("EOS");
    return fail(Errc::malformed,
                "'" + std::string(text.substr(0, kShownMax)) + "' is no public key: " +
                    (looks_right ? "a letter of it is wrong or missing"
                                 : "it begins with PUB_K1_, PUB_R1_ or EOS"));
}

}  // namespace base::crypto
