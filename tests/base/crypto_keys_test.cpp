// Keys and signatures against what Leap 5.0.3 (cleos, nodeos, keosd) recorded, and every way
// in which a text, a signature or an assertion can be wrong.
#include "base/crypto/base58.hpp"
#include "base/crypto/hash.hpp"
#include "base/crypto/keys.hpp"

#include <catch2/catch.hpp>

#include <utility>

using namespace base;
using namespace base::crypto;

namespace {

struct RecordedKey {
    std::string_view secret;
    std::string_view secret_new;
    std::string_view text;
    std::string_view text_new;
    std::string_view packed;
};

constexpr std::array kKeys = {
    RecordedKey{"5KQwrPbwdL6PhXujxW37FSSQZ1JiwsST4cqQzDeyXtP79zkvFD3",
                "PVT_K1_2bfGi9rYsXQSXXTvJbDAPhHLQUojjaNLomdm3cEJ1XTzMqUt3V",
                "EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CV",
                "PUB_K1_6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5BoDq63",
                "0002c0ded2bc1f1305fb0faac5e6c03ee3a1924234985427b6167ca569d13df435cf"},
    RecordedKey{"5KPAW9KicaFtyxsYQ2AuQgRUx3A2Qkyvoayb8W7siVLbvJxvqrH",
                "PVT_K1_2ZsvTsdY7guixVGMpj1KdgMjSL7Cd7r5muouL58UcUxkbwaMde",
                "EOS7cgG2UxaCBX9Tt7cMUkgZEK6QPqnF2H5zBhFGaHMrLsjy7dyqr",
                "PUB_K1_7cgG2UxaCBX9Tt7cMUkgZEK6QPqnF2H5zBhFGaHMrLsjuexohL",
                "0003672f6f608db6806d84f89e419bff38d0e6e7dbe5fd05140b43a437c0efe31436"},
    RecordedKey{"PVT_R1_yUtBHgCf2G8mSyeaxLrEuRhLzVwEcoSGsx3bxuzSLZ1AiQFei",
                "PVT_R1_yUtBHgCf2G8mSyeaxLrEuRhLzVwEcoSGsx3bxuzSLZ1AiQFei",
                "PUB_R1_54FT454NkgUSWehTf9u48yuQBH3WPB1JejFbRBP4hdN1kMCGTD",
                "PUB_R1_54FT454NkgUSWehTf9u48yuQBH3WPB1JejFbRBP4hdN1kMCGTD",
                "01021629733cf3064245fb2fc59526f57804aa598bd5bf68bb1c810c2d72f3e9cb15"},
    RecordedKey{"PVT_R1_2B8b1uMV726ZUiN3KegS2DzRpB5EjexcgVSRiSbY6vGbsdwRu3",
                "PVT_R1_2B8b1uMV726ZUiN3KegS2DzRpB5EjexcgVSRiSbY6vGbsdwRu3",
                "PUB_R1_7EG1XoB5di2vcxDQBmftmfaKTwNSwhHYsuMpd2Vd5cq4YG2Jbw",
                "PUB_R1_7EG1XoB5di2vcxDQBmftmfaKTwNSwhHYsuMpd2Vd5cq4YG2Jbw",
                "010334484192221820cd56cee02a0f1fc50afe5181f05ed34e6b0b64fb786d1b1f07"},
};

struct RecordedSignature {
    std::string_view digest;
    std::string_view signature;
};

// By keosd, with the second key above.
constexpr std::array kSignaturesK1 = {
    RecordedSignature{"6470446713d1d32a795ef3df9abc0bed7383aafbbeea22fc3cf2925413b93b88",
                      "SIG_K1_K4xqu5N1TY7UaputZk8WzYBoGgjAXZNWEeY93SezrSMDfqLMjnYeCCb5LLH2xdzxgd8N4"
                      "fuKSmDRasweDhdqeEuHyP1pRQ"},
    RecordedSignature{"e8323f8cfe6b0f10a8ecc87f5ee2862dd409ce8c6b79ef9942ddeab757256098",
                      "SIG_K1_KUxnY7BXvH9QMJJQVrEyydnAXwU75jogcWReAvkKdEVhkTEzRgDMrAj3eWAQrGKkFk8uU"
                      "Jc5cY6CrjykE5gZNzPaRi9CyY"},
    RecordedSignature{"737d8d96c3bc324f6d63e4d7a584bcea80c94d6807148b51ae604b9c40652666",
                      "SIG_K1_K4agaEpa2U7n5N3qNBSvznLmsRCB6YKHUgoxovqNtyNrKFFMCYTSGQzByFxqguP39Vx9c"
                      "mLNQhqTKPUesUKyQ5R8XTh9kL"},
    RecordedSignature{"f60b88c88b288e2ed53fa957d26a6ebae33690d28311a076f6ab3504693d8971",
                      "SIG_K1_KXBmP3THe5241ftqvpTyevbqyQ1oNd319bTDJoBWogBizAdMTqK3ZUBZcCtpfCDcVaPEe"
                      "MSTsgXviZc4g47kKQSX3RE1AJ"},
    RecordedSignature{"05f0fa1f6b9d16926741fb755bd8cd0c4f1f4a283c44c7fc69700e9bcfce02e6",
                      "SIG_K1_KYaJKJhb3dpjxDuoRa6VTDwsFF2n5K3qhH8uxuGNys4sQ7DN54SBZQi2xEBNpWdpWKpNf"
                      "uUCJaUpTBzPZCBE8chBJjspv5"},
    RecordedSignature{"0bf474896363505e5ea5e5d6ace8ebfb13a760a409b1fb467d428fc716f9f284",
                      "SIG_K1_KcrDjyxaMCV9TU5ahFUu3ADQU1NsQxZmmCLKcsjf6Q9FmEKdRQQAYZ82ft3S2PS7CSMMg"
                      "uwX6eJGvT2sHJuwg5rmTdJ2j5"},
    RecordedSignature{"0000000000000000000000000000000000000000000000000000000000000000",
                      "SIG_K1_KcwbDNaF1eExgTcr5auL5owQyvSLuHcr3NFoju1e62CFLm5ZUzJBFkY1aLPeWnRB2ihVs"
                      "djzcnW14DxdCoPEoBTe7UjVZ3"}};

// By keosd, with the third key above (it draws its nonces by chance).
constexpr std::array kSignaturesR1 = {
    RecordedSignature{"6470446713d1d32a795ef3df9abc0bed7383aafbbeea22fc3cf2925413b93b88",
                      "SIG_R1_Kf5pksDktBqd4pLevjnuYdFWJpeLaaSUNexJuhK3dCXn6fE8wbe4C7hpxZzCuz6jj5gbr"
                      "Rfb3wespXt989AcgMKVXyAbsd"},
    RecordedSignature{"6470446713d1d32a795ef3df9abc0bed7383aafbbeea22fc3cf2925413b93b88",
                      "SIG_R1_KnaAFKcyg7t1g2i5RNxRtkvYidKvVYruXcmsPigdxXqaE1xkitSgCeajo4j2iJTei4YC9"
                      "QhRqBsjScHgkTai9S6gwvRBqS"},
    RecordedSignature{"0bf474896363505e5ea5e5d6ace8ebfb13a760a409b1fb467d428fc716f9f284",
                      "SIG_R1_KCDaUq84bZcELpqPpPiUwtxhMkWL2Zppb7exvgc6CYPc8i9nz2aNhCJMd1MZTCtvtf2cU"
                      "gjH3VejpyqQJx2NpKFAsM5FPn"}};

Hash256 digest_of(std::string_view hex) {
    return to_hash<32>(from_hex(hex).value()).value();
}

PrivateKey secret_key(std::size_t i) {
    return PrivateKey::from_string(kKeys.at(i).secret).value();
}

template <class T>
void refuses(std::string_view text, std::string_view detail, std::uint32_t exception) {
    INFO(text);
    const auto read = T::from_string(text);
    REQUIRE_FALSE(read);
    CHECK(read.error().detail == detail);
    CHECK(read.error().exception == exception);
}

template <class T>
Bytes packed(const T& value) {
    Writer out;
    encode(out, value);
    return out.take();
}

}  // namespace

