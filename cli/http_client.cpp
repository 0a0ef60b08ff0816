#include "cli/http_client.hpp"

#include "cli/command.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>
#include <sys/un.h>

#include <utility>

namespace cli {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using base::Errc;
using base::fail;

constexpr std::size_t kAnswerBytesMax = 256 * 1024 * 1024;

// Sends one request over an opening stream and reads the answer, within the stream's expiry.
template <class Stream, class Connect>
base::Result<HttpAnswer> exchange(asio::io_context& context,
                                  Stream& stream,
                                  const Connect& connect,
                                  http::request<http::string_body>& request,
                                  std::chrono::milliseconds timeout) {
    beast::error_code failure;
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(kAnswerBytesMax);
    stream.expires_after(timeout);
    connect(stream, [&](beast::error_code connected) {
        failure = connected;
        if (connected) return;
        http::async_write(stream, request, [&](beast::error_code written, std::size_t /*bytes*/) {
            failure = written;
            if (written) return;
            http::async_read(
                stream, buffer, parser, [&](beast::error_code read, std::size_t /*bytes*/) {
                    failure = read;
                });
        });
    });
    context.run();
    if (failure) return fail(Errc::unavailable, failure.message());
    return HttpAnswer{static_cast<int>(parser.get().result_int()), std::move(parser.get().body())};
}

base::Result<HttpAnswer> over_unix(const std::string& path,
                                   http::request<http::string_body>& request,
                                   std::chrono::milliseconds timeout) {
    using Stream = beast::basic_stream<asio::local::stream_protocol>;
    constexpr std::size_t kPathBytesMax = sizeof(sockaddr_un::sun_path) - 1;
    if (path.size() > kPathBytesMax) {
        return fail(Errc::invalid,
                    fmt::format("the path of the Unix socket {} has {} bytes, and may have {}: ask "
                                "by a relative one (-u unix://PATH), or give the node a short one "
                                "(unix-socket-path)",
                                path,
                                path.size(),
                                kPathBytesMax));
    }
    asio::io_context context;
    Stream stream(context);
    const asio::local::stream_protocol::endpoint endpoint(path);
    const auto connect = [&](Stream& to, auto done) {
        to.async_connect(endpoint, std::move(done));
    };
    return exchange(context, stream, connect, request, timeout);
}

base::Result<HttpAnswer> over_tcp(const std::string& host,
                                  const std::string& port,
                                  http::request<http::string_body>& request,
                                  std::chrono::milliseconds timeout) {
    asio::io_context context;
    beast::error_code failure;
    asio::ip::tcp::resolver resolver(context);
    const bool is_ipv6 = host.starts_with('[') && host.ends_with(']');
    const std::string name = is_ipv6 ? host.substr(1, host.size() - 2) : host;
    const auto found = resolver.resolve(name, port, failure);
    if (failure) return fail(Errc::unavailable, failure.message());
    beast::tcp_stream stream(context);
    const auto connect = [&](beast::tcp_stream& to, auto done) {
        to.async_connect(
            found, [done](beast::error_code error, const auto& /*endpoint*/) { done(error); });
    };
    return exchange(context, stream, connect, request, timeout);
}

// The text of an answer that is an error: Antelope's first detail, else the whole body.
base::Error error_of(const HttpAnswer& answer) {
    constexpr int kNotFound = 404;
    base::Error error{answer.status == kNotFound ? Errc::not_found : Errc::invalid,
                      fmt::format("HTTP status {}: {}", answer.status, answer.body)};
    const auto json = chain::abi::parse_json(answer.body);
    if (!json) return error;
    const Json* inner = chain::abi::find_member(*json, "error");
    if (inner == nullptr) return error;
    if (const Json* code = chain::abi::find_member(*inner, "code")) {
        if (code->is_number_unsigned()) error.exception = code->get<std::uint32_t>();
    }
    std::string text;
    if (const Json* what = chain::abi::find_member(*inner, "what")) text = what->dump();
    const Json* details = chain::abi::find_member(*inner, "details");
    if (details != nullptr && details->is_array()) {
        for (const Json& detail : *details) {
            const Json* message = chain::abi::find_member(detail, "message");
            if (message != nullptr && message->is_string()) {
                text += "\n  " + message->get<std::string>();
            }
        }
    }
    if (!text.empty()) error.detail = fmt::format("error {}: {}", error.exception, text);
    return error;
}

// invalid: `url` is no address; unavailable: what went wrong on the way.
base::Result<HttpAnswer> send(const std::string& url,
                              http::request<http::string_body>& request,
                              std::chrono::milliseconds timeout) {
    constexpr std::string_view kHttp = "http://";
    constexpr std::string_view kUnix = "unix://";
    if (url.starts_with(kUnix)) {
        request.set(http::field::host, "localhost");
        request.prepare_payload();
        return over_unix(url.substr(kUnix.size()), request, timeout);
    }
    if (!url.starts_with(kHttp)) {
        return fail(Errc::invalid,
                    fmt::format("'{}' is no address: http://HOST:PORT or unix:///PATH", url));
    }
    std::string host = url.substr(kHttp.size());
    host = host.substr(0, host.find('/'));
    const std::size_t colon = host.rfind(':');
    const std::string port = colon == std::string::npos ? "80" : host.substr(colon + 1);
    request.set(http::field::host, host);
    request.prepare_payload();
    return over_tcp(host.substr(0, colon), port, request, timeout);
}

http::request<http::string_body> request_of(http::verb verb, std::string_view path) {
    return {verb, beast::string_view(path.data(), path.size()), 11};
}

// `authorization`: the header of this name; empty: without it.
base::Result<HttpAnswer> post_as(const std::string& authorization,
                                 const std::string& url,
                                 std::string_view path,
                                 const std::string& body,
                                 std::chrono::milliseconds timeout) {
    auto request = request_of(http::verb::post, path);
    request.set(http::field::content_type, "application/json");
    if (!authorization.empty()) request.set(http::field::authorization, authorization);
    request.body() = body;
    auto answer = send(url, request, timeout);
    if (answer || answer.error().code == Errc::invalid) return answer;
    const bool is_wallet = path.starts_with("/v1/wallet/");
    return fail(
        Errc::unavailable,
        fmt::format("no answer from the {} at {}: {}; is it running there? ({} URL or --dir "
                    "DIR chooses another)",
                    is_wallet ? "wallet daemon" : "node",
                    url,
                    answer.error().detail,
                    is_wallet ? "--wallet-url" : "-u"));
}

base::Result<Json> call_as(const std::string& authorization,
                           const std::string& url,
                           std::string_view path,
                           const Json& body,
                           std::chrono::milliseconds timeout) {
    const std::string text = body.is_null() ? "" : chain::abi::dump_json(body);
    auto answer = post_as(authorization, url, path, text, timeout);
    if (!answer) return fail(std::move(answer).error());
    if (answer->status >= 300) return fail(error_of(*answer));
    chain::abi::JsonLimits limits;
    limits.bytes = kAnswerBytesMax;
    limits.values = kAnswerBytesMax;
    return chain::abi::parse_json(answer->body, limits);
}

}  // namespace

