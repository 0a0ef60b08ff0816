#pragma once

#include <bor/bor.hpp>

namespace hashing {

using bor::Bytes;
using bor::print;

template <class Digest, class Function>
void show(const char* label, std::string_view data, Function&& hash) {
    Digest digest;
    hash(data.data(), data.size(), digest.bytes.data());
    print(label, "=", digest, "\n");
}

// All digests of `data`, and the four assertions of them.
inline void all(std::string_view data) {
    using namespace bor::host;  // NOLINT(google-build-using-namespace): what is tested.
    show<bor::Checksum160>("sha1", data, sha1);
    show<bor::Checksum256>("sha256", data, sha256);
    show<bor::Checksum512>("sha512", data, sha512);
    show<bor::Checksum160>("ripemd160", data, ripemd160);
    print("sha3=", bor::sha3(data), "\nkeccak=", bor::sha3(data, true), "\n");
    assert_sha1(data.data(), data.size(), bor::sha1(data).bytes.data());
    assert_sha256(data.data(), data.size(), bor::sha256(data).bytes.data());
    assert_sha512(data.data(), data.size(), bor::sha512(data).bytes.data());
    assert_ripemd160(data.data(), data.size(), bor::ripemd160(data).bytes.data());
}

// One assertion with a digest of zeros.
inline void wrong(std::string_view data, uint8_t kind) {
    using namespace bor::host;  // NOLINT(google-build-using-namespace): what is tested.
    const bor::Checksum512 zeros;
    const uint8_t* digest = zeros.bytes.data();
    if (kind == 0) assert_sha1(data.data(), data.size(), digest);
    if (kind == 1) assert_sha256(data.data(), data.size(), digest);
    if (kind == 2) assert_sha512(data.data(), data.size(), digest);
    if (kind == 3) assert_ripemd160(data.data(), data.size(), digest);
    bor::check(false, "the host let it pass");
}

// The result code, and what was written to `size` bytes of 0xee.
template <class Call>
void show_result(uint32_t size, Call&& call) {
    Bytes out(size, static_cast<char>(0xee));
    const int32_t code = call(out.data(), size);
    print(code, " ", out, "\n");
}

struct BlakeInput {
    uint32_t rounds = 0;
    Bytes state;
    Bytes message;
    Bytes t0;
    Bytes t1;
    bool final_block = false;
};
inline void blake(const BlakeInput& in, uint32_t out_size) {
    show_result(out_size, [&](char* out, uint32_t size) {
        return bor::host::blake2_f(in.rounds,
                                   in.state.data(),
                                   in.state.size(),
                                   in.message.data(),
                                   in.message.size(),
                                   in.t0.data(),
                                   in.t0.size(),
                                   in.t1.data(),
                                   in.t1.size(),
                                   in.final_block ? 1 : 0,
                                   out,
                                   size);
    });
}
inline void modular_power(const Bytes& base,
                          const Bytes& exponent,
                          const Bytes& modulus,
                          uint32_t out_size) {
    show_result(out_size, [&](char* out, uint32_t size) {
        return bor::host::mod_exp(base.data(),
                                  base.size(),
                                  exponent.data(),
                                  exponent.size(),
                                  modulus.data(),
                                  modulus.size(),
                                  out,
                                  size);
    });
}
inline void k1_recover(const Bytes& signature, const Bytes& digest, uint32_t out_size) {
    show_result(out_size, [&](char* out, uint32_t size) {
        return bor::host::k1_recover(
            signature.data(), signature.size(), digest.data(), digest.size(), out, size);
    });
}
// alt_bn128: 0 adds, 1 multiplies, 2 pairs.
inline void curve(uint8_t kind, const Bytes& left, const Bytes& right) {
    if (kind == 2) {
        print(bor::host::alt_bn128_pair(left.data(), left.size()), "\n");
        return;
    }
    const auto function = kind == 0 ? bor::host::alt_bn128_add : bor::host::alt_bn128_mul;
    show_result(64, [&](char* out, uint32_t size) {
        return function(left.data(), left.size(), right.data(), right.size(), out, size);
    });
}

// The functions of BLS12-381 in the order of their declaration; `right` where there are two inputs.
inline void bls(uint8_t kind, const Bytes& left, const Bytes& right, uint32_t out_size) {
    using namespace bor::host;  // NOLINT(google-build-using-namespace): what is tested.
    const char* l = left.data();
    const char* r = right.data();
    const uint32_t ls = left.size();
    const uint32_t rs = right.size();
    show_result(out_size, [&](char* out, uint32_t size) {
        switch (kind) {
            case 0:
                return bls_g1_add(l, ls, r, rs, out, size);
            case 1:
                return bls_g2_add(l, ls, r, rs, out, size);
            case 2:
                return bls_g1_weighted_sum(l, ls, r, rs, 1, out, size);
            case 3:
                return bls_g2_weighted_sum(l, ls, r, rs, 1, out, size);
            case 4:
                return bls_pairing(l, ls, r, rs, 1, out, size);
            case 5:
                return bls_g1_map(l, ls, out, size);
            case 6:
                return bls_g2_map(l, ls, out, size);
            case 7:
                return bls_fp_mod(l, ls, out, size);
            case 8:
                return bls_fp_mul(l, ls, r, rs, out, size);
            default:
                return bls_fp_exp(l, ls, r, rs, out, size);
        }
    });
}

}  // namespace hashing
