// How messages are put together.
#include "text.hpp"

namespace bps {

namespace {

// What a text of a caller may take in a message.
constexpr std::size_t kShownBytes = 64;

void append_number(std::string& out, uint64_t number) {
    char digits[20];
    std::size_t at = sizeof(digits);
    do {
        digits[--at] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number != 0);
    out.append(digits + at, sizeof(digits) - at);
}

}  // namespace

void Value::append_to(std::string& out) const {
    const auto* text = reinterpret_cast<const char*>(static_cast<uintptr_t>(number_));
    switch (kind_) {
        case Kind::text:
            out.append(text, size_);
            break;
        case Kind::shown:
            for (std::size_t i = 0; i < size_ && i < kShownBytes; ++i) {
                out += text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
            }
            if (size_ > kShownBytes) out += "...";
            break;
        case Kind::name:
            out += Name(number_).to_string();
            break;
        case Kind::natural:
            append_number(out, number_);
            break;
        case Kind::integer:
            if (static_cast<int64_t>(number_) < 0) out += '-';
            append_number(out, static_cast<int64_t>(number_) < 0 ? 0 - number_ : number_);
            break;
    }
}

void refuse_with(const char* message, std::initializer_list<Value> values) {
    std::string text;
    const Value* next = values.begin();
    for (const char* at = message; *at != 0; ++at) {
        if (*at == '{' && next != values.end()) {
            next++->append_to(text);
            ++at;
        } else {
            text += *at;
        }
    }
    host::eosio_assert_message(0, text.data(), text.size());
    __builtin_unreachable();
}

}  // namespace bps
