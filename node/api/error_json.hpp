#pragma once

#include "chain/abi/json.hpp"
#include "chain/types/exception.hpp"
#include "chain/types/trace.hpp"

#include <string>
#include <vector>

namespace node::api {

using chain::abi::Json;

// A refused request, as nodeos reports it (reference, "Error body").
struct ErrorReport {
    int status = 500;  // HTTP.
    chain::Exception exception = chain::Exception::exception;
    std::vector<std::string> details;  // Messages; the first is the reason.
    std::string message;               // At the top; empty: the usual one for `status`.
};

// Whose error it is: nodeos answers some errors of look-ups with a status of their own, and
// those of pushed transactions with 500.
enum class ErrorOrigin : std::uint8_t { request, transaction };

// A report with nodeos' status for the exception: 400 for unknown blocks and accounts and bad
// requests, 401, 409, else 500.
[[nodiscard]] ErrorReport report_of(const base::Error& error, ErrorOrigin origin);
// With the messages of the whole stack.
[[nodiscard]] ErrorReport report_of(const chain::TraceException& except, ErrorOrigin origin);
// 400 "Invalid Request": "Unable to parse valid input from POST body" and the reason.
[[nodiscard]] ErrorReport bad_input(const base::Error& reason);
// 400 "Invalid Request" with one message, such as "A Request body is required".
[[nodiscard]] ErrorReport bad_request(std::string message);

// {code, message, error: {code, name, what, details[{message, file, line_number, method}]}}.
// Ten details at most; one when not `verbose`. File, line and method are ours: empty, 0.
[[nodiscard]] Json error_to_json(const ErrorReport& report, bool verbose);

}  // namespace node::api
