#include "node/http/connection.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/websocket/rfc6455.hpp>

#include <array>
#include <exception>
#include <utility>

namespace node::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kReadBytes = 8U << 10;
constexpr std::size_t kWrittenAtOnce = std::size_t{256} << 10;
constexpr std::size_t kDrainBytesMax = std::size_t{64} << 20;
constexpr auto kDrainTime = std::chrono::seconds(2);
constexpr std::string_view kAnyOrigin = "*";    // Of Options::allow_origin.
constexpr std::string_view kNoOrigin = "null";  // Of any page in a sandbox, and of files.
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

using BeastResponse = bhttp::response<bhttp::string_body>;
using Parser = bhttp::request_parser<bhttp::string_body>;

Response refusal(unsigned status, std::string message, std::string detail) {
    return error_response(
        {.status = status, .message = std::move(message), .details = {std::move(detail)}}, false);
}

// What to tell a client whose request could not be read; nothing when it is gone or was too slow
// (Beast has closed the connection then).
std::optional<Response> refusal_of(const beast::error_code& error, const Options& options) {
    if (error == bhttp::error::body_limit) {
        return refusal(413,
                       "Payload Too Large",
                       "the request body is larger than max-body-size (" +
                           std::to_string(options.body_bytes_max) + " bytes)");
    }
    if (error == bhttp::error::header_limit || error == bhttp::error::buffer_overflow) {
        return refusal(431,
                       "Request Header Fields Too Large",
                       "the request header is larger than " +
                           std::to_string(options.header_bytes_max) + " bytes");
    }
    const bool is_malformed =
        error.category() == make_error_code(bhttp::error::bad_method).category();
    if (!is_malformed || error == bhttp::error::end_of_stream ||
        error == bhttp::error::partial_message) {
        return std::nullopt;
    }
    return refusal(400, "Bad Request", "malformed HTTP request: " + error.message());
}

// RFC 9112, 6.1: by any other coding a proxy in front may see another end of the request.
bool has_odd_coding(const bhttp::fields& fields) {
    const auto coding = fields.count(bhttp::field::transfer_encoding);
    if (coding == 0) return false;
    return coding > 1 || fields.count(bhttp::field::content_length) != 0 ||
           !beast::iequals(fields[bhttp::field::transfer_encoding], "chunked");
}

// Whether a page of another origin asks; a request without Origin is of no page (RFC 6454, 7.3).
bool is_of_other_page(const bhttp::fields& fields, std::string_view allowed) {
    const auto count = fields.count(bhttp::field::origin);
    if (count == 0) return false;
    const std::string_view origin = fields[bhttp::field::origin];
    const std::string_view host = fields[bhttp::field::host];
    const auto is_own = [&](std::string_view scheme) {
        return origin.starts_with(scheme) && origin.substr(scheme.size()) == host;
    };
    const bool is_name = !allowed.empty() && allowed != kAnyOrigin && allowed != kNoOrigin;
    const bool is_named = is_name && origin == allowed;
    return count > 1 || !(is_own("http://") || is_own("https://") || is_named);
}

Response refuse_page() {
    return refusal(403,
                   "Forbidden",
                   "a web page of another origin asks: access-control-allow-origin names the one "
                   "that may");
}

Response refuse_tcp() {
    return refusal(403,
                   "Forbidden",
                   "this call is only served on the node's Unix socket (unix-socket-path); bor-cli "
                   "asks there with --dir DIR or --url unix:///PATH");
}

Response refuse_token() {
    Response response = refusal(
        401,
        "Unauthorized",
        "an operator's call is served on the node's Unix socket (unix-socket-path), where bor-cli "
        "asks with --dir DIR or --url unix:///PATH; over TCP it needs the token of "
        "http-operator-token-file: 'Authorization: Bearer TOKEN'");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
}

Response refuse_method(std::string_view served) {
    std::string text = "only ";
    text.append(served).append(" are served");
    Response response = refusal(405, "Method Not Allowed", std::move(text));
    response.headers.emplace_back("Allow", served);
    return response;
}

// Nothing for methods that are not served.
std::optional<Method> method_of(bhttp::verb verb) {
    switch (verb) {
        case bhttp::verb::get:
            return Method::get;
        case bhttp::verb::head:
            return Method::head;
        case bhttp::verb::post:
            return Method::post;
        default:
            return std::nullopt;
    }
}

