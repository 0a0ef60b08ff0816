#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace node::http {

// What handlers see of a request. OPTIONS and unknown methods never reach them.
enum class Method : std::uint8_t { get, head, post };

using Headers = std::vector<std::pair<std::string, std::string>>;

// Who asks. Value.
struct Remote {
    std::string address{};     // Without the port; empty on a Unix socket.
    bool unix_socket = false;  // Came over a Unix socket.
    bool is_local = false;     // Unix socket or a loopback address.
    std::string listener{};    // The address of ours that was connected to, as configured.
};

struct Request {
    Method method = Method::get;
    std::string path{};   // Without the query, not percent-decoded.
    std::string query{};  // After '?'; empty when there is none.
    std::string body{};
    Headers headers{};
    Remote remote{};

    // The first header of that name (any case); empty when there is none.
    [[nodiscard]] std::string_view header(std::string_view name) const;
    // Whether Accept names text/html, as browsers do and API clients do not.
    [[nodiscard]] bool wants_html() const;
};

// Whether it shows this token, by "Authorization: Bearer TOKEN" (RFC 6750, 2.1).
[[nodiscard]] bool has_bearer(const Request& request, std::string_view token);

// Without the blanks at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);
// Whether a request's body is none in nodeos' sense: {}, null or nothing, and blanks.
[[nodiscard]] bool is_no_body(std::string_view body);

struct Response {
    unsigned status = 200;
    std::string body{};
    std::string content_type = "application/json";
    Headers headers{};
};

// The error body of Antelope's HTTP interfaces.
struct ErrorBody {
    unsigned status = 500;
    std::string message{};   // "Not Found", "Internal Service Error", ...
    std::uint64_t code = 0;  // Antelope's exception code; 0: none.
    std::string name = "exception";
    std::string what = "unspecified";
    std::vector<std::string> details{};  // The most specific text first.
};

// {code, message, error{code, name, what, details[{message, file, line_number, method}]}}.
// At most ten details when `verbose`, else at most one.
[[nodiscard]] Response error_response(const ErrorBody& error, bool verbose);

// 404 with Antelope's text for a path that nobody serves.
[[nodiscard]] Response unknown_endpoint();

// Answers one request, exactly once, from any thread, at once or later. A copy refers to the
// same request; the first call counts. When the last copy is dropped without an answer, the
// client gets 500. May outlive the server; then nothing happens.
class Reply {
  public:
    class Target;  // server.cpp
    explicit Reply(std::shared_ptr<Target> target) : target_(std::move(target)) {}

    void operator()(Response response) const;

  private:
    std::shared_ptr<Target> target_;
};

// Runs on an HTTP thread and must not block: long work is posted elsewhere with the Reply.
using Handler = std::function<void(Request, Reply)>;

// The server's end of one WebSocket. Thread: any.
class Socket {
  public:
    virtual ~Socket() = default;

    // Queues one message. False: closed, or the queue is full; then nothing was queued and
    // SocketHandler::drained() follows once half of the queue is free.
    virtual bool send(std::string message, bool binary) = 0;
    [[nodiscard]] virtual std::size_t queued_bytes() const = 0;
    // Closes after what is queued, with a reason of at most 123 bytes.
    virtual void close(std::string_view reason) = 0;
};

// What an application makes of one WebSocket. Calls come one after the other, on HTTP threads.
// Destroyed after closed().
class SocketHandler {
  public:
    virtual ~SocketHandler() = default;

    // The socket may be kept by other threads; its send() fails once it is closed.
    virtual void opened(std::shared_ptr<Socket> socket) = 0;
    virtual void message(std::string_view text) = 0;
    // Room again after send() returned false.
    virtual void drained() = 0;
    virtual void closed() = 0;
};

// Makes the handler of a WebSocket that asks for a path; null: refused as unknown.
using Upgrade = std::function<std::unique_ptr<SocketHandler>(const Request&)>;

}  // namespace node::http
