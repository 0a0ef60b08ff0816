#pragma once

#include "base/bytes.hpp"
#include "base/codec.hpp"
#include "base/crypto/secret.hpp"
#include "base/result.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace base::crypto {

// The curves and schemes of Antelope's keys; the value is the index in the binary form.
enum class KeyType : std::uint8_t { k1 = 0, r1 = 1, webauthn = 2 };

// Limits of the parts of WebAuthn keys and signatures, in bytes: a host name; flags, a counter
// and few extensions; what browsers write. Signatures stay below kBase58CharactersMax so.
inline constexpr std::size_t kRelyingPartyBytesMax = 255;
inline constexpr std::size_t kAuthDataBytesMax = 256;
inline constexpr std::size_t kClientJsonBytesMax = 1'024;

// A public key: curve point in compressed form; for WebAuthn also the relying party.
// Binary and text forms: reference "Binary formats" (EOS..., PUB_K1_..., PUB_R1_, PUB_WA_).
struct PublicKey {
    KeyType type = KeyType::k1;
    std::array<std::byte, 33> point{};
    std::uint8_t user_presence = 0;  // WebAuthn only.
    std::string relying_party;       // WebAuthn only.

    friend auto operator<=>(const PublicKey&, const PublicKey&) = default;

    // "EOS..." for K1 (as nodeos prints), "PUB_R1_..." and "PUB_WA_..." for the others.
    [[nodiscard]] std::string to_string() const;
    // "PUB_K1_..." for K1 too.
    [[nodiscard]] std::string to_new_string() const;
    // Reads every text form. malformed: prefix, base58 or checksum, with the text and code of
    // nodeos. Whether the point is on the curve is not checked, as in nodeos.
    [[nodiscard]] static Result<PublicKey> from_string(std::string_view text);
};

// A signature with its recovery id: byte 0 = recovery id + 31, then r, s.
struct Signature {
    KeyType type = KeyType::k1;
    std::array<std::byte, 65> compact{};
    Bytes auth_data;          // WebAuthn only.
    std::string client_json;  // WebAuthn only.

    friend auto operator<=>(const Signature&, const Signature&) = default;

    // "SIG_K1_...", "SIG_R1_...", "SIG_WA_...".
    [[nodiscard]] std::string to_string() const;
    // malformed, as for public keys. Being canonical is recover()'s business, as in nodeos.
    [[nodiscard]] static Result<Signature> from_string(std::string_view text);
};

// A private key, in memory for secrets where the program has made some (secret.hpp). Not WebAuthn.
class PrivateKey {
  public:
    // The scalar must be in range; use from_secret() for one from outside.
    PrivateKey(KeyType type, const std::array<std::byte, 32>& secret);

    // invalid: WebAuthn, or a scalar that is zero or not below the curve's order.
    [[nodiscard]] static Result<PrivateKey> from_secret(KeyType type, ByteView secret);
    // From the operating system's random source (this is the only chance in base).
    [[nodiscard]] static PrivateKey generate(KeyType type);
    // "5..." WIF, "PVT_K1_...", "PVT_R1_...". malformed as for public keys. invalid: a scalar
    // that is zero or not below the curve's order.
    [[nodiscard]] static Result<PrivateKey> from_string(std::string_view text);

    [[nodiscard]] KeyType type() const { return type_; }
    [[nodiscard]] ByteView secret() const { return secret_.bytes(); }
    [[nodiscard]] PublicKey public_key() const;
    // WIF for K1, "PVT_R1_..." for R1.
    [[nodiscard]] std::string to_string() const;
    [[nodiscard]] std::string to_new_string() const;
    // Deterministic (RFC 6979), canonical: equal inputs give equal signatures.
    [[nodiscard]] Signature sign(const Hash256& digest) const;

  private:
    KeyType type_;
    Secret32 secret_;
};

// The public key whose owner made `signature` over `digest`. Pure; any thread; about 33 us
// for K1 (the "R" of the benchmarks), with nodeos' texts and codes. invalid: a K1 signature
// that is not canonical, an R1 signature with a high s, a WebAuthn assertion of other data, or
// no such point.
[[nodiscard]] Result<PublicKey> recover(const Signature& signature, const Hash256& digest);

// Whether `signature` over `digest` is by `key`, in its one form: byte 0 is 31 or more.
[[nodiscard]] bool verify(const PublicKey& key, const Signature& signature, const Hash256& digest);

// Binary forms. As nodeos, reading checks neither canonicity nor the curve: a zero signature
// in a block's JSON must survive the way there and back.
void encode(Writer& out, const PublicKey& key);
void encode(Writer& out, const Signature& signature);
void decode(Reader& in, PublicKey& key, std::string_view field);
void decode(Reader& in, Signature& signature, std::string_view field);

// Whether a point lies on its curve. Decoding alone does not check it, as in nodeos.
[[nodiscard]] bool is_on_curve(const PublicKey& key);

}  // namespace base::crypto