Request to_request(BeastRequest& from, Method method, const Remote& remote) {
    Request request;
    request.method = method;
    const std::string_view target = from.target();
    const std::size_t question = target.find('?');
    request.path = target.substr(0, question);
    if (question != std::string_view::npos) request.query = target.substr(question + 1);
    for (const auto& field : from) {
        request.headers.emplace_back(field.name_string(), field.value());
    }
    request.body = std::move(from.body());
    request.remote = remote;
    return request;
}

void add_cors(const Options& options, BeastResponse& response) {
    if (!options.allow_origin.empty()) {
        response.set(bhttp::field::access_control_allow_origin, options.allow_origin);
    }
    if (!options.allow_headers.empty()) {
        response.set(bhttp::field::access_control_allow_headers, options.allow_headers);
    }
    if (!options.max_age.empty()) {
        response.set(bhttp::field::access_control_max_age, options.max_age);
    }
    if (options.allow_credentials) {
        response.set(bhttp::field::access_control_allow_credentials, "true");
    }
}

// One connection, as far as it speaks plain HTTP. Coroutines take references and are awaited in
// statements of their own: g++ 12 destroys temporaries of larger expressions twice.
class Connection : base::Pinned {
  public:
    Connection(Service& service, Stream& stream, Place& place, const Endpoint& endpoint)
        : service_(service), stream_(stream), place_(place), endpoint_(endpoint) {}

    asio::awaitable<void> run() {
        while (!service_.stopping) {
            place_.set_idle();
            const bool has_begun = co_await wait_for_first_byte();
            if (!has_begun) break;
            place_.set_busy();
            Charge charge(service_.bytes_in_flight);
            HeldRequest held(place_);
            Parser parser;
            const beast::error_code error = co_await read(parser, held);
            if (error) {
                if (std::optional<Response> answer = refusal_of(error, service_.options)) {
                    co_await refuse(*answer);
                }
                co_return;
            }
            const Charge one(service_.requests_in_flight, 1);
            BeastRequest request = parser.release();
            if (beast::websocket::is_upgrade(request)) {
                held.give_back();
                co_await upgrade(request);
                co_return;
            }
            const bool goes_on = co_await answer(request, charge, held);
            if (!goes_on) break;
        }
        co_await close();
    }

  private:
    asio::awaitable<bool> wait_for_first_byte() {
        if (buffer_.size() != 0) co_return true;
        stream_.expires_after(service_.options.idle_timeout);
        const beast::error_code error = co_await receive();
        co_return !error;
    }

    asio::awaitable<beast::error_code> receive() {
        const auto [error, size] =
            co_await stream_.async_read_some(buffer_.prepare(kReadBytes), kAwait);
        buffer_.commit(size);
        co_return error;
    }

    // A whole request within the time for one. The deadline is for all of it, so that a client
    // that sends a byte now and then does not hold the connection.
    asio::awaitable<beast::error_code> read(Parser& parser, HeldRequest& held) {
        parser.header_limit(service_.options.header_bytes_max);
        parser.body_limit(service_.options.body_bytes_max);
        stream_.expires_after(service_.options.header_timeout);
        beast::error_code error = co_await parse(parser, held, false);
        if (!error && has_odd_coding(parser.get())) {
            error = bhttp::error::bad_transfer_encoding;
        }
        if (error || parser.is_done()) co_return error;
        if (beast::iequals(parser.get()[bhttp::field::expect], "100-continue")) {
            error = co_await send(kContinue, {});
            if (error) co_return error;
        }
        stream_.expires_after(service_.options.body_timeout);
        error = co_await parse(parser, held, true);
        co_return error;
    }

    // Parses and receives until the header, or else the whole request, is there.
    asio::awaitable<beast::error_code> parse(Parser& parser, HeldRequest& held, bool whole) {
        parser.eager(whole);
        while (!(whole ? parser.is_done() : parser.is_header_done())) {
            beast::error_code error = bhttp::error::need_more;
            if (buffer_.size() != 0) buffer_.consume(parser.put(buffer_.data(), error));
            if (error == bhttp::error::need_more) {
                const std::size_t before = buffer_.size();
                error = co_await receive();
                held.add(buffer_.size() - before);
            }
            if (error) co_return error;
        }
        co_return beast::error_code{};
    }

    asio::awaitable<beast::error_code> send(std::string_view head, std::string_view body) {
        const std::array parts = {asio::buffer(head), asio::buffer(body)};
        const auto [error, size] = co_await asio::async_write(stream_, parts, kAwait);
        co_return error;
    }

