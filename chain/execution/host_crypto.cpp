#include "base/crypto/hash.hpp"
#include "base/crypto/keys.hpp"
#include "chain/execution/apply_context.hpp"
#include "chain/execution/host_groups.hpp"
#include "chain/execution/host_primitives.hpp"

#include <algorithm>
#include <array>

namespace chain::host {

namespace {

constexpr int32_t kFailure = -1;  // What the primitives return for arguments they refuse.
constexpr int32_t kSuccess = 0;

template <auto Digest>
using DigestOf = decltype(Digest(base::ByteView{}, GoesOn{}));

template <auto Digest>
Result<void> hash(const Call& call, Input data, Out<DigestOf<Digest>> out) {
    out.set(Digest(data.bytes, call.goes_on()));
    return {};
}

template <auto Digest>
Result<void> assert_hash(const Call& call, Input data, In<DigestOf<Digest>> expected) {
    if (Digest(data.bytes, call.goes_on()) == expected.value) return {};
    return fail(Exception::crypto_api_exception, "hash mismatch");
}

Result<PublicKey> recover_from(const Call& call, const base::Hash256& digest, Input packed) {
    auto signature = unpack_start<Signature>(packed.bytes, "signature");
    if (!signature) return base::fail(std::move(signature).error());
    if (signature->type != base::crypto::KeyType::k1) {
        if (auto paid = call.charge(call.price(Cost::recover_r1).base); !paid)
            return base::fail(paid.error());
    }
    return base::crypto::recover(*signature, digest);
}

Result<void> assert_recover_key(const Call& call,
                                In<base::Hash256> digest,
                                Input signature,
                                Input expected) {
    const auto key = unpack_start<PublicKey>(expected.bytes, "public key");
    if (!key) return base::fail(key.error());
    const Result<PublicKey> recovered = recover_from(call, digest.value, signature);
    if (!recovered) return base::fail(recovered.error());
    if (*recovered == *key) return {};
    return fail(Exception::crypto_api_exception, "Error expected key different than recovered key");
}

Result<int32_t> recover_key(const Call& call,
                            In<base::Hash256> digest,
                            Input signature,
                            Output out) {
    const Result<PublicKey> recovered = recover_from(call, digest.value, signature);
    if (!recovered) return base::fail(recovered.error());
    base::Writer packed;
    base::crypto::encode(packed, *recovered);
    const base::Bytes& bytes = packed.view();
    const bool variable = recovered->type == base::crypto::KeyType::webauthn;
    // A key of fixed length must fit; of a longer one as much as fits is copied.
    if (variable && out.bytes.size() < 33) {
        return fail(Exception::wasm_execution_error,
                    "destination buffer must at least be able to hold an ECC public key");
    }
    if (!variable && out.bytes.size() < bytes.size()) {
        return fail(Exception::out_of_range_exception,
                    "the buffer for a public key has " + std::to_string(out.bytes.size()) +
                        " bytes; it needs " + std::to_string(bytes.size()));
    }
    std::copy_n(bytes.begin(), std::min(bytes.size(), out.bytes.size()), out.bytes.begin());
    return static_cast<int32_t>(bytes.size());
}

int32_t give(base::ByteView bytes, const ExclusiveOutput& out) {
    if (out.bytes.size() < bytes.size()) return kFailure;
    std::ranges::copy(bytes, out.bytes.begin());
    return kSuccess;
}

// SHA3-256, or Keccak-256 as Ethereum has it when the last argument is 1.
Result<void> sha3(const Call& call, ExclusiveInput data, ExclusiveOutput out, int32_t keccak) {
    const base::Hash256 digest = keccak == 1 ? base::crypto::keccak256(data.bytes, call.goes_on())
                                             : base::crypto::sha3_256(data.bytes, call.goes_on());
    std::copy_n(
        digest.bytes.begin(), std::min(digest.bytes.size(), out.bytes.size()), out.bytes.begin());
    return {};
}

Result<int32_t> k1_recover_key(const Call&,
                               ExclusiveInput signature,
                               ExclusiveInput digest,
                               ExclusiveOutput out) {
    const auto key = k1_recover(signature.bytes, digest.bytes);
    return key ? give(*key, out) : kFailure;
}

// nodeos' function has seven parameters, six of them ranges.
// NOLINTNEXTLINE(readability-function-size)
Result<int32_t> blake2(const Call& call,
                       uint32_t rounds,
                       ExclusiveInput state,
                       ExclusiveInput message,
                       ExclusiveInput offset_low,
                       ExclusiveInput offset_high,
                       int32_t final,
                       ExclusiveOutput out) {
    if (state.bytes.size() != 64 || message.bytes.size() != 128 || offset_low.bytes.size() != 8 ||
        offset_high.bytes.size() != 8) {
        return kFailure;
    }
    if (auto paid = call.charge(rounds * std::uint64_t{call.price(Cost::blake2_round).base});
        !paid) {
        return base::fail(paid.error());
    }
    const base::Hash512 result = blake2_f(rounds,
                                          {.state = state.bytes,
                                           .message = message.bytes,
                                           .offset_low = offset_low.bytes,
                                           .offset_high = offset_high.bytes,
                                           .final = final == 1},
                                          call.goes_on());
    return give(result.view(), out);
}

Result<int32_t> mod_exponent(const Call& call,
                             ExclusiveInput base_number,
                             ExclusiveInput exponent,
                             ExclusiveInput modulus,
                             ExclusiveOutput out) {
    const ModExp input{base_number.bytes, exponent.bytes, modulus.bytes};
    if (!mod_exp_size_allowed(input)) {
        const bool too_long =
            std::max(input.base.size(), input.modulus.size()) < input.exponent.size();
        return fail(Exception::subjective_block_production_exception,
                    too_long ? "mod_exp restriction: exponent bit size cannot exceed bit size of "
                               "either base or modulus"
                             : "mod_exp restriction: bit size too large for input arguments");
    }
    if (input.modulus.empty()) return kFailure;
    const std::uint64_t steps = mod_exp_units(input) * call.price(Cost::mod_exp_step).base;
    if (auto paid = call.charge(steps); !paid) return base::fail(paid.error());
    return give(mod_exp(input, call.goes_on()), out);
}

// There is no library of Debian for these curves.
Result<int32_t> refuse_curve(std::string_view name) {
    return fail(Exception::unsupported_feature,
                std::string(name) + " is not supported by this node");
}

// A name as a template argument.
template <std::size_t N>
struct FixedName {
    std::array<char, N> letters{};
    // NOLINTNEXTLINE(google-explicit-constructor)
    consteval FixedName(const char (&text)[N]) { std::copy_n(text, N, letters.begin()); }
    [[nodiscard]] constexpr std::string_view view() const { return {letters.data(), N - 1}; }
};

template <FixedName kName, class... Args>
Result<int32_t> refused(const Call&, Args...) {
    return refuse_curve(kName.view());
}

template <FixedName kName, class... Args>
void add_refused(Functions& out) {
    add<&refused<kName, Args...>, Access::anyone, Cost::refused>(out, std::string(kName.view()));
}

void add_curves(Functions& out) {
    using In = ExclusiveInput;
    using Out = ExclusiveOutput;
    add_refused<"alt_bn128_add", In, In, Out>(out);
    add_refused<"alt_bn128_mul", In, In, Out>(out);
    add_refused<"alt_bn128_pair", In>(out);
    add_refused<"bls_g1_add", In, In, Out>(out);
    add_refused<"bls_g2_add", In, In, Out>(out);
    add_refused<"bls_g1_weighted_sum", In, In, uint32_t, Out>(out);
    add_refused<"bls_g2_weighted_sum", In, In, uint32_t, Out>(out);
    add_refused<"bls_pairing", In, In, uint32_t, Out>(out);
    add_refused<"bls_g1_map", In, Out>(out);
    add_refused<"bls_g2_map", In, Out>(out);
    add_refused<"bls_fp_mod", In, Out>(out);
    add_refused<"bls_fp_mul", In, In, Out>(out);
    add_refused<"bls_fp_exp", In, In, Out>(out);
}

}  // namespace

void add_crypto(Functions& out) {
    using base::crypto::ripemd160;
    using base::crypto::sha1;
    using base::crypto::sha256;
    using base::crypto::sha512;
    add<&assert_recover_key, Access::anyone, Cost::recover>(out, "assert_recover_key");
    add<&recover_key, Access::anyone, Cost::recover>(out, "recover_key");
    add<&assert_hash<&sha256>, Access::anyone, Cost::sha256>(out, "assert_sha256");
    add<&assert_hash<&sha1>, Access::anyone, Cost::sha1>(out, "assert_sha1");
    add<&assert_hash<&sha512>, Access::anyone, Cost::sha512>(out, "assert_sha512");
    add<&assert_hash<&ripemd160>, Access::anyone, Cost::ripemd160>(out, "assert_ripemd160");
    add<&hash<&sha256>, Access::anyone, Cost::sha256>(out, "sha256");
    add<&hash<&sha1>, Access::anyone, Cost::sha1>(out, "sha1");
    add<&hash<&sha512>, Access::anyone, Cost::sha512>(out, "sha512");
    add<&hash<&ripemd160>, Access::anyone, Cost::ripemd160>(out, "ripemd160");
    add<&sha3, Access::anyone, Cost::sha3>(out, "sha3");
    add<&k1_recover_key, Access::anyone, Cost::recover>(out, "k1_recover");
    add<&blake2, Access::anyone, Cost::blake2>(out, "blake2_f");
    add<&mod_exponent, Access::anyone, Cost::mod_exp>(out, "mod_exp");
    add_curves(out);
}

}  // namespace chain::host
