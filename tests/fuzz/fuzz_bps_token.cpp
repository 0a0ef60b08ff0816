#include "base/check.hpp"
#include "node/bps/core/sasl.hpp"
#include "node/bps/core/token.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace {

// What is read has one text: the same claims and signatures give the same token, if it is one.
void take_token(std::string_view text) {
    const auto token = bps::decode_token(text);
    if (!token) return;
    const auto digest = bps::token_digest(token->terms);
    CHECK(digest.has_value());
    CHECK(*digest == token->digest);
    const auto again = bps::make_token(token->terms, token->signatures);
    // Where a key can be found for each signature, and they were in order.
    if (again) CHECK(again->size() == text.size());
}

}  // namespace

// A token, or the first message of either mechanism, of any bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    take_token(base::as_text(bytes));
    for (const auto& message : {bps::decode_plain(bytes), bps::decode_oauth_bearer(bytes)}) {
        if (!message) continue;
        CHECK(!message->token.empty());
        CHECK(message->user.size() + message->token.size() < size);
        take_token(message->token);
    }
    return 0;
}
