#include "node/http/types.hpp"

#include "base/bytes.hpp"
#include "base/crypto/wipe.hpp"

#include <boost/beast/core/string.hpp>
#include <nlohmann/json.hpp>

namespace node::http {

namespace {

constexpr std::size_t kDetailsMax = 10;

}  // namespace

std::string_view Request::header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
        if (boost::beast::iequals(key, name)) return value;
    }
    return {};
}

bool Request::wants_html() const {
    return header("Accept").find("text/html") != std::string_view::npos;
}

bool has_bearer(const Request& request, std::string_view token) {
    constexpr std::string_view kScheme = "Bearer ";
    const std::string_view given = request.header("Authorization");
    return boost::beast::iequals(given.substr(0, kScheme.size()), kScheme) &&
           base::crypto::equal_in_constant_time(
               base::as_bytes(trimmed(given.substr(kScheme.size()))), base::as_bytes(token));
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n";
    const std::size_t start = text.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) return {};
    return text.substr(start, text.find_last_not_of(kBlanks) - start + 1);
}

bool is_no_body(std::string_view body) {
    const std::string_view text = trimmed(body);
    if (text.empty() || text == "null") return true;
    return text.size() > 1 && text.front() == '{' && text.back() == '}' &&
           trimmed(text.substr(1, text.size() - 2)).empty();
}

Response error_response(const ErrorBody& error, bool verbose) {
    using Json = nlohmann::ordered_json;
    Json details = Json::array();
    const std::size_t details_max = verbose ? kDetailsMax : 1;
    for (const std::string& text : error.details) {
        if (details.size() == details_max) break;
        details.push_back(
            {{"message", text}, {"file", "http"}, {"line_number", 0}, {"method", "handle"}});
    }
    const Json body = {
        {"code", error.status},
        {"message", error.message},
        {"error",
         {{"code", error.code}, {"name", error.name}, {"what", error.what}, {"details", details}}}};
    Response response;
    response.status = error.status;
    // Texts may quote what a client sent; bytes that are not UTF-8 are replaced, not refused.
    response.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
    return response;
}

Response unknown_endpoint() {
    return error_response({.status = 404, .message = "Not Found", .details = {"Unknown Endpoint"}},
                          false);
}

}  // namespace node::http