TEST_CASE("keys have the recorded text and binary forms") {
    for (const RecordedKey& recorded : kKeys) {
        for (const std::string_view text : {recorded.secret, recorded.secret_new}) {
            const PrivateKey secret = PrivateKey::from_string(text).value();
            CHECK(secret.to_string() == recorded.secret);
            CHECK(secret.to_new_string() == recorded.secret_new);
            CHECK(secret.public_key().to_string() == recorded.text);
        }
        for (const std::string_view text : {recorded.text, recorded.text_new}) {
            const PublicKey key = PublicKey::from_string(text).value();
            CHECK(key.to_string() == recorded.text);
            CHECK(key.to_new_string() == recorded.text_new);
            CHECK(to_hex(packed(key)) == recorded.packed);
            CHECK(is_on_curve(key));
            const Bytes bytes = packed(key);
            Reader again(bytes);
            PublicKey unpacked;
            decode(again, unpacked, "key");
            CHECK(unpacked == key);
            CHECK(again.finish());
        }
    }
}

TEST_CASE("the key labels of the recordings are hashes") {
    const Hash256 seed = sha256(as_bytes("key:alice"));
    const auto key = PrivateKey::from_secret(KeyType::k1, seed.view()).value();
    CHECK(key.to_string() == kKeys[1].secret);
}

