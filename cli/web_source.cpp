#include "cli/web_source.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>
#include <utility>

namespace cli {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using base::Errc;
using base::fail;

namespace {

constexpr auto kPatience = std::chrono::seconds(30);  // Without a byte.
constexpr int kTries = 4;                             // That bring nothing, one after the other.
constexpr auto kPause = std::chrono::seconds(1);      // Between them.
constexpr std::size_t kReadBytes = 256 * 1024;

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";

}  // namespace

bool is_web_address(std::string_view text) {
    return text.starts_with(kHttp) || text.starts_with(kHttps);
}

// To one server, for one request after the other.
class WebSource::Connection {
  public:
    explicit Connection(const Address& address) : address_(address) {
        tls_.set_verify_mode(asio::ssl::verify_peer);
        beast::error_code ignored;  // Without authorities no server is believed.
        tls_.set_default_verify_paths(ignored);
    }

    // Of a file, the bytes from `bytes.size()` on, as far as they come. Nothing: all have.
    [[nodiscard]] std::optional<base::Error> get(const std::string& file,
                                                 std::size_t bytes_max,
                                                 base::Bytes& bytes) {
        if (auto error = connect()) return error;
        return secure_ ? get(*secure_, file, bytes_max, bytes)
                       : get(*plain_, file, bytes_max, bytes);
    }
    // For another request.
    [[nodiscard]] bool is_open() const { return is_open_; }

  private:
    // Runs what is started, which is given a handler, to its end or until nothing comes any more.
    template <class Start>
    beast::error_code run(const Start& start) {
        beast::error_code failure;
        if (secure_) beast::get_lowest_layer(*secure_).expires_after(kPatience);
        if (plain_) plain_->expires_after(kPatience);
        start([&failure](beast::error_code error, auto&&... /*what*/) { failure = error; });
        context_.restart();
        context_.run();
        return failure;
    }

    static base::Error error_of(const beast::error_code& failure, const char* what) {
        return {Errc::unavailable, fmt::format("{}: {}", what, failure.message())};
    }

    std::optional<base::Error> connect() {
        if (is_open_) return {};
        const std::string& host = address_.host;
        const bool is_ipv6 = host.starts_with('[');
        const std::string name = is_ipv6 ? host.substr(1, host.size() - 2) : host;
        beast::error_code failure;
        asio::ip::tcp::resolver resolver(context_);
        const auto found = resolver.resolve(name, address_.port, failure);
        if (failure) return error_of(failure, "the server's name");
        if (address_.is_https) {
            secure_.emplace(context_, tls_);
            secure_->set_verify_callback(asio::ssl::host_name_verification(name));
            std::string server = name;  // As SSL_set_tlsext_host_name(), which casts.
            SSL_ctrl(secure_->native_handle(),
                     SSL_CTRL_SET_TLSEXT_HOSTNAME,
                     TLSEXT_NAMETYPE_host_name,
                     server.data());
        } else {
            plain_.emplace(context_);
        }
        auto& stream = secure_ ? beast::get_lowest_layer(*secure_) : *plain_;
        failure = run([&](auto done) { stream.async_connect(found, std::move(done)); });
        if (failure) return error_of(failure, "connecting");
        if (secure_) {
            failure = run([&](auto done) {
                secure_->async_handshake(asio::ssl::stream_base::client, std::move(done));
            });
            const bool is_refused = failure.category() == asio::error::get_ssl_category();
            if (is_refused) return base::Error{Errc::invalid, "TLS: " + failure.message()};
            if (failure) return error_of(failure, "TLS");
        }
        is_open_ = true;
        return {};
    }

    template <class Stream>
    std::optional<base::Error> get(Stream& stream,
                                   const std::string& file,
                                   std::size_t bytes_max,
                                   base::Bytes& bytes) {
        is_open_ = false;
        http::request<http::empty_body> request(http::verb::get, address_.path + file, 11);
        request.set(http::field::host, address_.host + ":" + address_.port);
        request.set(http::field::user_agent, "bor-cli");
        if (!bytes.empty()) {
            request.set(http::field::range, fmt::format("bytes={}-", bytes.size()));
        }
        auto failure = run([&](auto done) { http::async_write(stream, request, std::move(done)); });
        if (failure) return error_of(failure, "sending the request");
        http::response_parser<http::buffer_body> parser;
        parser.body_limit(bytes_max);
        failure = run(
            [&](auto done) { http::async_read_header(stream, buffer_, parser, std::move(done)); });
        if (failure == http::error::body_limit) return too_long(bytes_max);
        if (failure) return error_of(failure, "the answer");
        if (auto error = check_status(parser.get(), bytes)) return error;
        if (auto error = read_body(stream, parser, bytes_max, bytes)) return error;
        is_open_ = parser.get().keep_alive();
        return {};
    }

    static base::Error too_long(std::size_t bytes_max) {
        return {Errc::malformed, fmt::format("it has more than {} bytes", bytes_max)};
    }

