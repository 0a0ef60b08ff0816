#include "node/api/error_json.hpp"

#include <algorithm>
#include <utility>

namespace node::api {

namespace {

using chain::Exception;

constexpr std::size_t kDetailsMax = 10;

std::string_view usual_message(int status) {
    switch (status) {
        case 400:
            return "Invalid Request";
        case 401:
            return "UnAuthorized";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 409:
            return "Conflict";
        case 413:
            return "Payload Too Large";
        case 422:
            return "Unprocessable Entity";
        case 429:
            return "Busy";
        case 503:
            return "Service Unavailable";
        default:
            return "Internal Service Error";
    }
}

ErrorReport report_of(Exception exception, std::vector<std::string> details, ErrorOrigin origin) {
    ErrorReport report;
    report.exception = exception;
    report.details = std::move(details);
    if (exception == Exception::tx_duplicate) report.status = 409;
    if (origin == ErrorOrigin::transaction) return report;
    switch (exception) {
        case Exception::unknown_block_exception:
            report.status = 400;
            report.message = "Unknown Block";
            break;
        case Exception::account_query_exception:
            report.status = 400;
            report.message = "Account lookup";
            break;
        case Exception::invalid_http_request:
            report.status = 400;
            break;
        case Exception::unsatisfied_authorization:
            report.status = 401;
            break;
        default:
            break;
    }
    return report;
}

}  // namespace

ErrorReport report_of(const base::Error& error, ErrorOrigin origin) {
    return report_of(chain::exception_of(error), chain::details_of(error), origin);
}

ErrorReport report_of(const chain::TraceException& except, ErrorOrigin origin) {
    std::vector<std::string> details;
    details.reserve(except.stack.size());
    for (const chain::TraceMessage& message : except.stack) {
        details.push_back(message.text());
    }
    return report_of(except.code, std::move(details), origin);
}

ErrorReport bad_input(const base::Error& reason) {
    ErrorReport report = bad_request("Unable to parse valid input from POST body");
    for (std::string& detail : chain::details_of(reason)) {
        report.details.push_back(std::move(detail));
    }
    return report;
}

ErrorReport bad_request(std::string message) {
    ErrorReport report;
    report.status = 400;
    report.exception = Exception::invalid_http_request;
    report.details.push_back(std::move(message));
    return report;
}

Json error_to_json(const ErrorReport& report, bool verbose) {
    Json details = Json::array();
    const std::size_t count = std::min(report.details.size(), verbose ? kDetailsMax : 1);
    for (std::size_t i = 0; i < count; ++i) {
        details.push_back(
            {{"message", report.details[i]}, {"file", ""}, {"line_number", 0}, {"method", ""}});
    }
    Json error = {{"code", chain::exception_code(report.exception)},
                  {"name", chain::exception_name(report.exception)},
                  {"what", chain::exception_what(report.exception)},
                  {"details", std::move(details)}};
    const std::string message =
        report.message.empty() ? std::string(usual_message(report.status)) : report.message;
    return {{"code", report.status}, {"message", message}, {"error", std::move(error)}};
}

}  // namespace node::api
