// Digests, number functions and the key-stream against published answers.
#include "base/codec.hpp"
#include "base/crypto/base58.hpp"
#include "base/crypto/bignum.hpp"
#include "base/crypto/chacha.hpp"
#include "base/crypto/hash.hpp"
#include "base/crypto/wipe.hpp"
#include "base/rng.hpp"

#include <catch2/catch.hpp>
#include <openssl/bn.h>

#include <algorithm>
#include <memory>

using namespace base;
using namespace base::crypto;

namespace {

template <std::size_t N>
std::string hex(const Hash<N>& hash) {
    return to_hex(hash.view());
}

Bytes unhex(std::string_view text) {
    return from_hex(text).value();
}

}  // namespace

TEST_CASE("digests are those of their standards") {
    const ByteView abc = as_bytes("abc");
    CHECK(hex(sha256(abc)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(hex(sha256({})) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(hex(sha512(abc)) ==
          "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
          "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
    CHECK(hex(sha1(abc)) == "a9993e364706816aba3e25717850c26c9cd0d89d");
    CHECK(hex(ripemd160(abc)) == "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc");
    CHECK(hex(ripemd160({})) == "9c1185a5c5e9fc54612808977ee8f548b2258d31");
}

TEST_CASE("sha3 and keccak differ in padding only, also at the edges of a block") {
    CHECK(hex(keccak256({})) == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
    CHECK(hex(keccak256(as_bytes("abc"))) ==
          "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45");
    CHECK(hex(sha3_256({})) == "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a");
    CHECK(hex(sha3_256(as_bytes(std::string(136, 'a')))) ==
          "3fc5559f14db8e453a0a3091edbd2bc25e11528d81c66fa570a4efdcc2695ee1");
    CHECK(hex(sha3_256(as_bytes(std::string(135, 'a')))) ==
          "8094bb53c44cfb1e67b7c30447f9a1c33696d2463ecc1d9c92538913392843c9");
}

TEST_CASE("a digest in parts is the digest of the whole, and starts anew after finish") {
    const std::string text(1000, 'x');
    Sha256 hasher;
    for (int round = 0; round < 2; ++round) {
        for (std::size_t at = 0; at < text.size(); at += 77) {
            hasher.update(as_bytes(std::string_view(text).substr(at, 77)));
        }
        CHECK(hasher.finish() == sha256(as_bytes(text)));
    }
}

TEST_CASE("hmac follows RFC 4231") {
    CHECK(hex(hmac_sha256(as_bytes("Jefe"), as_bytes("what do ya want for nothing?"))) ==
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    CHECK(hex(hmac_sha256(Bytes(131, std::byte{0xAA}),
                          as_bytes("Test Using Larger Than Block-Size Key - Hash Key First"))) ==
          "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("base58 keeps leading zeros and refuses foreign letters") {
    CHECK(to_base58({}).empty());
    CHECK(to_base58(as_bytes("Hello World!")) == "2NEpo7TZRRrLZSi2U");
    CHECK(to_base58(unhex("0000287fb4cd")) == "11233QC4");
    CHECK(to_base58(unhex("000000")) == "111");
    CHECK(from_base58("11233QC4").value() == unhex("0000287fb4cd"));
    CHECK(from_base58("").value().empty());
    CHECK(from_base58("111").value() == unhex("000000"));
    for (std::size_t size = 0; size < 120; ++size) {
        Bytes bytes(size);
        for (std::size_t i = 0; i < size; ++i)
            bytes[i] = static_cast<std::byte>(size * 7 + i * i);
        CHECK(from_base58(to_base58(bytes)).value() == bytes);
    }
    for (const std::string_view text : {"0", "O", "I", "l", "abc ", "a\xff", "_"}) {
        const auto read = from_base58(text);
        REQUIRE_FALSE(read);
        CHECK(read.error().detail == "Unable to decode base58 string " + std::string(text));
        CHECK(read.error().exception == 4);
    }
    CHECK(from_base58(std::string(kBase58CharactersMax, 'z')));
    CHECK_FALSE(from_base58(std::string(kBase58CharactersMax + 1, 'z')));
}

TEST_CASE("long data is digested in pieces, and a no ends it") {
    const Bytes million(1'000'000, std::byte{'a'});  // As published.
    std::size_t asked = 0;
    const GoesOn goes_on{[](void* count) {
                             ++*static_cast<std::size_t*>(count);
                             return true;
                         },
                         &asked};
    CHECK(hex(sha1(million, goes_on)) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    CHECK(hex(ripemd160(million, goes_on)) == "52783243c1697bdbe16d37f97f68f08325dc1528");
    CHECK(hex(sha256(million, goes_on)) ==
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    CHECK(hex(sha512(million, goes_on)) ==
          "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
          "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b");
    CHECK(hex(sha3_256(million, goes_on)) ==
          "5c8875ae474a3634ba4fd55ec85bffd661f32aca75c6d699d0cdcb6c115891c1");
    CHECK(asked == 5 * (million.size() / kPieceBytes));
    // What is zero has not read on.
    asked = 0;
    const GoesOn ends{[](void* count) { return ++*static_cast<std::size_t*>(count) % 3 != 0; },
                      &asked};
    CHECK(sha1(million, ends) == Hash160{});
    CHECK(ripemd160(million, ends) == Hash160{});
    CHECK(sha256(million, ends) == Hash256{});
    CHECK(sha512(million, ends) == Hash512{});
    CHECK(sha3_256(million, ends) == Hash256{});
    CHECK(asked == 5 * 3);
}

TEST_CASE("mod_exp is what OpenSSL's own function gives") {
    base::Rng rng(1);
    const auto random = [&rng](std::size_t bytes) {
        base::Bytes out(bytes);
        for (std::byte& each : out)
            each = static_cast<std::byte>(rng.below(256));
        return out;
    };
    constexpr std::size_t kSizes[][3] = {
        {1, 1, 1}, {8, 3, 8}, {32, 32, 32}, {256, 3, 256}, {300, 2, 64}, {4'000, 2, 5'001}};
    for (const auto& [number_size, exponent_size, modulus_size] : kSizes) {
        for (int round = 0; round < 4; ++round) {
            const base::Bytes number = random(number_size);
            const base::Bytes exponent = random(exponent_size);
            base::Bytes modulus = random(modulus_size);
            if (round % 2 == 0) modulus.back() |= std::byte{1};
            if (std::ranges::all_of(modulus, [](std::byte each) { return each == std::byte{}; })) {
                continue;
            }
            const std::unique_ptr<BN_CTX, decltype(&BN_CTX_free)> context(BN_CTX_new(),
                                                                          &BN_CTX_free);
            const auto read = [](const base::Bytes& bytes) {
                return std::unique_ptr<BIGNUM, decltype(&BN_free)>(
                    BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                              static_cast<int>(bytes.size()),
                              nullptr),
                    &BN_free);
            };
            const auto result = read({});
            const auto from = read(number);
            const auto power = read(exponent);
            const auto by = read(modulus);
            REQUIRE(BN_mod_exp(result.get(), from.get(), power.get(), by.get(), context.get()) ==
                    1);
            base::Bytes expected(modulus.size());
            REQUIRE(BN_bn2binpad(result.get(),
                                 reinterpret_cast<unsigned char*>(expected.data()),
                                 static_cast<int>(expected.size())) >= 0);
            CHECK(mod_exp(number, exponent, modulus).value() == expected);
        }
    }
}

TEST_CASE("mod_exp gives as many bytes as the modulus has") {
    CHECK(mod_exp(unhex("03"), unhex("0a"), unhex("0007")).value() == unhex("0004"));
    CHECK(mod_exp({}, {}, unhex("05")).value() == unhex("01"));
    CHECK(mod_exp({}, {}, unhex("01")).value() == unhex("00"));
    CHECK(mod_exp(unhex("02"), unhex("08"), unhex("0100")).value() == unhex("0000"));
    CHECK(mod_exp(unhex("03"), unhex("05"), unhex("10")).value() == unhex("03"));
    CHECK(mod_exp(unhex("01"), unhex("01"), unhex("0000")).error().code == Errc::invalid);
    CHECK(mod_exp(unhex("01"), unhex("01"), {}).error().code == Errc::invalid);
}

TEST_CASE("blake2_f is the compression of BLAKE2b") {
    Blake2Input in;
    in.state = {0x6a09e667f2bdc948,
                0xbb67ae8584caa73b,
                0x3c6ef372fe94f82b,
                0xa54ff53a5f1d36f1,
                0x510e527fade682d1,
                0x9b05688c2b3e6c1f,
                0x1f83d9abfb41bd6b,
                0x5be0cd19137e2179};
    in.message[0] = 0x636261;  // "abc"
    in.offset = {3, 0};
    in.final_block = true;
    Writer out;
    for (const std::uint64_t word : blake2_f(in))
        out.u64(word);
    CHECK(to_hex(out.view()) ==
          "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
          "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
    in.rounds = 0;
    in.final_block = false;
    CHECK(blake2_f(in)[0] == 0x6a09e667f3bcc908);  // h ^ h ^ iv.
}

TEST_CASE("the key-stream of the zero key is that of RFC 8439, whatever came before") {
    Bytes stream(5000);
    Hash256 other;
    other.bytes[5] = std::byte{1};
    for (int round = 0; round < 2; ++round) {
        chacha20_keystream(Hash256{}, stream);
        CHECK(to_hex(ByteView(stream).first(32)) ==
              "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7");
        // Block counter 1.
        CHECK(to_hex(ByteView(stream).subspan(64, 32)) ==
              "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed");
        Bytes shorter(2048);
        chacha20_keystream(other, shorter);
        CHECK_FALSE(equal(shorter, ByteView(stream).first(2048)));
        chacha20_keystream(Hash256{}, shorter);
        CHECK(equal(shorter, ByteView(stream).first(2048)));
    }
}

TEST_CASE("wiping zeroes, comparing looks at everything") {
    Bytes secret(33, std::byte{7});
    secure_wipe(secret);
    CHECK(secret == Bytes(33));
    CHECK(equal_in_constant_time(unhex("0102"), unhex("0102")));
    CHECK_FALSE(equal_in_constant_time(unhex("0102"), unhex("0103")));
    CHECK_FALSE(equal_in_constant_time(unhex("0102"), unhex("010200")));
    Bytes a(32);
    Bytes b(32);
    random_bytes(a);
    random_bytes(b);
    CHECK(a != b);
}
