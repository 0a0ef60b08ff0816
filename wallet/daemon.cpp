#include "wallet/daemon.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>
#include <utility>

namespace wallet {

namespace {

constexpr std::size_t kJobsMax = 64;
constexpr std::string_view kStopPath = "/v1/keosd/stop";
constexpr std::string_view kApisPath = "/v1/node/get_supported_apis";

// Nothing changes by it, so that GET is answered, too, as keosd does.
bool is_read(std::string_view path) {
    return path == "/v1/wallet/list_wallets" || path == "/v1/wallet/get_public_keys";
}

// Counts on while the machine sleeps: a closed laptop must not keep its wallets unlocked.
base::Timestamp now() {
    timespec time{};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    return base::Timestamp(std::chrono::seconds(time.tv_sec) +
                           std::chrono::nanoseconds(time.tv_nsec));
}

node::http::Response refusal(unsigned status, std::string_view message, std::string_view detail) {
    return node::http::error_response(
        {.status = status, .message = std::string(message), .details = {std::string(detail)}},
        false);
}

}  // namespace

Daemon::Daemon(Options options, base::Log log, std::function<void()> on_stop)
    : options_(std::move(options)), log_(log), on_stop_(std::move(on_stop)) {}

Daemon::~Daemon() {
    if (server_) server_->stop();
}

base::Result<void> Daemon::start() {
    auto directory = Directory::open(options_.wallet_dir);
    if (!directory) return base::fail(directory.error());
    directory_ = std::move(*directory);
    keyring_ = std::make_unique<Keyring>(*directory_, ScryptCost{}, options_.unlock_timeout);
    journals_ = std::make_unique<ValidatorJournals>(options_.wallet_dir);
    api_ = std::make_unique<Api>(*keyring_, *journals_, options_.verbose_http_errors);
    worker_ = std::make_unique<Worker>(kJobsMax, [this] {
        if (keyring_->expire(now())) log_.info("locked all wallets after the unlock timeout");
    });

    node::http::Options http;
    if (!options_.unix_socket_path.empty()) {
        const auto parent = std::filesystem::path(options_.unix_socket_path).parent_path();
        std::error_code ignored;
        std::filesystem::create_directories(parent, ignored);
        http.listen.push_back({.address = options_.unix_socket_path, .is_unix = true});
    }
    if (!options_.http_server_address.empty()) {
        http.listen.push_back({.address = options_.http_server_address});
    }
    http.threads = 1;
    http.server_name = "bor-wallet";
    http.body_bytes_max = options_.max_body_size;
    http.connections_max = 64;
    http.bytes_in_flight_max = 64 * options_.max_body_size;
    http.verbose_errors = options_.verbose_http_errors;
    http.unix_mode = 0600;
    server_ = std::make_unique<node::http::Server>(std::move(http), make_router(), log_);
    if (auto started = server_->start(); !started) return started;
    for (const std::string& address : server_->addresses())
        log_.info("serving {}", address);
    return {};
}

std::vector<std::string> Daemon::addresses() const {
    return server_->addresses();
}

node::http::Router Daemon::make_router() {
    node::http::Router router;
    std::vector<std::string> paths = Api::paths();
    for (const std::string& path : paths) {
        router.add(path,
                   {.handler =
                        [this](node::http::Request request, const node::http::Reply& reply) {
                            serve(std::move(request), reply);
                        },
                    .is_operators = !is_read(path)});
    }
    router.add(std::string(kStopPath),
               {.handler =
                    [this](const node::http::Request& request, const node::http::Reply& reply) {
                        if (auto refused = refuse(request)) return reply(std::move(*refused));
                        reply({.body = "{}"});
                        on_stop_();
                    },
                .is_operators = true});
    paths.insert(paths.begin(), std::string(kStopPath));
    const std::string apis = fmt::format("{{\"apis\":[\"{}\"]}}", fmt::join(paths, "\",\""));
    router.add(std::string(kApisPath),
               {.handler = [apis](const node::http::Request& /*request*/,
                                  const node::http::Reply& reply) { reply({.body = apis}); }});
    return router;
}

std::optional<node::http::Response> Daemon::refuse(const node::http::Request& request) const {
    if (request.remote.unix_socket) return std::nullopt;
    if (!options_.token.empty()) {
        if (node::http::has_bearer(request, options_.token)) return std::nullopt;
        return refusal(401,
                       "Unauthorized",
                       "http-token is set: send it in the header 'Authorization: Bearer TOKEN'");
    }
    // Without a token only programs on this machine may come, not the pages in its browsers.
    if (request.header("Origin").empty()) return std::nullopt;
    return refusal(403, "Forbidden", "requests of web pages are refused without http-token");
}

void Daemon::serve(node::http::Request request, const node::http::Reply& reply) {
    if (auto refused = refuse(request)) return reply(std::move(*refused));
    auto shared = std::make_shared<node::http::Request>(std::move(request));
    const bool accepted = worker_->post(
        [this, shared, reply] { reply(api_->call(shared->path, shared->body, now())); });
    if (accepted) return;
    wipe(shared->body);
    reply(refusal(
        503, "Busy", fmt::format("{} calls are waiting already, try again later", kJobsMax)));
}

bool StderrLog::enabled(base::Level level) const {
    return level != base::Level::debug;
}

void StderrLog::write(base::Level level, std::string_view component, std::string_view line) {
    constexpr std::array<std::string_view, 4> kNames = {"debug", "info", "warn", "error"};
    fmt::print(stderr,
               "{:%Y-%m-%dT%H:%M:%S} {} {}: {}\n",
               fmt::gmtime(std::time(nullptr)),
               kNames.at(static_cast<std::size_t>(level)),
               component,
               line);
}

}  // namespace wallet
