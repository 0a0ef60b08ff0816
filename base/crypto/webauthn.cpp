// What a WebAuthn signature claims: the browser's client data are JSON text, of which three
// members of the outermost object matter. The scanner is strict about JSON, keeps its nesting
// on a bounded stack and copies nothing but those members.
#include "base/crypto/curves.hpp"
#include "base/crypto/hash.hpp"

#include <optional>

namespace base::crypto::webauthn {

namespace {

constexpr std::size_t kDepthMax = 32;
constexpr std::string_view kNotJson = "Failed to parse client data JSON";

struct ClientData {
    std::string type;
    std::string challenge;
    std::string origin;
};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

void append_utf8(std::string& out, std::uint32_t code) {
    const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xC0U | code >> 6U);
        put(0x80U | (code & 0x3FU));
    } else if (code < 0x10000) {
        put(0xE0U | code >> 12U);
        put(0x80U | (code >> 6U & 0x3FU));
        put(0x80U | (code & 0x3FU));
    } else {
        put(0xF0U | code >> 18U);
        put(0x80U | (code >> 12U & 0x3FU));
        put(0x80U | (code >> 6U & 0x3FU));
        put(0x80U | (code & 0x3FU));
    }
}

class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(text) {}

    // The members of the outermost object; empty when the text is not JSON, no object, or one
    // of the three members is no string.
    [[nodiscard]] std::optional<ClientData> run() {
        ClientData data;
        skip_space();
        if (!take('{')) return std::nullopt;
        skip_space();
        if (!take('}')) {
            do {
                if (!member(data)) return std::nullopt;
                skip_space();
            } while (take(','));
            if (!take('}')) return std::nullopt;
        }
        skip_space();
        return at_ == text_.size() ? std::optional(std::move(data)) : std::nullopt;
    }

  private:
    bool member(ClientData& data) {
        skip_space();
        std::string name;
        if (!string(name)) return false;
        skip_space();
        if (!take(':')) return false;
        skip_space();
        if (name == "type") return string(data.type);
        if (name == "challenge") return string(data.challenge);
        if (name == "origin") return string(data.origin);
        return value();
    }

    // Skips any value. The closers that are still due stand on the stack.
    bool value() {
        std::string closers;
        do {
            skip_space();
            if (!opening_or_scalar(closers)) return false;
            if (!closings(closers)) return false;
        } while (!closers.empty());
        return true;
    }

    // At a place where a value must stand: a scalar, or the start of a container that is not
    // empty (whose first key, for an object, is consumed), or an empty container.
    bool opening_or_scalar(std::string& closers) {
        std::string ignored;
        while (peek() == '{' || peek() == '[') {
            const char closer = peek() == '{' ? '}' : ']';
            ++at_;
            skip_space();
            if (take(closer)) return true;
            if (closers.size() == kDepthMax) return false;
            closers.push_back(closer);
            if (closer == '}' && !key()) return false;
            skip_space();
        }
        return peek() == '"' ? string(ignored) : scalar();
    }

    // After a value: closes containers, up to the next comma or the end of all.
    bool closings(std::string& closers) {
        while (!closers.empty()) {
            skip_space();
            if (take(',')) {
                skip_space();
                return closers.back() != '}' || key();
            }
            if (!take(closers.back())) return false;
            closers.pop_back();
        }
        return true;
    }

    bool key() {
        std::string ignored;
        if (!string(ignored)) return false;
        skip_space();
        return take(':');
    }

    bool scalar() {
        for (const std::string_view word : {"true", "false", "null"}) {
            if (text_.substr(at_).starts_with(word)) {
                at_ += word.size();
                return true;
            }
        }
        take('-');
        if (!take('0') && !digits()) return false;
        if (take('.') && !digits()) return false;
        if (take('e') || take('E')) {
            if (!take('+')) take('-');
            return digits();
        }
        return true;
    }

    bool digits() {
        const std::size_t start = at_;
        while (is_digit(peek()))
            ++at_;
        return at_ != start;
    }

    bool string(std::string& out) {
        out.clear();
        if (!take('"')) return false;
        while (at_ < text_.size()) {
            const char c = text_[at_++];
            if (c == '"') return true;
            if (static_cast<unsigned char>(c) < 0x20) return false;
            if (c != '\\') {
                out.push_back(c);
            } else if (!escape(out)) {
                return false;
            }
        }
        return false;
    }

    bool escape(std::string& out) {
        constexpr std::string_view kLetters = "\"\\/bfnrt";
        constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
        const char letter = peek();
        ++at_;
        if (letter == 'u') return unicode(out);
        const std::size_t which = kLetters.find(letter);
        if (which == std::string_view::npos || at_ > text_.size()) return false;
        out.push_back(kMeanings[which]);
        return true;
    }

    bool unicode(std::string& out) {
        auto code = hex4();
        if (!code || (*code >= 0xDC00 && *code < 0xE000)) return false;
        if (*code >= 0xD800 && *code < 0xDC00) {
            if (!take('\\') || !take('u')) return false;
            const auto low = hex4();
            if (!low || *low < 0xDC00 || *low >= 0xE000) return false;
            code = 0x10000 + ((*code - 0xD800) << 10U) + (*low - 0xDC00);
        }
        append_utf8(out, *code);
        return true;
    }

    std::optional<std::uint32_t> hex4() {
        const auto bytes = text_.size() - at_ >= 4 ? from_hex(text_.substr(at_, 4))
                                                   : Result<Bytes>(fail(Errc::malformed, {}));
        if (!bytes) return std::nullopt;
        at_ += 4;
        return std::to_integer<std::uint32_t>((*bytes)[0]) << 8U |
               std::to_integer<std::uint32_t>((*bytes)[1]);
    }

    [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool take(char wanted) {
        if (at_ >= text_.size() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }
    void skip_space() {
        while (take(' ') || take('\t') || take('\n') || take('\r')) {
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

// base64url (RFC 4648) of exactly 32 bytes, with or without padding.
std::optional<Hash256> decode_challenge(std::string_view text) {
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    if (text.ends_with('=')) text.remove_suffix(1);
    if (text.size() != 43) return std::nullopt;
    Hash256 hash;
    std::uint32_t bits = 0;
    std::size_t have = 0;
    std::size_t at = 0;
    for (const char c : text) {
        const std::size_t value = kAlphabet.find(c);
        if (value == std::string_view::npos) return std::nullopt;
        bits = (bits << 6U | static_cast<std::uint32_t>(value)) & 0xFFFFU;
        have += 6;
        if (have >= 8) {
            have -= 8;
            hash.bytes[at++] = static_cast<std::byte>(bits >> have & 0xFFU);
        }
    }
    return hash;
}

constexpr std::string_view kScheme = "https://";

// The host of an origin, without a port.
std::string_view host_of(std::string_view origin) {
    const std::string_view rest = origin.substr(kScheme.size());
    return rest.substr(0, rest.rfind(':'));
}

}  // namespace

Result<Assertion> check(const Signature& signature, const Hash256& digest) {
    const auto refuse = [](std::string_view expression, std::string_view text) {
        return fail(assertion(Errc::invalid, std::string(expression) + ": " + std::string(text)));
    };
    const auto data = Scanner(signature.client_json).run();
    if (!data) {
        return refuse("reader.Parse<detail::rapidjson::kParseIterativeFlag>(ss, handler)",
                      kNotJson);
    }
    if (data->type != "webauthn.get") {
        return refuse("handler.found_type == \"webauthn.get\"",
                      "webauthn signature type not an assertion");
    }
    if (decode_challenge(data->challenge) != digest) {
        return refuse("fc::sha256(challenge_bytes.data(), challenge_bytes.size()) == digest",
                      "Wrong webauthn challenge");
    }
    if (!data->origin.starts_with(kScheme)) {
        return refuse("handler.found_origin.compare(0, https_len, required_origin_scheme) == 0",
                      "webauthn origin must begin with https://");
    }
    constexpr std::size_t kAuthDataMin = 37;  // Hash of the host, flags, a counter.
    if (signature.auth_data.size() < kAuthDataMin) {
        return refuse("c.auth_data.size() >= min_auth_data_size",
                      "auth_data not as large as required");
    }
    Assertion out;
    out.relying_party = host_of(data->origin);
    const ByteView auth_data = signature.auth_data;
    if (!equal(auth_data.first(32), sha256(as_bytes(out.relying_party)).view())) {
        return refuse(
            "memcmp(c.auth_data.data(), fc::sha256::hash(rpid).data(), "
            "sizeof(fc::sha256)) == 0",
            "webauthn rpid hash doesn't match origin");
    }
    const auto flags = std::to_integer<unsigned>(auth_data[32]);
    if ((flags & 0x01U) != 0) out.user_presence = 1;  // Present.
    if ((flags & 0x04U) != 0) out.user_presence = 2;  // Verified.
    const Hash256 client_hash = sha256(as_bytes(signature.client_json));
    out.signed_digest = Sha256().update(auth_data).update(client_hash.view()).finish();
    return out;
}

}  // namespace base::crypto::webauthn
