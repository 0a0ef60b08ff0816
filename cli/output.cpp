#include "cli/output.hpp"

#include <fmt/format.h>

namespace cli {

base::Result<void> print_json(const Json& json) {
    fmt::print("{}\n", chain::abi::dump_json(json, 2));
    return {};
}

base::Result<void> ask(const Session& session, std::string_view path, const Json& body) {
    const auto answer = call(session.url, path, body);
    if (!answer) return base::fail(answer.error());
    return print_json(*answer);
}

base::Result<void> ask_as_operator(const Session& session,
                                   std::string_view path,
                                   const Json& body) {
    const auto answer = operator_call(session, path, body);
    if (!answer) return base::fail(answer.error());
    return print_json(*answer);
}

const Json& member_of(const Json& json, std::string_view key) {
    static const Json kNone;
    const Json* value = chain::abi::find_member(json, key);
    return value == nullptr ? kNone : *value;
}

const Json& list_of(const Json& json, std::string_view key) {
    static const Json kNone = Json::array();
    const Json& value = member_of(json, key);
    return value.is_array() ? value : kNone;
}

base::Result<base::Hash256> hash_of(const Json& json, std::string_view key) {
    const auto bytes = base::from_hex(text_of(json, key));
    if (!bytes) return base::fail(bytes.error());
    return base::to_hash<32>(*bytes);
}

std::string text_of(const Json& json, std::string_view key) {
    const Json& value = member_of(json, key);
    return value.is_string() ? value.get<std::string>() : "";
}

std::string shown(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string shown(const Json& json, std::string_view key) {
    const Json& value = member_of(json, key);
    return value.is_null() ? "-" : shown(value);
}

std::uint64_t number_of(const Json& json, std::string_view key) {
    return chain::abi::as_uint64(member_of(json, key)).value_or(0);
}

}  // namespace cli
