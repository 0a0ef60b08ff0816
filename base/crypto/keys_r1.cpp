// NIST P-256, written over OpenSSL's points and numbers: its ready-made ECDSA neither recovers
// keys nor signs deterministically.
#include "base/check.hpp"
#include "base/crypto/curves.hpp"
#include "base/crypto/hash.hpp"
#include "base/crypto/wipe.hpp"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/obj_mac.h>

#include <memory>
#include <optional>

namespace base::crypto::r1 {

namespace {

struct Free {
    void operator()(BIGNUM* number) const { BN_clear_free(number); }
    void operator()(BN_CTX* context) const { BN_CTX_free(context); }
    void operator()(EC_POINT* point) const { EC_POINT_clear_free(point); }
};
using Number = std::unique_ptr<BIGNUM, Free>;
using CurvePoint = std::unique_ptr<EC_POINT, Free>;

// Made once and kept; only read afterwards.
const EC_GROUP* group() {
    static const EC_GROUP* const kGroup = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    CHECK(kGroup != nullptr);
    return kGroup;
}

const BIGNUM* order() {
    return EC_GROUP_get0_order(group());
}

// One call's working space. OpenSSL clears it when it frees it. It is not in the area for secrets
// (secret.hpp), which may be full and has one lock: keys are recovered here, too, by many threads.
struct Work {
    std::unique_ptr<BN_CTX, Free> context{BN_CTX_new()};

    Work() { CHECK(context != nullptr); }
    [[nodiscard]] BN_CTX* get() const { return context.get(); }
};

Number number() {
    Number out(BN_new());
    CHECK(out != nullptr);
    return out;
}

Number number(ByteView bytes) {
    Number out(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                         static_cast<int>(bytes.size()),
                         nullptr));
    CHECK(out != nullptr);
    return out;
}

// As number(), for a secret: OpenSSL then takes its constant-time paths.
Number secret_number(ByteView bytes) {
    Number out = number(bytes);
    BN_set_flags(out.get(), BN_FLG_CONSTTIME);
    return out;
}

void store(const BIGNUM* value, std::byte* out) {
    CHECK(BN_bn2binpad(value, reinterpret_cast<unsigned char*>(out), 32) == 32);
}

bool is_scalar(const BIGNUM* value) {
    return !BN_is_zero(value) && BN_cmp(value, order()) < 0;
}

bool is_high(const BIGNUM* s) {
    const Number half = number();
    CHECK(BN_rshift1(half.get(), order()) == 1);
    return BN_cmp(s, half.get()) > 0;
}

CurvePoint new_point() {
    CurvePoint out(EC_POINT_new(group()));
    CHECK(out != nullptr);
    return out;
}

Point serialize(const EC_POINT* point, const Work& work) {
    Point out{};
    CHECK(EC_POINT_point2oct(group(),
                             point,
                             POINT_CONVERSION_COMPRESSED,
                             reinterpret_cast<unsigned char*>(out.data()),
                             out.size(),
                             work.get()) == out.size());
    return out;
}

// The nonces of RFC 6979 (section 3.2) with HMAC-SHA-256, as many as are asked for.
class Nonces {
  public:
    Nonces(const Secret& secret, const Hash256& digest) {
        // bits2octets: the digest reduced once; both are below twice the order.
        std::array<std::byte, 32> reduced{};
        const Number z = number(digest.view());
        if (BN_cmp(z.get(), order()) >= 0) CHECK(BN_sub(z.get(), z.get(), order()) == 1);
        store(z.get(), reduced.data());
        v_.bytes.fill(std::byte{1});
        for (const int separator : {0, 1}) {
            mix(separator, secret, reduced);
        }
    }
    ~Nonces() {
        secure_wipe(k_.bytes);
        secure_wipe(v_.bytes);
    }
    Nonces(const Nonces&) = delete;
    Nonces& operator=(const Nonces&) = delete;

    [[nodiscard]] Number next() {
        while (true) {
            if (used_) mix(0, {}, {});
            used_ = true;
            v_ = hmac_sha256(k_.view(), v_.view());
            Number nonce = secret_number(v_.view());
            if (is_scalar(nonce.get())) return nonce;
        }
    }

  private:
    void mix(int separator, ByteView a, ByteView b) {
        Bytes text = to_bytes(v_.view());
        text.reserve(v_.bytes.size() + 1 + a.size() + b.size());
        text.push_back(static_cast<std::byte>(separator));
        text.insert(text.end(), a.begin(), a.end());
        text.insert(text.end(), b.begin(), b.end());
        k_ = hmac_sha256(k_.view(), text);
        secure_wipe(text);
        v_ = hmac_sha256(k_.view(), v_.view());
    }

