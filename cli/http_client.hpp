#pragma once

#include "base/result.hpp"
#include "chain/abi/json.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace cli {

using Json = chain::abi::Json;
struct Session;

struct HttpAnswer {
    int status = 0;
    std::string body;
};

// One request to "http://HOST:PORT" or "unix:///PATH", over a connection of its own.
// unavailable: nobody answers there within `timeout`; says what was tried and what to do.
[[nodiscard]] base::Result<HttpAnswer> http_post(
    const std::string& url,
    std::string_view path,
    const std::string& body,
    std::chrono::milliseconds timeout = std::chrono::seconds(30));

// The same for GET, for callers whose address no option chose: unavailable says what was tried.
[[nodiscard]] base::Result<HttpAnswer> http_get(const std::string& url,
                                                std::string_view path,
                                                std::chrono::milliseconds timeout);

// As http_post, with JSON in and out. An answer that is an error becomes one, with the node's
// text and Antelope's number.
[[nodiscard]] base::Result<Json> call(const std::string& url,
                                      std::string_view path,
                                      const Json& body,
                                      std::chrono::milliseconds timeout = std::chrono::seconds(30));

// The same for a call that only an operator may make: /v1/producer/, /v1/net/, /v1/db_size/,
// /v1/bor/snapshots, /v1/bor/remove_snapshot, /v1/bor/answer_recovery. Asks the session's
// operator_url, over TCP with its token. A node that refuses says where and how to ask it.
[[nodiscard]] base::Result<Json> operator_call(
    const Session& session,
    std::string_view path,
    const Json& body,
    std::chrono::milliseconds timeout = std::chrono::seconds(30));

}  // namespace cli