TEST_CASE("K1 signatures are those of keosd, byte for byte") {
    for (const RecordedSignature& recorded : kSignaturesK1) {
        const Hash256 digest = digest_of(recorded.digest);
        const Signature made = secret_key(1).sign(digest);
        CHECK(made.to_string() == recorded.signature);
        CHECK(recover(made, digest).value() == secret_key(1).public_key());
        CHECK(verify(secret_key(1).public_key(), made, digest));
        CHECK_FALSE(verify(secret_key(0).public_key(), made, digest));
    }
}

TEST_CASE("R1 signatures of keosd recover, ours are deterministic") {
    for (const RecordedSignature& recorded : kSignaturesR1) {
        const Hash256 digest = digest_of(recorded.digest);
        const Signature theirs = Signature::from_string(recorded.signature).value();
        CHECK(theirs.to_string() == recorded.signature);
        CHECK(recover(theirs, digest).value() == secret_key(2).public_key());
        const Signature ours = secret_key(2).sign(digest);
        CHECK(ours == secret_key(2).sign(digest));
        CHECK(recover(ours, digest).value() == secret_key(2).public_key());
    }
}

TEST_CASE("R1 nonces are those of RFC 6979, A.2.5") {
    const auto key = PrivateKey::from_secret(
        KeyType::r1,
        from_hex("C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721").value());
    // Of "sample" the published s is high; ours is its complement.
    CHECK(to_hex(ByteView(key->sign(sha256(as_bytes("sample"))).compact).subspan(1)) ==
          "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
          "0834e36ad29a83bf2bc9385e491d6099c8fdf9d1ed67aa7ea5f51f93782857a9");
    CHECK(to_hex(ByteView(key->sign(sha256(as_bytes("test"))).compact).subspan(1)) ==
          "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367"
          "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083");
}

TEST_CASE("many signatures of random keys recover on both curves") {
    for (const KeyType type : {KeyType::k1, KeyType::r1}) {
        const PrivateKey key = PrivateKey::generate(type);
        for (int i = 0; i < 64; ++i) {
            const Hash256 digest = sha256(as_bytes(std::to_string(i)));
            const Signature signature = key.sign(digest);
            REQUIRE(recover(signature, digest).value() == key.public_key());
            REQUIRE(recover(signature, sha256(digest.view())).value() != key.public_key());
        }
    }
}

TEST_CASE("signatures that are not canonical are refused when recovering, not when reading") {
    const Hash256 digest = digest_of(kSignaturesK1[0].digest);
    Signature signature = secret_key(1).sign(digest);
    const auto refused = [&] {
        const auto key = recover(signature, digest);
        REQUIRE_FALSE(key);
        return key.error().detail;
    };
    for (const std::size_t at : {1U, 33U}) {
        const Signature good = signature;
        signature.compact[at] |= std::byte{0x80};
        CHECK(refused() == "is_canonical( c ): signature is not canonical");
        signature.compact[at] = std::byte{0};
        signature.compact[at + 1] &= std::byte{0x7F};
        CHECK(refused() == "is_canonical( c ): signature is not canonical");
        signature = good;
    }
    for (const int first : {0, 26, 35, 255}) {
        signature.compact[0] = static_cast<std::byte>(first);
        CHECK(refused() == "unable to reconstruct public key from signature");
    }

    const Signature zero;
    CHECK(zero.to_string() ==
          "SIG_K1_111111111111111111111111111111111111111111111111111111111111111116uk5ne");
    CHECK(Signature::from_string(zero.to_string()).value() == zero);
    const Bytes bytes = packed(zero);
    Reader in(bytes);
    Signature unpacked;
    decode(in, unpacked, "signature");
    CHECK(unpacked == zero);
    CHECK(in.finish());
    CHECK_FALSE(recover(zero, digest));
}

