#include "chain/types/name.hpp"

#include "chain/types/exception.hpp"

#include <fmt/format.h>

namespace chain {

namespace {

constexpr std::string_view kAlphabet = ".12345abcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kShownMax = 256;  // Of a wrong name, in a message.

}  // namespace

std::string Name::to_string() const {
    std::string text(13, '.');
    std::uint64_t rest = value;
    text[12] = kAlphabet[rest & 0x0FU];
    rest >>= 4U;
    for (std::size_t i = 12; i-- > 0; rest >>= 5U) {
        text[i] = kAlphabet[rest & 0x1FU];
    }
    text.erase(text.find_last_not_of('.') + 1);
    return text;
}

base::Result<Name> Name::from_string(std::string_view text) {
    if (text.size() > 13) {
        return fail(
            Exception::name_type_exception,
            fmt::format("Name is longer than 13 characters ({}) ", text.substr(0, kShownMax)));
    }
    const Name name{name_detail::bits_of(text)};
    const std::string normalized = name.to_string();
    if (normalized != text) {
        return fail(
            Exception::name_type_exception,
            fmt::format(
                "Name not properly normalized (name: {}, normalized: {}) ", text, normalized));
    }
    return name;
}

}  // namespace chain
