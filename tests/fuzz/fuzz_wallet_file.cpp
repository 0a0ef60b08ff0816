// Wallet files of both forms: no text may crash the parser, and one that it takes must survive
// the way back to text. Scrypt is left out: a hostile file may cost 0.5 s, which is its limit.
#include "base/check.hpp"
#include "wallet/file.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = base::as_text(std::as_bytes(std::span(data, size)));
    const auto parsed = wallet::parse_wallet(text);
    if (!parsed) return 0;
    if (parsed->is_keosd) {
        static_cast<void>(wallet::unseal_keosd(*parsed, "PW5K"));
        return 0;
    }
    const auto again = wallet::parse_wallet(wallet::to_text(*parsed));
    CHECK(again && again->data == parsed->data && again->cost == parsed->cost);
    wallet::DerivedKey key{parsed->cost, parsed->salt, wallet::SecretBytes(32)};
    CHECK(!wallet::unseal(*parsed, key));
    return 0;
}