    // Why a request is not given to a handler.
    std::optional<Response> refusal_of_request(const BeastRequest& request) {
        const Options& options = service_.options;
        const bool is_known_host =
            request.count(bhttp::field::host) <= 1 &&
            (endpoint_.hosts.empty() ||
             endpoint_.hosts.contains(std::string(request[bhttp::field::host])));
        if (!is_known_host) {
            return error_response({.status = 400,
                                   .message = "Disallowed HTTP HOST header in the request",
                                   .name = "",
                                   .what = ""},
                                  false);
        }
        const bool is_limited = !endpoint_.remote.is_local || options.limits_local;
        if (is_limited &&
            !service_.rate.allow(endpoint_.remote.address, RateLimiter::Clock::now())) {
            ++service_.refused_rate;
            return refusal(429,
                           "Too Many Requests",
                           "more than http-requests-per-second (" +
                               std::to_string(options.requests_per_second_max) +
                               ") requests a second from one address; slow down");
        }
        return std::nullopt;
    }

    // False: the connection ends.
    asio::awaitable<bool> answer(BeastRequest& request, Charge& charge, HeldRequest& held) {
        ++service_.requests;
        const bool keep_alive = request.keep_alive() && !service_.stopping;
        const bool is_head = request.method() == bhttp::verb::head;
        const unsigned version = request.version();
        std::optional<Response> refused = refusal_of_request(request);
        const bool is_foreign_host = refused && refused->status == 400;
        const std::size_t bytes = request.body().size();
        if (!refused && charge.add(bytes) > service_.options.bytes_in_flight_max) {
            refused = refusal(503,
                              "Busy",
                              "more than http-max-bytes-in-flight-mb of requests and answers "
                              "are under way; try again later");
        }
        Response response;
        if (refused) {
            response = std::move(*refused);
        } else {
            response = co_await respond(request);
        }
        held.give_back();
        charge.add(response.body.size());
        BeastResponse out = to_beast(std::move(response), version);
        out.keep_alive(keep_alive);
        if (is_foreign_host) drop_cors(out);
        const bool is_written = co_await write(out, is_head);
        co_return is_written&& keep_alive;
    }

    asio::awaitable<Response> respond(BeastRequest& request) {
        if (request.method() == bhttp::verb::options) {
            Response response;
            response.body = "{}";
            co_return response;
        }
        const std::optional<Method> method = method_of(request.method());
        if (!method) co_return refuse_method("GET, HEAD, POST, OPTIONS");
        const bool is_of_other = !endpoint_.remote.unix_socket &&
                                 is_of_other_page(request, service_.options.allow_origin);
        Request ours = to_request(request, *method, endpoint_.remote);
        const Route* route = service_.router.find(ours, *endpoint_.listen);
        if (route == nullptr) co_return unknown_endpoint();
        if (route->is_operators && *method != Method::post)
            co_return refuse_method("POST, OPTIONS");
        if (route->is_operators && is_of_other) co_return refuse_page();
        if (route->is_of_socket && !endpoint_.remote.unix_socket) co_return refuse_tcp();
        if (route->is_operators && !is_operator(ours)) co_return refuse_token();
        Response response = co_await ask(*route, ours);
        co_return response;
    }

    [[nodiscard]] bool is_operator(const Request& request) const {
        const std::optional<std::string>& token = service_.options.operator_token;
        if (!token || request.remote.unix_socket) return true;
        return !token->empty() && has_bearer(request, *token);
    }

    asio::awaitable<Response> ask(const Route& route, Request& request) {
        const auto wake = std::make_shared<Wake>(stream_.get_executor());
        call(route, std::move(request), wake);
        while (!wake->response)
            co_await wake->timer.async_wait(kAwait);
        co_return std::move(*wake->response);
    }

    void call(const Route& route, Request request, const std::shared_ptr<Wake>& wake) {
        const Reply reply(std::make_shared<Reply::Target>(service_.gate, wake));
        try {
            route.handler(std::move(request), reply);
        } catch (const std::exception& error) {
            service_.log.warn("handler failed error={}", error.what());
            reply(refusal(500, "Internal Service Error", error.what()));
        }
    }

