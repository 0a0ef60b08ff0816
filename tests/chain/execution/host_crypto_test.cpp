// Digests and key recovery, with published vectors.
#include "base/crypto/hash.hpp"
#include "base/crypto/keys.hpp"
#include "base/rng.hpp"
#include "chain/execution/host_primitives.hpp"
#include "host_fixture.hpp"

using chain::Exception;
using host_test::failed;
using host_test::Host;

namespace {

using std::uint32_t;
using std::uint64_t;

constexpr uint32_t kOut = 5000;

base::Bytes hex(std::string_view text) {
    return *base::from_hex(text);
}

struct Digest {
    std::string name;
    std::string of_abc;
};

const std::vector<Digest> kDigests = {
    {"sha1", "a9993e364706816aba3e25717850c26c9cd0d89d"},
    {"ripemd160", "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"},
    {"sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"sha512",
     "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
     "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
};

// A signature by a fixed key, with what it is over.
struct Signed {
    base::crypto::PrivateKey key;
    base::Hash256 digest = base::crypto::sha256(base::as_bytes("message"));
    base::Bytes signature = packed(key.sign(digest));
    base::Bytes public_key = packed(key.public_key());

    template <class T>
    static base::Bytes packed(const T& value) {
        base::Writer out;
        base::crypto::encode(out, value);
        return out.take();
    }
};

Signed signed_by(base::crypto::KeyType type) {
    std::array<std::byte, 32> secret{};
    secret.fill(std::byte{0x11});
    return {base::crypto::PrivateKey(type, secret)};
}

constexpr uint32_t kDigestAt = 100;
constexpr uint32_t kSignatureAt = 200;
constexpr uint32_t kKeyAt = 400;

void place(Host& host, const Signed& made) {
    host.write(kDigestAt, made.digest);
    host.write_bytes(kSignatureAt, made.signature);
    host.write_bytes(kKeyAt, made.public_key);
}

}  // namespace

TEST_CASE("digests of published inputs") {
    for (const Digest& digest : kDigests) {
        CAPTURE(digest.name);
        Host host;
        host.write_text(10, "abc");
        REQUIRE(host.call(digest.name, {10, 3, kOut}).has_value());
        CHECK(host.hex(kOut, digest.of_abc.size() / 2) == digest.of_abc);
        CHECK(host.hex(kOut + static_cast<uint32_t>(digest.of_abc.size() / 2), 1) == "00");
    }
}

TEST_CASE("assertions on digests pass or fail") {
    for (const Digest& digest : kDigests) {
        CAPTURE(digest.name);
        Host host;
        host.write_text(10, "abc");
        host.write_bytes(kOut, hex(digest.of_abc));
        CHECK(host.call("assert_" + digest.name, {10, 3, kOut}).has_value());
        host.write<std::uint8_t>(kOut + 19, 0);
        CHECK_FALSE(host.call("assert_" + digest.name, {10, 3, kOut}).has_value());
        CHECK(host.failure() == failed(Exception::crypto_api_exception, "hash mismatch"));
    }
}

TEST_CASE("sha3 makes both kinds and fills what room there is") {
    Host host;
    REQUIRE(host.call("sha3", {10, 0, kOut, 32, 0}).has_value());
    CHECK(host.hex(kOut, 32) == "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a");
    REQUIRE(host.call("sha3", {10, 0, kOut, 32, 1}).has_value());
    CHECK(host.hex(kOut, 32) == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
    // Only 1 asks for Keccak.
    REQUIRE(host.call("sha3", {10, 0, kOut + 100, 4, 2}).has_value());
    CHECK(host.hex(kOut + 100, 5) == "a7ffc6f800");
}

TEST_CASE("keys are recovered from signatures of both curves") {
    for (const auto type : {base::crypto::KeyType::k1, base::crypto::KeyType::r1}) {
        const Signed made = signed_by(type);
        Host host;
        place(host, made);
        const auto size = static_cast<uint32_t>(made.signature.size());
        CHECK(host.i32("recover_key", {kDigestAt, kSignatureAt, size, kOut, 100}) == 34);
        CHECK(host.hex(kOut, 34) == base::to_hex(made.public_key));
        CHECK(host.call("assert_recover_key", {kDigestAt, kSignatureAt, size, kKeyAt, 34})
                  .has_value());
    }
}

TEST_CASE("recovery fails for another key, a broken signature or too small a buffer") {
    const Signed made = signed_by(base::crypto::KeyType::k1);
    SECTION("another key") {
        Host host;
        place(host, made);
        host.write<std::uint8_t>(kDigestAt, 0xEE);
        CHECK_FALSE(
            host.call("assert_recover_key", {kDigestAt, kSignatureAt, 66, kKeyAt, 34}).has_value());
        CHECK(host.failure() == failed(Exception::crypto_api_exception,
                                       "Error expected key different than recovered key"));
    }
    SECTION("a signature cut short") {
        Host host;
        place(host, made);
        CHECK_FALSE(host.call("recover_key", {kDigestAt, kSignatureAt, 65, kOut, 100}).has_value());
        CHECK_FALSE(host.failure().empty());
    }
    SECTION("a signature that is not canonical") {
        Host host;
        place(host, made);
        host.write<std::uint8_t>(kSignatureAt + 2, 0xFF);
        CHECK_FALSE(host.call("recover_key", {kDigestAt, kSignatureAt, 66, kOut, 100}).has_value());
        CHECK_FALSE(host.failure().empty());
    }
    SECTION("a buffer too small") {
        Host host;
        place(host, made);
        CHECK_FALSE(host.call("recover_key", {kDigestAt, kSignatureAt, 66, kOut, 33}).has_value());
        CHECK_FALSE(host.failure().empty());
    }
}

TEST_CASE("k1_recover gives the uncompressed key of any signature, and -1 for none") {
    const Signed made = signed_by(base::crypto::KeyType::k1);
    Host host;
    place(host, made);
    // Without the type byte; the recovery id counts from 27 or from 31.
    const auto recover = [&](uint32_t signature_size, uint32_t digest_size, uint32_t room) {
        return host.i32("k1_recover",
                        {kSignatureAt + 1, signature_size, kDigestAt, digest_size, kOut, room});
    };
    CHECK(recover(65, 32, 65) == 0);
    CHECK(host.hex(kOut, 1) == "04");
    CHECK(host.hex(kOut + 1, 32) == base::to_hex(base::ByteView(made.public_key).subspan(2)));
    CHECK(recover(64, 32, 65) == -1);
    CHECK(recover(65, 31, 65) == -1);
    CHECK(recover(65, 32, 64) == -1);
    host.write<std::uint8_t>(kSignatureAt + 1, 26);
    CHECK(recover(65, 32, 65) == -1);
    host.write<std::uint8_t>(kSignatureAt + 1, 35);
    CHECK(recover(65, 32, 65) == -1);
}

namespace {

const std::string kBlakeState =
    "48c9bdf267e6096a3ba7ca8485ae67bb2bf894fe72f36e3cf1361d5f3af54fa5"
    "d182e6ad7f520e511f6c3e2b8c68059b6bbd41fbabd9831f79217e1319cde05b";

std::string blake(uint32_t rounds, uint32_t final) {
    Host host;
    host.write_bytes(1000, hex(kBlakeState));
    host.write_text(1100, "abc");
    host.write<uint64_t>(1300, 3);
    const auto result =
        host.i32("blake2_f", {rounds, 1000, 64, 1100, 128, 1300, 8, 1308, 8, final, kOut, 64});
    CHECK(result == 0);
    return host.hex(kOut, 64);
}

}  // namespace

TEST_CASE("blake2_f with the vectors of EIP-152") {
    CHECK(blake(12, 1) ==
          "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
          "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
    CHECK(blake(12, 0) ==
          "75ab69d3190a562c51aef8d88f1c2775876944407270c42c9844252c26d28752"
          "98743e7f6d5ea2f2d3e8d226039cd31b4e426ac4f2d3d666a610c2116fde4735");
    CHECK(blake(1, 1) ==
          "b63a380cb2897d521994a85234ee2c181b5f844d2c624c002677e9703449d2fb"
          "a551b3a8333bcdf5f2f7e08993d53923de3d64fcc68c034e717b9293fed7a421");
    CHECK(blake(0, 1) ==
          "08c9bcf367e6096a3ba7ca8485ae67bb2bf894fe72f36e3cf1361d5f3af54fa5"
          "d282e6ad7f520e511f6c3e2b8c68059b9442be0454267ce079217e1319cde05b");
    // Only 1 means final.
    CHECK(blake(12, 2) == blake(12, 0));
}

TEST_CASE("blake2_f refuses other sizes, and its rounds are paid for before they run") {
    Host host;
    CHECK(host.i32("blake2_f", {1, 1000, 63, 1100, 128, 1300, 8, 1308, 8, 1, kOut, 64}) == -1);
    CHECK(host.i32("blake2_f", {1, 1000, 64, 1100, 127, 1300, 8, 1308, 8, 1, kOut, 64}) == -1);
    CHECK(host.i32("blake2_f", {1, 1000, 64, 1100, 128, 1300, 7, 1308, 8, 1, kOut, 64}) == -1);
    CHECK(host.i32("blake2_f", {1, 1000, 64, 1100, 128, 1300, 8, 1308, 8, 1, kOut, 63}) == -1);
    Host poor({.units = 150'000'000});
    CHECK_FALSE(
        poor.call("blake2_f", {0xFFFF'FFFF, 1000, 64, 1100, 128, 1300, 8, 1308, 8, 1, kOut, 64})
            .has_value());
    CHECK(poor.meter.exhausted());
}

namespace {

// base, exponent, modulus and result in hexadecimal.
std::string power(std::string_view number, std::string_view exponent, std::string_view modulus) {
    return base::to_hex(chain::host::mod_exp({hex(number), hex(exponent), hex(modulus)}));
}

}  // namespace

TEST_CASE("modular powers") {
    const std::string prime = "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f";
    const std::string less = "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2e";
    CHECK(power("03", less, prime) == std::string(63, '0') + "1");
    CHECK(power("", less, prime) == std::string(64, '0'));
    CHECK(power("01", less, "0000") == "0000");
    CHECK(power("00", "00", "0f") == "01");
    CHECK(power("00", "01", "0f") == "00");
    CHECK(power("05", "", "01") == "00");
    CHECK(power("0a", "03", "0010") == "0008");  // An even modulus.
    CHECK(power("ffff", "02", "07") == "01");
}

TEST_CASE("mod_exp checks sizes and pays by size") {
    Host host;
    host.write<std::uint8_t>(100, 3);
    host.write<std::uint8_t>(101, 4);
    host.write<std::uint8_t>(102, 7);
    CHECK(host.i32("mod_exp", {100, 1, 101, 1, 102, 1, 103, 1}) == 0);
    CHECK(host.hex(103, 1) == "04");
    CHECK(host.i32("mod_exp", {100, 1, 101, 1, 102, 0, 103, 1}) == -1);
    CHECK(host.i32("mod_exp", {100, 1, 101, 1, 102, 1, 103, 0}) == -1);
    Host longer;
    CHECK_FALSE(longer.call("mod_exp", {100, 1, 200, 2, 300, 1, 400, 1}).has_value());
    CHECK(longer.failure() ==
          failed(Exception::subjective_block_production_exception,
                 "mod_exp restriction: exponent bit size cannot exceed bit size of either base "
                 "or modulus"));
    Host larger;
    CHECK_FALSE(
        larger.call("mod_exp", {100, 1024, 2000, 1024, 4000, 1024, 6000, 1024}).has_value());
    CHECK(larger.failure() ==
          failed(Exception::subjective_block_production_exception,
                 "mod_exp restriction: bit size too large for input arguments"));
    // 2,048 bits are allowed and cost milliseconds.
    CHECK(chain::host::mod_exp_units({base::Bytes(256), base::Bytes(256), base::Bytes(256)}) >
          2'000'000);
}

TEST_CASE("curves without a library fail by name") {
    Host host;
    CHECK_FALSE(host.call("alt_bn128_pair", {100, 192}).has_value());
    CHECK(host.failure() ==
          failed(Exception::unsupported_feature, "alt_bn128_pair is not supported by this node"));
    Host other;
    CHECK_FALSE(other.call("bls_fp_exp", {100, 48, 200, 64, 300, 48}).has_value());
    CHECK(other.failure() ==
          failed(Exception::unsupported_feature, "bls_fp_exp is not supported by this node"));
}

TEST_CASE("recovering from signatures of the slow curves costs more") {
    const Signed fast = signed_by(base::crypto::KeyType::k1);
    const Signed slow = signed_by(base::crypto::KeyType::r1);
    const auto cost = [](const Signed& made) {
        Host host;
        place(host, made);
        const uint64_t before = host.meter.remaining();
        REQUIRE(host.call("recover_key", {kDigestAt, kSignatureAt, 66, kOut, 34}).has_value());
        return before - host.meter.remaining();
    };
    CHECK(cost(slow) > 4 * cost(fast));
}
