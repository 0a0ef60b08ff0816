#include "cli/output.hpp"

#include <fmt/format.h>

namespace cli {

void print_json(const Json& json) {
    fmt::print("{}\n", chain::abi::dump_json(json, 2));
}

base::Result<void> ask(const Session& session, std::string_view path, const Json& body) {
    const auto answer = call(session.url, path, body);
    if (!answer) return base::fail(answer.error());
    print_json(*answer);
    return {};
}

std::string text_of(const Json& json, std::string_view key) {
    const Json* value = chain::abi::find_member(json, key);
    return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

std::string shown(const Json& json, std::string_view key) {
    const Json* value = chain::abi::find_member(json, key);
    if (value == nullptr || value->is_null()) return "-";
    return value->is_string() ? value->get<std::string>() : value->dump();
}

std::uint64_t number_of(const Json& json, std::string_view key) {
    const Json* value = chain::abi::find_member(json, key);
    if (value == nullptr) return 0;
    const auto number = chain::abi::as_uint64(*value);
    return number ? *number : 0;
}

}  // namespace cli
