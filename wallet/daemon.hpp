#pragma once

#include "base/log.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "node/http/server.hpp"
#include "wallet/api.hpp"
#include "wallet/options.hpp"
#include "wallet/worker.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wallet {

// bor-wallet without its main(): directory, keyring, worker and HTTP server together.
//
// Thread: the owner's. HTTP threads only hand requests to the worker, which alone touches the
// keyring, so that slow password checks neither block the server nor run at the same time.
class Daemon : base::Pinned {
  public:
    // `on_stop` is called, on an HTTP thread, when a client asks for the end.
    Daemon(Options options, base::Log log, std::function<void()> on_stop);
    ~Daemon();

    // unavailable: the directory is held by another process, or an address is taken.
    base::Result<void> start();

    // The addresses served, with real ports.
    [[nodiscard]] std::vector<std::string> addresses() const;

  private:
    [[nodiscard]] node::http::Router make_router();
    // Whether a request over TCP may be served; the refusal if not.
    [[nodiscard]] std::optional<node::http::Response> refuse(
        const node::http::Request& request) const;
    void serve(node::http::Request request, const node::http::Reply& reply);

    const Options options_;
    const base::Log log_;
    const std::function<void()> on_stop_;
    std::unique_ptr<Directory> directory_;
    std::unique_ptr<Keyring> keyring_;
    std::unique_ptr<ValidatorJournals> journals_;
    std::unique_ptr<Api> api_;
    std::unique_ptr<Worker> worker_;
    std::unique_ptr<node::http::Server> server_;  // Last: ends first.
};

// Writes log lines with the time to standard error.
class StderrLog : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level level) const override;
    void write(base::Level level, std::string_view component, std::string_view line) override;
};

}  // namespace wallet