TEST_CASE("nobody but its signer can make another signature that verify() takes") {
    const Hash256 digest = digest_of(kSignaturesK1[0].digest);
    for (const std::size_t number : {1U, 2U}) {  // K1, R1.
        const base::crypto::PrivateKey key = secret_key(number);
        const Signature good = key.sign(digest);
        REQUIRE(verify(key.public_key(), good, digest));
        // Antelope's form for a key that is not compressed: in a transaction it is good.
        Signature other = good;
        other.compact[0] = static_cast<std::byte>(std::to_integer<int>(good.compact[0]) - 4);
        CHECK(recover(other, digest).value() == key.public_key());
        CHECK_FALSE(verify(key.public_key(), other, digest));
        for (int first = 0; first < 256; ++first) {
            other.compact[0] = static_cast<std::byte>(first);
            CHECK(verify(key.public_key(), other, digest) == (other == good));
        }
    }
}

TEST_CASE("the other s of a K1 signature is not canonical") {
    // The order less s, with the other recovery id, is by the same key.
    const Bytes order =
        base::from_hex("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141").value();
    const Hash256 digest = digest_of(kSignaturesK1[0].digest);
    Signature other = secret_key(1).sign(digest);
    int borrow = 0;
    for (std::size_t i = 32; i-- > 0;) {
        std::byte& s = other.compact[33 + i];
        const int left =
            std::to_integer<int>(order[i]) - std::to_integer<int>(s) - std::exchange(borrow, 0);
        if (left < 0) borrow = 1;
        s = static_cast<std::byte>(left & 0xFF);
    }
    other.compact[0] =
        static_cast<std::byte>(((std::to_integer<int>(other.compact[0]) - 31) ^ 1) + 31);
    CHECK(recover(other, digest).error().detail == "is_canonical( c ): signature is not canonical");
    CHECK_FALSE(verify(secret_key(1).public_key(), other, digest));
}

TEST_CASE("R1 signatures with a high s, a zero or a scalar beyond the order are refused") {
    const Hash256 digest = sha256(as_bytes("x"));
    const Signature good = secret_key(2).sign(digest);
    Signature bad = good;
    bad.compact[33] |= std::byte{0x80};
    CHECK(recover(bad, digest).error().detail ==
          "invalid high s-value encountered in r1 signature");
    for (const std::size_t at : {1U, 33U}) {
        bad = good;
        std::fill_n(bad.compact.begin() + static_cast<std::ptrdiff_t>(at), 32, std::byte{0});
        CHECK_FALSE(recover(bad, digest));
    }
    bad = good;
    std::fill_n(bad.compact.begin() + 1, 32, std::byte{0xFF});
    CHECK_FALSE(recover(bad, digest));
    bad = good;
    bad.compact[0] = std::byte{33};  // r plus the order is not below the field's prime.
    CHECK_FALSE(recover(bad, digest));
}

