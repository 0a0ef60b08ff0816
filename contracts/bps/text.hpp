// Refusals: each says which thing, which limit, which value, and what to do.
#pragma once

#include <bor/bor.hpp>

#include <initializer_list>
#include <type_traits>

namespace bps {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

// A text of a caller in a message: its beginning, in printable ASCII.
struct Shown {
    std::string_view text;
};
inline Shown shown(std::string_view text) {
    return {text};
}

// What stands for a {} in a message: a text, a name, or a number. Borrows the text.
class Value {
  public:
    // NOLINTBEGIN(google-explicit-constructor): it reads as what it is made of.
    Value(std::string_view text) : Value(Kind::text, text) {}
    Value(const char* text) : Value(Kind::text, text) {}
    Value(const std::string& text) : Value(Kind::text, text) {}
    Value(Shown text) : Value(Kind::shown, text.text) {}
    Value(Name name) : kind_(Kind::name), number_(name.value) {}
    template <class Number>
        requires(std::is_integral_v<Number>)
    Value(Number number)
        : kind_(std::is_signed_v<Number> ? Kind::integer : Kind::natural),
          number_(static_cast<uint64_t>(number)) {}
    // NOLINTEND(google-explicit-constructor)

    void append_to(std::string& out) const;

  private:
    enum class Kind : uint32_t { text, shown, name, natural, integer };
    Value(Kind kind, std::string_view text)
        : kind_(kind), size_(text.size()), number_(reinterpret_cast<uintptr_t>(text.data())) {}

    Kind kind_;
    uint32_t size_ = 0;
    uint64_t number_;
};

// Fails the transaction with the message, in which each {} stands for one of the values.
[[noreturn]] void refuse_with(const char* message, std::initializer_list<Value> values);

// A literal with as many {} as there are values, which is checked when compiling.
template <class... Values>
struct Message {
    consteval Message(const char* literal) : text(literal) {  // NOLINT: reads as a text.
        std::size_t holes = 0;
        for (const char* at = literal; *at != 0; ++at)
            holes += at[0] == '{' && at[1] == '}' ? 1 : 0;
        if (holes != sizeof...(Values)) host::host_abort();  // Is no constant: does not compile.
    }
    const char* text;
};

template <class... Values>
[[noreturn]] void refuse(Message<std::type_identity_t<Values>...> message,
                         const Values&... values) {
    refuse_with(message.text, {Value(values)...});
}

// The same unless `holds`.
template <class... Values>
void require(bool holds,
             Message<std::type_identity_t<Values>...> message,
             const Values&... values) {
    if (!holds) refuse_with(message.text, {Value(values)...});
}

}  // namespace bps
