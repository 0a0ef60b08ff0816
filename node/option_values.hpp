#pragma once

#include <boost/program_options/value_semantic.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

// How an option of boost::program_options sets a field.
namespace node::option {

// The field gets the value, or `fallback` where the option is not given, when all has been read.
// `Text` is a string or a path.
template <class Text>
auto* text(Text& field, const char* fallback = "") {
    return boost::program_options::value<std::string>()->default_value(fallback)->notifier(
        [&field](const std::string& value) { field = value; });
}

template <class T>
auto* number(T& field, T fallback) {
    return boost::program_options::value<T>(&field)->default_value(fallback);
}

// As number(), for a field of another unit.
template <class T, class Use>
auto* converted(T fallback, Use use) {
    return boost::program_options::value<T>()->default_value(fallback)->notifier(use);
}

// Its name alone switches it on.
inline auto* flag(bool& field) {
    return boost::program_options::value<bool>(&field)->default_value(false)->implicit_value(true);
}

// May come several times.
inline auto* list(std::vector<std::string>& field) {
    return boost::program_options::value<std::vector<std::string>>(&field)->composing();
}

// -1, nodeos' "no limit", becomes the largest value.
inline auto* time_limit(std::chrono::milliseconds& field, std::int64_t fallback) {
    return converted(fallback, [&field](std::int64_t milliseconds) {
        constexpr std::int64_t kLongest = 3'600'000;
        field = std::chrono::milliseconds(milliseconds < 0 ? kLongest : milliseconds);
    });
}

template <class Field>
auto* milliseconds(Field& field, std::uint32_t fallback) {
    return converted(fallback,
                     [&field](std::uint32_t count) { field = std::chrono::milliseconds(count); });
}

}  // namespace node::option
