// Texts of keys and signatures, their binary forms, and what recovery makes of them: nothing
// may crash, and what is accepted must survive the way to text and back.
#include "base/check.hpp"
#include "base/crypto/base58.hpp"
#include "base/crypto/keys.hpp"

#include <cstdint>

namespace {

using namespace base;
using namespace base::crypto;

template <class T>
void round_trip(const Result<T>& value) {
    if (!value) return;
    const std::string text = value->to_string();
    const auto again = T::from_string(text);
    CHECK(again && again->to_string() == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const ByteView bytes = std::as_bytes(std::span(data, size));
    const std::string_view text = as_text(bytes);
    round_trip(PublicKey::from_string(text));
    round_trip(PrivateKey::from_string(text));
    const auto signature = Signature::from_string(text);
    round_trip(signature);
    if (signature) static_cast<void>(recover(*signature, Hash256{}));
    if (const auto plain = from_base58(text)) CHECK(to_base58(*plain) == text);

    Reader in(bytes);
    Signature packed;
    decode(in, packed, "signature");
    if (in.ok()) {
        round_trip(Result<Signature>(packed));
        static_cast<void>(recover(packed, Hash256{}));
        PublicKey key;
        decode(in, key, "key");
        if (in.ok()) {
            static_cast<void>(is_on_curve(key));
            round_trip(Result<PublicKey>(key));
        }
    }
    return 0;
}