base::Result<HttpAnswer> http_post(const std::string& url,
                                   std::string_view path,
                                   const std::string& body,
                                   std::chrono::milliseconds timeout) {
    return post_as("", url, path, body, timeout);
}

base::Result<HttpAnswer> http_get(const std::string& url,
                                  std::string_view path,
                                  std::chrono::milliseconds timeout) {
    auto request = request_of(http::verb::get, path);
    auto answer = send(url, request, timeout);
    if (answer || answer.error().code == Errc::invalid) return answer;
    return fail(Errc::unavailable,
                fmt::format("no answer from {}: {}", url, answer.error().detail));
}

base::Result<Json> call(const std::string& url,
                        std::string_view path,
                        const Json& body,
                        std::chrono::milliseconds timeout) {
    return call_as("", url, path, body, timeout);
}

base::Result<Json> operator_call(const Session& session,
                                 std::string_view path,
                                 const Json& body,
                                 std::chrono::milliseconds timeout) {
    const std::string& url = session.operator_url;
    // A Unix socket asks for none.
    const bool is_shown = !url.starts_with("unix://") && !session.operator_token.empty();
    const std::string authorization = is_shown ? "Bearer " + session.operator_token : "";
    return call_as(authorization, url, path, body, timeout);
}

}  // namespace cli