    asio::awaitable<void> upgrade(BeastRequest& request) {
        std::optional<Response> refused = refusal_of_request(request);
        std::unique_ptr<SocketHandler> handler;
        const std::string& allowed = service_.options.allow_origin;
        const bool is_of_any = endpoint_.remote.unix_socket || allowed == kAnyOrigin;
        if (!refused && !is_of_any && is_of_other_page(request, allowed)) refused = refuse_page();
        if (!refused) {
            BeastRequest copy = request;
            const Request ours = to_request(copy, Method::get, endpoint_.remote);
            const Upgrade* found = service_.router.find_socket(ours, *endpoint_.listen);
            if (found != nullptr) handler = (*found)(ours);
        }
        if (handler == nullptr) {
            if (!refused) refused = unknown_endpoint();
            co_await refuse(*refused);
            co_return;
        }
        co_await serve_socket(service_, stream_, place_, request, handler);
    }

    [[nodiscard]] BeastResponse to_beast(Response response, unsigned version) const {
        BeastResponse out;
        out.version(version);
        out.result(response.status);
        out.set(bhttp::field::server, service_.options.server_name);
        add_cors(service_.options, out);
        out.set(bhttp::field::content_type, response.content_type);
        for (const auto& [name, value] : response.headers)
            out.set(name, value);
        out.body() = std::move(response.body);
        out.prepare_payload();
        return out;
    }

    static void drop_cors(BeastResponse& out) {
        out.erase(bhttp::field::access_control_allow_origin);
        out.erase(bhttp::field::access_control_allow_headers);
        out.erase(bhttp::field::access_control_max_age);
        out.erase(bhttp::field::access_control_allow_credentials);
    }

    asio::awaitable<bool> write(BeastResponse& out, bool is_head) {
        stream_.expires_after(service_.options.write_timeout);
        const std::string head = beast::buffers_to_string(
            bhttp::fields::writer(out, out.version(), out.result_int()).get());
        std::string_view body = is_head ? std::string_view() : std::string_view(out.body());
        std::string_view rest_of_head = head;
        place_.add_held(body.size());
        while (true) {
            const std::string_view part = body.substr(0, kWrittenAtOnce);
            const beast::error_code error = co_await send(rest_of_head, part);
            if (error) {
                place_.take_held(body.size());
                co_return false;
            }
            place_.take_held(part.size());
            body.remove_prefix(part.size());
            rest_of_head = {};
            if (body.empty()) co_return true;
        }
    }

    // Answers a request that was not read to its end, and closes. What still comes is read and
    // thrown away for a moment, since closing at once would reset the connection and the client
    // might never see the answer.
    asio::awaitable<void> refuse(Response& response) {
        BeastResponse out = to_beast(std::move(response), 11);
        out.keep_alive(false);
        const bool is_written = co_await write(out, false);
        if (is_written) co_await close();
    }

    asio::awaitable<void> close() {
        place_.set_idle();
        beast::error_code ignored;
        stream_.socket().shutdown(asio::socket_base::shutdown_send, ignored);
        stream_.expires_after(kDrainTime);
        std::array<char, kReadBytes> waste{};
        for (std::size_t total = 0; total < kDrainBytesMax && !service_.stopping;) {
            const auto [error, size] =
                co_await stream_.async_read_some(asio::buffer(waste), kAwait);
            if (error) break;
            total += size;
        }
        stream_.close();
    }

    Service& service_;
    Stream& stream_;
    Place& place_;
    const Endpoint& endpoint_;
    beast::flat_buffer buffer_;
};

}  // namespace

Place::Place(Places& places, Places::Id id, Stream& stream)
    : places_(places), id_(id), handle_(std::make_shared<Handle>()) {
    set_close([&stream] { stream.close(); });
    const std::weak_ptr<Handle> weak = handle_;
    places_.set_close(id_, [weak, strand = stream.get_executor()](bool even_busy) {
        asio::post(strand, [weak, even_busy] {
            const auto handle = weak.lock();
            if (handle != nullptr && (handle->is_idle || even_busy)) handle->close();
        });
    });
}

void Place::set_idle() {
    handle_->is_idle = true;
    places_.set_idle(id_);
}

void Place::set_busy() {
    handle_->is_idle = false;
    places_.set_busy(id_);
}

asio::awaitable<void> serve(Service& service,
                            Stream& stream,
                            Place& place,
                            const Endpoint& endpoint) {
    Connection connection(service, stream, place, endpoint);
    co_await connection.run();
}

}  // namespace node::http