    Hash256 k_;
    Hash256 v_;
    bool used_ = false;
};

// One attempt with nonce k; empty when r or s is zero (which never happens by chance).
std::optional<Compact> sign_with(const BIGNUM* k,
                                 const Secret& secret,
                                 const Hash256& digest,
                                 const Work& work) {
    const CurvePoint big_r = new_point();
    const Number x = number();
    const Number y = number();
    CHECK(EC_POINT_mul(group(), big_r.get(), k, nullptr, nullptr, work.get()) == 1);
    CHECK(EC_POINT_get_affine_coordinates(group(), big_r.get(), x.get(), y.get(), work.get()) == 1);
    const Number r = number();
    CHECK(BN_nnmod(r.get(), x.get(), order(), work.get()) == 1);

    const Number d = secret_number(secret);
    const Number s = secret_number({});
    const Number inverse = secret_number({});
    const Number z = number(digest.view());
    CHECK(BN_mod_mul(s.get(), r.get(), d.get(), order(), work.get()) == 1);
    CHECK(BN_mod_add(s.get(), s.get(), z.get(), order(), work.get()) == 1);
    CHECK(BN_mod_inverse(inverse.get(), k, order(), work.get()) != nullptr);
    CHECK(BN_mod_mul(s.get(), s.get(), inverse.get(), order(), work.get()) == 1);
    if (BN_is_zero(r.get()) || BN_is_zero(s.get())) return std::nullopt;

    int recovery_id = (BN_is_odd(y.get()) != 0 ? 1 : 0) + (BN_cmp(x.get(), order()) >= 0 ? 2 : 0);
    if (is_high(s.get())) {
        CHECK(BN_sub(s.get(), order(), s.get()) == 1);
        recovery_id ^= 1;  // -s belongs to -R.
    }
    Compact out{};
    out[0] = static_cast<std::byte>(recovery_id + 31);
    store(r.get(), out.data() + 1);
    store(s.get(), out.data() + 33);
    return out;
}

// The point R with r as x-coordinate that the recovery id means, or null.
CurvePoint nonce_point(const BIGNUM* r, int recovery_id, const Work& work) {
    const Number x(BN_dup(r));
    CHECK(x != nullptr);
    if ((recovery_id & 2) != 0) CHECK(BN_add(x.get(), x.get(), order()) == 1);
    if (BN_cmp(x.get(), EC_GROUP_get0_field(group())) >= 0) return nullptr;
    CurvePoint point = new_point();
    const int odd = recovery_id & 1;
    if (EC_POINT_set_compressed_coordinates(group(), point.get(), x.get(), odd, work.get()) != 1) {
        return nullptr;
    }
    return point;
}

// Q = (s R - z G) / r, or null when it is no point.
CurvePoint public_point_of(
    const EC_POINT* nonce, const BIGNUM* r, const BIGNUM* s, const BIGNUM* z, const Work& work) {
    const Number inverse = number();
    const Number u1 = number();
    const Number u2 = number();
    CHECK(BN_mod_inverse(inverse.get(), r, order(), work.get()) != nullptr);
    CHECK(BN_mod_mul(u2.get(), s, inverse.get(), order(), work.get()) == 1);
    CHECK(BN_mod_mul(u1.get(), z, inverse.get(), order(), work.get()) == 1);
    CHECK(BN_mod_sub(u1.get(), order(), u1.get(), order(), work.get()) == 1);
    CurvePoint key = new_point();
    CHECK(EC_POINT_mul(group(), key.get(), u1.get(), nonce, u2.get(), work.get()) == 1);
    return EC_POINT_is_at_infinity(group(), key.get()) != 0 ? nullptr : std::move(key);
}

}  // namespace

bool in_range(const Secret& secret) {
    return is_scalar(secret_number(secret).get());
}

Point public_point(const Secret& secret) {
    const Work work;
    const CurvePoint point = new_point();
    const Number d = secret_number(secret);
    CHECK(EC_POINT_mul(group(), point.get(), d.get(), nullptr, nullptr, work.get()) == 1);
    return serialize(point.get(), work);
}

Compact sign(const Secret& secret, const Hash256& digest) {
    const Work work;
    Nonces nonces(secret, digest);
    while (true) {
        if (const auto out = sign_with(nonces.next().get(), secret, digest, work)) return *out;
    }
}

Result<Point> recover(const Compact& signature, const Hash256& digest, bool high_s_allowed) {
    constexpr const char* kUnable = "unable to reconstruct public key from signature";
    const int first = std::to_integer<int>(signature[0]);
    if (first < 27 || first >= 35) return fail(Errc::invalid, kUnable);
    const ByteView view = signature;
    const Number r = number(view.subspan(1, 32));
    const Number s = number(view.subspan(33, 32));
    if (!high_s_allowed && is_high(s.get())) {
        return fail(Errc::invalid, "invalid high s-value encountered in r1 signature");
    }
    if (!is_scalar(r.get()) || !is_scalar(s.get())) return fail(Errc::invalid, kUnable);
    const Work work;
    const CurvePoint nonce = nonce_point(r.get(), (first - 27) & 3, work);
    if (nonce == nullptr) return fail(Errc::invalid, kUnable);
    const Number z = number(digest.view());
    const CurvePoint key = public_point_of(nonce.get(), r.get(), s.get(), z.get(), work);
    if (key == nullptr) return fail(Errc::invalid, kUnable);
    return serialize(key.get(), work);
}

bool is_on_curve(const Point& point) {
    if (point[0] != std::byte{2} && point[0] != std::byte{3}) return false;
    const Work work;
    const CurvePoint parsed = new_point();
    return EC_POINT_oct2point(group(),
                              parsed.get(),
                              reinterpret_cast<const unsigned char*>(point.data()),
                              point.size(),
                              work.get()) == 1;
}

}  // namespace base::crypto::r1