TEST_CASE("wrong public keys are refused with the texts of nodeos") {
    constexpr std::uint32_t kAssert = 10;
    refuses<PublicKey>("EOSx", "bin.size() == sizeof(data_type) + sizeof(uint32_t): ", kAssert);
    refuses<PublicKey>("EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CW",
                       "wrapper::calculate_checksum(wrapped.data) == wrapped.check: ",
                       kAssert);
    refuses<PublicKey>("EOS0", "Unable to decode base58 string 0", 4);
    refuses<PublicKey>("",
                       "pivot != std::string::npos: No delimiter in string, cannot determine data "
                       "type: ",
                       kAssert);
    refuses<PublicKey>(
        "PUX_K1_6", "prefix == prefix_str: Public Key has invalid prefix: PUX_K1_6", kAssert);
    refuses<PublicKey>("PUB_", "!data_str.empty(): Public Key has no data: PUB_", kAssert);
    refuses<PublicKey>("PUB_K1",
                       "pivot != std::string::npos: No delimiter in data, cannot determine suite "
                       "type: K1",
                       kAssert);
    refuses<PublicKey>(
        "PUB_K1_", "!data_str.empty(): Data only has suite type prefix: K1_", kAssert);
    refuses<PublicKey>("PUB_XX_abc", "false: No matching suite type for XX_abc", kAssert);
    refuses<PublicKey>("PUB_K1_6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5BoDq64",
                       "checksum == wrapped.check: ",
                       kAssert);
    refuses<PublicKey>("PUB_R1_6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5BoDq63",
                       "checksum == wrapped.check: ",
                       kAssert);
    refuses<PublicKey>("PUB_K1_6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5BoDq63111",
                       "!unpacker.remaining(): decoded base58 length too long",
                       kAssert);
    refuses<PublicKey>("PUB_K1_11", "read datastream of length 2 over by -1", 8);
}

TEST_CASE("wrong private keys are refused with the texts of nodeos") {
    refuses<PrivateKey>("5Kxxx", "wif_bytes.size() >= 5: ", 10);
    refuses<PrivateKey>("", "wif_bytes.size() >= 5: ", 10);
    refuses<PrivateKey>("EOS8SWCBJo9f4e6iY62vuD4RvmLF6GGG3UHoGAXcg5kPGJN2XQhv8",
                        "Unable to decode base58 string "
                        "EOS8SWCBJo9f4e6iY62vuD4RvmLF6GGG3UHoGAXcg5kPGJN2XQhv8",
                        4);
    refuses<PrivateKey>("PVT_WA_11", "false: No matching suite type for WA_11", 10);
    CHECK_FALSE(PrivateKey::from_string("5KQwrPbwdL6PhXujxW37FSSQZ1JiwsST4cqQzDeyXtP79zkvFD4"));
    CHECK(PrivateKey::from_secret(KeyType::k1, Bytes(32)).error().code == Errc::invalid);
    CHECK(PrivateKey::from_secret(KeyType::r1, Bytes(32, std::byte{0xFF})).error().code ==
          Errc::invalid);
    CHECK(PrivateKey::from_secret(KeyType::r1, Bytes(31, std::byte{1})).error().code ==
          Errc::invalid);
    CHECK(PrivateKey::from_secret(KeyType::webauthn, Bytes(32, std::byte{1})).error().code ==
          Errc::invalid);
}

TEST_CASE("points that are not on their curve are readable but known as such") {
    PublicKey key = secret_key(0).public_key();
    key.point.fill(std::byte{2});
    key.point[32] = std::byte{5};
    PublicKey zero;
    CHECK_FALSE(is_on_curve(zero));
    zero.type = KeyType::r1;
    CHECK_FALSE(is_on_curve(zero));
    CHECK(PublicKey::from_string(zero.to_string()).value() == zero);
    std::size_t off_curve = 0;
    for (const KeyType type : {KeyType::k1, KeyType::r1}) {
        key.type = type;
        for (int i = 0; i < 64; ++i) {
            key.point[31] = static_cast<std::byte>(i);
            off_curve += is_on_curve(key) ? 0U : 1U;
        }
    }
    CHECK(off_curve > 32);
    CHECK(off_curve < 96);
}

TEST_CASE("foreign binary keys are refused") {
    const auto refused = [](std::string_view hex) {
        const Bytes bytes = from_hex(hex).value();
        Reader in(bytes);
        PublicKey key;
        decode(in, key, "key");
        return !in.finish();
    };
    const std::string point(66, '0');
    CHECK_FALSE(refused("00" + point));
    CHECK(refused("03" + point));
    CHECK(refused("00"));
    CHECK(refused("00" + point + "00"));
    CHECK_FALSE(refused("02" + point + "00" + "0161"));
    CHECK(refused("02" + point + "00" + "00"));    // No relying party.
    CHECK(refused("02" + point + "03" + "0161"));  // No such presence.
    CHECK(refused("02" + point + "00" + "8002" + std::string(512, '6')));
}
