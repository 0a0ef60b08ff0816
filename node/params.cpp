#include "node/params.hpp"

#include <limits>

namespace node {

namespace {

base::Error malformed(std::string detail) {
    return {base::Errc::malformed, std::move(detail)};
}

}  // namespace

Params::Params(std::string_view body, Need need) {
    const std::string_view text = http::trimmed(body);
    is_blank_ = text.empty();
    if (http::is_no_body(text)) {
        if (need != Need::none && need != Need::optional)
            fail(api::bad_request("A Request body is required"));
        return;
    }
    if (need == Need::none) {
        fail_input(malformed("no parameter should be given"));
        return;
    }
    auto parsed = take(chain::abi::parse_json(text));
    if (!parsed) return;
    if (need == Need::text) {
        if (auto text_of = take(chain::abi::as_string(*parsed))) body_ = std::move(*text_of);
        return;
    }
    take(need == Need::list ? chain::abi::expect_array(*parsed)
                            : chain::abi::expect_object(*parsed));
    body_ = std::move(*parsed);
}

void Params::fail(api::ErrorReport error) {
    if (ok()) error_ = std::move(error);
}

const Json* Params::find(std::string_view field) const {
    return ok() ? chain::abi::find_member(body_, field) : nullptr;
}

const Json* Params::find_present(std::string_view field) const {
    const Json* value = find(field);
    return value == nullptr || value->is_null() ? nullptr : value;
}

chain::Name Params::name(std::string_view field) {
    const Json* value = find(field);
    if (value == nullptr) return {};
    return take(chain::abi::name_from_json(*value)).value_or(chain::Name{});
}

std::string Params::text(std::string_view field, std::string_view standard) {
    const Json* value = find(field);
    if (value == nullptr) return std::string(standard);
    // The parser makes a float of an integer that has no room in 64 bits.
    constexpr double kTooLarge = 18446744073709551616.0;
    if (value->is_number_float() && value->get<double>() >= kTooLarge) {
        fail_input(malformed("Couldn't parse uint64_t"));
        return {};
    }
    return take(chain::abi::as_string(*value)).value_or(std::string());
}

bool Params::boolean(std::string_view field, bool standard) {
    const Json* value = find(field);
    if (value == nullptr) return standard;
    return take(chain::abi::as_bool(*value)).value_or(false);
}

std::optional<std::uint64_t> Params::optional_u64(std::string_view field) {
    const Json* value = find_present(field);
    return value == nullptr ? std::nullopt : take(chain::abi::as_uint64(*value));
}

std::optional<std::uint32_t> Params::optional_u32(std::string_view field) {
    const std::optional<std::uint64_t> value = optional_u64(field);
    if (!value) return std::nullopt;
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
    const bool is_negative = static_cast<std::int64_t>(*value) < 0;
    if (*value > kMax && !is_negative && field != "limit") {
        fail_input(malformed(std::string(field) + " is above 4294967295"));
    }
    return static_cast<std::uint32_t>(*value);
}

std::uint32_t Params::u32(std::string_view field, std::uint32_t standard) {
    return optional_u32(field).value_or(standard);
}

std::vector<chain::Name> Params::names(std::string_view field) {
    return list<chain::Name>(field, chain::abi::name_from_json);
}

http::Response json_response(const Json& body, unsigned status) {
    http::Response response;
    response.status = status;
    response.body = chain::abi::dump_json(body);
    return response;
}

http::Response error_response(const api::ErrorReport& report, bool verbose) {
    return json_response(api::error_to_json(report, verbose), static_cast<unsigned>(report.status));
}

}  // namespace node
