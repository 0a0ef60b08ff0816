#include "chain/abi/members.hpp"

#include "chain/types/exception.hpp"

namespace chain::abi {

namespace {

base::Result<Extension> extension_from_json(const Json& json) {
    if (!json.is_array() || json.size() != 2) {
        return fail(Exception::bad_cast_exception, "an extension is not [number, \"hex\"]");
    }
    auto id = as_bounded(json[0], 0xFFFF, "id of an extension");
    if (!id) return base::fail(std::move(id).error());
    auto data = bytes_from_json(json[1]);
    if (!data) return base::fail(std::move(data).error());
    return Extension{static_cast<std::uint16_t>(*id), std::move(*data)};
}

}  // namespace

void Members::text(std::string_view key, std::string& out) {
    value(key, out, as_string);
}

void Members::texts(std::string_view key, std::vector<std::string>& out) {
    values(key, out, as_string);
}

void Members::number(std::string_view key, std::uint64_t& out) {
    value(key, out, as_uint64);
}

void Members::bytes(std::string_view key, base::Bytes& out) {
    value(key, out, bytes_from_json);
}

void Members::extensions(std::string_view key, Extensions& out) {
    values(key, out, extension_from_json);
}

}  // namespace chain::abi
