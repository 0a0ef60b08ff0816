#pragma once

#include <bor/asset.hpp>
#include <bor/crypto.hpp>
#include <bor/name.hpp>

#include <string>
#include <string_view>

namespace bor {

inline void print_one(const char* text) {
    host::prints(text);
}
inline void print_one(std::string_view text) {
    host::prints_l(text.data(), text.size());
}
inline void print_one(const std::string& text) {
    host::prints_l(text.data(), text.size());
}
inline void print_one(char letter) {
    host::prints_l(&letter, 1);
}
inline void print_one(bool value) {
    host::prints(value ? "true" : "false");
}
inline void print_one(float value) {
    host::printsf(value);
}
inline void print_one(double value) {
    host::printdf(value);
}
inline void print_one(long double value) {
    host::printqf(&value);
}
inline void print_one(int128_t value) {
    host::printi128(&value);
}
inline void print_one(uint128_t value) {
    host::printui128(&value);
}
inline void print_one(Name value) {
    host::printn(value.value);
}
inline void print_one(const Asset& value) {
    print_one(value.to_string());
}
template <class T>
    requires std::is_integral_v<T>
void print_one(T value) {
    if constexpr (std::is_signed_v<T>) {
        host::printi(value);
    } else {
        host::printui(value);
    }
}
// In lower-case hexadecimal.
template <std::size_t Size>
void print_one(const Digest<Size>& digest) {
    host::printhex(digest.bytes.data(), Size);
}
inline void print_one(const Bytes& bytes) {
    host::printhex(bytes.data(), bytes.size());
}

// Adds its arguments to the console of this action.
template <class... Arguments>
void print(const Arguments&... arguments) {
    (print_one(arguments), ...);
}

}  // namespace bor
