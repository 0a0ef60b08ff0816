// The text forms of keys and signatures, with the messages of nodeos where it refuses them.
#include "base/check.hpp"
#include "base/crypto/base58.hpp"
#include "base/crypto/curves.hpp"
#include "base/crypto/hash.hpp"
#include "base/crypto/wipe.hpp"

#include <algorithm>

namespace base::crypto {

namespace {

constexpr std::uint32_t kOutOfRange = 8;  // fc's out_of_range_exception.
constexpr std::size_t kChecksum = 4;
constexpr std::string_view kLegacyPrefix = "EOS";

std::string_view suite_name(KeyType type) {
    switch (type) {
        case KeyType::k1:
            return "K1";
        case KeyType::r1:
            return "R1";
        case KeyType::webauthn:
            return "WA";
    }
    CHECK(false);
}

// `data` || `end`, made at once: what a list grows out of is not wiped.
Bytes joined(ByteView data, ByteView end) {
    Bytes all;
    all.reserve(data.size() + end.size());
    all.assign(data.begin(), data.end());
    all.insert(all.end(), end.begin(), end.end());
    return all;
}

// The first four bytes of ripemd160(data || suffix).
Bytes checksum(ByteView data, std::string_view suffix) {
    Bytes text = joined(data, as_bytes(suffix));
    const Hash160 hash = ripemd160(text);
    secure_wipe(text);
    return to_bytes(hash.view().first(kChecksum));
}

// base58(data || checksum).
std::string checked_text(ByteView data, std::string_view suffix) {
    Bytes all = joined(data, checksum(data, suffix));
    std::string text = to_base58(all);
    secure_wipe(all);
    return text;
}

// nodeos unpacks from a stream; this is its complaint when `wanted` bytes at `at` are missing.
Error stream_error(std::size_t size, std::size_t at) {
    const auto left = static_cast<std::int64_t>(size) - static_cast<std::int64_t>(at);
    return Error{Errc::malformed,
                 "read datastream of length " + std::to_string(size) + " over by " +
                     std::to_string(1 - left),
                 kOutOfRange};
}

Result<Bytes> without_checksum(Bytes all, KeyType type) {
    const std::size_t size = all.size() - kChecksum;
    const ByteView view = all;
    if (!equal(checksum(view.first(size), suite_name(type)), view.subspan(size))) {
        return fail(assertion(Errc::malformed, "checksum == wrapped.check: "));
    }
    secure_wipe(std::span(all).subspan(size));
    all.resize(size);
    return all;
}

// What stands behind "PUB_K1_" and the like, decoded: the suite and the checked data.
struct Suite {
    KeyType type = KeyType::k1;
    Bytes data;
};

// The words in the messages for one kind of text.
struct Kind {
    std::string_view prefix;          // "PUB"
    std::string_view prefix_message;  // "Public Key has invalid prefix"
    std::string_view empty_message;
    std::string_view no_delimiter;
    std::size_t fixed_bytes;  // Of the K1 and R1 forms.
    bool has_webauthn;
};

constexpr Kind kPublic = {
    "PUB",
    "prefix == prefix_str: Public Key has invalid prefix: ",
    "!data_str.empty(): Public Key has no data: ",
    "pivot != std::string::npos: No delimiter in string, cannot determine data type: ",
    33,
    true};
constexpr Kind kPrivate = {"PVT",
                           "prefix == prefix_str: Private Key has invalid prefix: ",
                           "!data_str.empty(): Private Key has no data: ",
                           "",
                           32,
                           false};
constexpr Kind kSignature = {
    "SIG",
    "prefix == prefix_str: Signature Key has invalid prefix: ",
    "!data_str.empty(): Signature has no data: ",
    "pivot != std::string::npos: No delimiter in string, cannot determine type: ",
    65,
    true};

Error refused(std::string_view message, std::string_view text) {
    return assertion(Errc::malformed, std::string(message) + std::string(text));
}

Result<Bytes> decode_data(const Kind& kind, KeyType type, std::string_view text) {
    auto all = from_base58(text);
    if (!all) return fail(all.error());
    const std::size_t fixed = kind.fixed_bytes;
    if (all->size() < fixed) return fail(stream_error(all->size(), 0));
    if (all->size() < fixed + kChecksum) return fail(stream_error(all->size(), fixed));
    if (type != KeyType::webauthn && all->size() > fixed + kChecksum) {
        secure_wipe(*all);
        return fail(
            assertion(Errc::malformed, "!unpacker.remaining(): decoded base58 length too long"));
    }
    return without_checksum(std::move(*all), type);
}

Result<Suite> parse_suite(const Kind& kind, std::string_view text) {
    const std::size_t pivot = text.find('_');
    if (pivot == std::string_view::npos) return fail(refused(kind.no_delimiter, text));
    if (text.substr(0, pivot) != kind.prefix) return fail(refused(kind.prefix_message, text));
    const std::string_view rest = text.substr(pivot + 1);
    if (rest.empty()) return fail(refused(kind.empty_message, text));

    const std::size_t second = rest.find('_');
    if (second == std::string_view::npos) {
        return fail(
            refused("pivot != std::string::npos: No delimiter in data, cannot determine "
                    "suite type: ",
                    rest));
    }
    const std::string_view name = rest.substr(0, second);
    const std::string_view data = rest.substr(second + 1);
    if (data.empty()) {
        return fail(refused("!data_str.empty(): Data only has suite type prefix: ", rest));
    }
    for (const KeyType type : {KeyType::k1, KeyType::r1, KeyType::webauthn}) {
        if (name != suite_name(type) || (type == KeyType::webauthn && !kind.has_webauthn)) continue;
        auto decoded = decode_data(kind, type, data);
        if (!decoded) return fail(decoded.error());
        return Suite{type, std::move(*decoded)};
    }
    return fail(refused("false: No matching suite type for ", rest));
}

// The binary form of `value` without the type byte, which the text names by its prefix.
template <class T>
Bytes body_of(const T& value) {
    Writer out;
    encode(out, value);
    Bytes bytes = out.take();
    bytes.erase(bytes.begin());
    return bytes;
}

// The value that a text of this kind has.
template <class T>
Result<T> read_text(const Kind& kind, std::string_view text, std::string_view what) {
    const auto suite = parse_suite(kind, text);
    if (!suite) return fail(suite.error());
    Bytes bytes(1 + suite->data.size());
    bytes.front() = static_cast<std::byte>(suite->type);
    std::copy(suite->data.begin(), suite->data.end(), bytes.begin() + 1);
    Reader in(bytes);
    T value;
    decode(in, value, what);
    if (const auto read = in.finish(); !read) return fail(read.error());
    return value;
}

Result<PublicKey> parse_legacy(std::string_view text) {
    const auto all = from_base58(text.substr(kLegacyPrefix.size()));
    if (!all) return fail(all.error());
    if (all->size() != kPublic.fixed_bytes + kChecksum) {
        return fail(
            assertion(Errc::malformed, "bin.size() == sizeof(data_type) + sizeof(uint32_t): "));
    }
    PublicKey key;
    const ByteView point = ByteView(*all).first(key.point.size());
    if (!equal(checksum(point, {}), ByteView(*all).subspan(key.point.size()))) {
        return fail(assertion(Errc::malformed,
                              "wrapper::calculate_checksum(wrapped.data) == wrapped.check: "));
    }
    std::memcpy(key.point.data(), point.data(), point.size());
    return key;
}

constexpr std::size_t kWifBytes = 1 + 32 + kChecksum;
constexpr std::byte kWifVersion{0x80};

Result<PrivateKey> parse_wif(std::string_view text) {
    auto all = from_base58(text);
    if (!all) return fail(all.error());
    if (all->size() < 5) return fail(assertion(Errc::malformed, "wif_bytes.size() >= 5: "));
    const ByteView data = ByteView(*all).first(all->size() - kChecksum);
    const ByteView check = ByteView(*all).last(kChecksum);
    const Hash256 once = sha256(data);
    const Hash256 twice = sha256(once.view());
    if (!equal(once.view().first(kChecksum), check) &&
        !equal(twice.view().first(kChecksum), check)) {
        secure_wipe(*all);
        return fail(assertion(
            Errc::malformed,
            "memcmp( (char*)&check, wif_bytes.data() + wif_bytes.size() - 4, 4 ) == 0 || memcmp( "
            "(char*)&check2, wif_bytes.data() + wif_bytes.size() - 4, 4 ) == 0: "));
    }
    // nodeos cuts or pads keys of another length, silently; such a text is a mistake.
    if (all->size() != kWifBytes || all->front() != kWifVersion) {
        secure_wipe(*all);
        return fail(assertion(Errc::malformed,
                              "a private key in WIF has a version byte 0x80, 32 bytes and a "
                              "checksum of 4 bytes"));
    }
    auto key = PrivateKey::from_secret(KeyType::k1, data.subspan(1));
    secure_wipe(*all);
    return key;
}

}  // namespace

std::string PublicKey::to_string() const {
    if (type == KeyType::k1) return std::string(kLegacyPrefix) + checked_text(point, {});
    return to_new_string();
}

std::string PublicKey::to_new_string() const {
    const std::string name(suite_name(type));
    return "PUB_" + name + "_" + checked_text(body_of(*this), name);
}

Result<PublicKey> PublicKey::from_string(std::string_view text) {
    if (text.size() > kLegacyPrefix.size() && text.starts_with(kLegacyPrefix) &&
        text.find('_') == std::string_view::npos) {
        return parse_legacy(text);
    }
    return read_text<PublicKey>(kPublic, text, "public key");
}

std::string Signature::to_string() const {
    const std::string name(suite_name(type));
    return "SIG_" + name + "_" + checked_text(body_of(*this), name);
}

Result<Signature> Signature::from_string(std::string_view text) {
    return read_text<Signature>(kSignature, text, "signature");
}

std::string PrivateKey::to_string() const {
    if (type_ != KeyType::k1) return to_new_string();
    std::array<std::byte, kWifBytes> all{kWifVersion};
    std::ranges::copy(secret_.bytes(), all.begin() + 1);
    const Hash256 check = sha256(sha256(ByteView(all).first(kWifBytes - kChecksum)).view());
    std::copy_n(check.bytes.begin(), kChecksum, all.end() - kChecksum);
    std::string text = to_base58(all);
    secure_wipe(all);
    return text;
}

std::string PrivateKey::to_new_string() const {
    const std::string name(suite_name(type_));
    return "PVT_" + name + "_" + checked_text(secret_.bytes(), name);
}

Result<PrivateKey> PrivateKey::from_string(std::string_view text) {
    if (text.find('_') == std::string_view::npos) return parse_wif(text);
    auto suite = parse_suite(kPrivate, text);
    if (!suite) return fail(suite.error());
    auto key = from_secret(suite->type, suite->data);
    secure_wipe(suite->data);
    return key;
}

}  // namespace base::crypto