    template <class Head>
    static bool continues(const Head& head, const base::Bytes& bytes) {
        const auto range = head[http::field::content_range];
        const std::string begin = fmt::format("bytes {}-", bytes.size());
        return !bytes.empty() && std::string_view(range.data(), range.size()).starts_with(begin);
    }

    template <class Head>
    static std::optional<base::Error> check_status(const Head& head, base::Bytes& bytes) {
        switch (head.result()) {
            case http::status::partial_content:
                if (continues(head, bytes)) return {};
                break;
            case http::status::ok:
                bytes.clear();
                return {};
            case http::status::not_found:
                return base::Error{Errc::not_found, "the server has no such file"};
            case http::status::range_not_satisfiable:
                bytes.clear();
                return base::Error{Errc::unavailable, "the file has changed"};
            default:
                break;
        }
        const int status = static_cast<int>(head.result_int());
        const auto place = head[http::field::location];
        std::string text = fmt::format("HTTP status {} {}", status, std::string(head.reason()));
        if (!place.empty()) text += "; it is at " + std::string(place) + ": name its folder";
        constexpr int kServerErrors = 500;
        return base::Error{status >= kServerErrors ? Errc::unavailable : Errc::invalid, text};
    }

    template <class Stream, class Parser>
    std::optional<base::Error> read_body(Stream& stream,
                                         Parser& parser,
                                         std::size_t bytes_max,
                                         base::Bytes& bytes) {
        std::array<std::byte, kReadBytes> piece{};
        while (!parser.is_done()) {
            parser.get().body().data = piece.data();
            parser.get().body().size = piece.size();
            auto failure =
                run([&](auto done) { http::async_read(stream, buffer_, parser, std::move(done)); });
            if (failure == http::error::need_buffer) failure = {};
            const std::size_t come = piece.size() - parser.get().body().size;
            if (bytes.size() + come > bytes_max || failure == http::error::body_limit) {
                return too_long(bytes_max);
            }
            bytes.insert(
                bytes.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(come));
            if (failure) return error_of(failure, "the answer ended");
        }
        return {};
    }

    const Address& address_;
    asio::io_context context_;
    asio::ssl::context tls_{asio::ssl::context::tls_client};
    std::optional<beast::tcp_stream> plain_;
    std::optional<beast::ssl_stream<beast::tcp_stream>> secure_;
    beast::flat_buffer buffer_;
    bool is_open_ = false;
};

WebSource::WebSource(Address address) : address_(std::move(address)) {}

WebSource::~WebSource() = default;

base::Result<std::unique_ptr<WebSource>> WebSource::open(const std::string& url) {
    Address address;
    address.is_https = url.starts_with(kHttps);
    const std::string rest = url.substr((address.is_https ? kHttps : kHttp).size());
    const std::size_t slash = rest.find('/');
    const std::string authority = rest.substr(0, slash);
    address.path = slash == std::string::npos ? "/" : rest.substr(slash);
    const std::size_t colon = authority.rfind(':');
    const bool has_port =
        colon != std::string::npos && authority.find(']', colon) == std::string::npos;
    address.host = authority.substr(0, has_port ? colon : std::string::npos);
    address.port = has_port ? authority.substr(colon + 1) : address.is_https ? "443" : "80";
    const bool is_good = is_web_address(url) && !address.host.empty() && !address.port.empty() &&
                         rest.find_first_of(" ?#@\r\n") == std::string::npos;
    if (!is_good) {
        return fail(Errc::invalid,
                    fmt::format("'{}' is no address of a folder: "
                                "http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH",
                                url));
    }
    if (address.path.ends_with(std::string("/") + node::SnapshotFolder::kManifest)) {
        address.path.resize(address.path.rfind('/'));
    }
    if (!address.path.ends_with('/')) address.path += '/';
    return std::unique_ptr<WebSource>(new WebSource(std::move(address)));
}

std::string WebSource::place_of(const std::string& file) const {
    return fmt::format("{}{}:{}{}{}",
                       address_.is_https ? kHttps : kHttp,
                       address_.host,
                       address_.port,
                       address_.path,
                       file);
}

std::unique_ptr<WebSource::Connection> WebSource::take() {
    const std::scoped_lock lock(mutex_);
    if (idle_.empty()) return std::make_unique<Connection>(address_);
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
}

void WebSource::put_back(std::unique_ptr<Connection> connection) {
    if (!connection->is_open()) return;
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(connection));
}

base::Result<base::Bytes> WebSource::read(const std::string& file, std::size_t bytes_max) {
    base::Bytes bytes;
    std::size_t most = 0;  // That had come; from the start again, less has.
    for (int tries = 1;; ++tries) {
        auto connection = take();
        const auto error = connection->get(file, bytes_max, bytes);
        put_back(std::move(connection));
        if (!error) return bytes;
        const std::string named = fmt::format("{}: {}", place_of(file), error->detail);
        if (error->code != Errc::unavailable || tries == kTries) return fail(error->code, named);
        if (bytes.size() > most) tries = 0;
        most = std::max(most, bytes.size());
        std::this_thread::sleep_for(kPause);
    }
}

}  // namespace cli
