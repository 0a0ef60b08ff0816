#include "node/mistyped_options.hpp"

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <typeinfo>

namespace node {

namespace po = boost::program_options;

namespace {

bool is_unsigned(const po::parsed_options& parsed, const std::string& name) {
    const auto* option = parsed.description->find_nothrow(name, false);
    if (option == nullptr) return false;
    const auto* typed = dynamic_cast<const po::typed_value_base*>(option->semantic().get());
    return typed != nullptr && (typed->value_type() == typeid(std::uint32_t) ||
                                typed->value_type() == typeid(std::uint64_t));
}

std::string word_text(const std::string& before, const std::string& word) {
    if (before.empty()) return fmt::format("'{}': an option begins with --", word);
    return fmt::format("'{}': {} takes no value, or only as --{}={}", word, before, before, word);
}

}  // namespace

std::optional<Mistyped> find_mistyped(const po::parsed_options& parsed) {
    std::string before;
    for (const po::option& each : parsed.options) {
        const std::string value = each.value.empty() ? std::string() : each.value.front();
        if (each.position_key >= 0) return Mistyped{"", word_text(before, value)};
        before = each.string_key;
        if (!value.starts_with('-') || !is_unsigned(parsed, each.string_key)) continue;
        return Mistyped{
            each.string_key,
            fmt::format("{} = {}: a number without a sign is needed", each.string_key, value)};
    }
    return std::nullopt;
}

}  // namespace node
