#pragma once

#include "genesis/genesis.hpp"
#include "node/abi_cache.hpp"
#include "node/admission.hpp"
#include "node/api/chain_json.hpp"
#include "node/history.hpp"
#include "node/http/server.hpp"
#include "node/params.hpp"
#include "node/runtime.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>

namespace node {

// What the handlers of API calls work with. Made once by main; outlives the server.
struct ApiContext {
    Runtime& runtime;
    const History& history;
    AbiCache& abis;
    const genesis::Genesis& genesis;
    chain::ChainId chain_id;
    bool verbose_errors = false;
    std::chrono::milliseconds response_time{15};  // To collect one answer.
    const ProducerSettings& settings;
    std::size_t answer_bytes_max = SIZE_MAX;  // Of a dry run: contracts fill it.

    // What a dry run may take.
    [[nodiscard]] std::chrono::milliseconds dry_run_time() const {
        constexpr std::int32_t kLongest = 10'000;
        const std::int32_t limit = settings.runtime_options().max_transaction_time;
        return std::chrono::milliseconds(limit < 0 ? kLongest : std::min(limit, kLongest));
    }

    // Who is connected, as of the last second; never null.
    [[nodiscard]] std::shared_ptr<const p2p::Status> peers() const {
        auto status = runtime.peers();
        return status == nullptr ? std::make_shared<const p2p::Status>() : status;
    }

    [[nodiscard]] const chain::SlotTimes& times() const { return genesis.times; }
};

// An answer, or why there is none.
using Answer = tl::expected<Json, api::ErrorReport>;

[[nodiscard]] inline tl::unexpected<api::ErrorReport> refuse(api::ErrorReport report) {
    return tl::unexpected<api::ErrorReport>(std::move(report));
}
[[nodiscard]] inline tl::unexpected<api::ErrorReport> refuse(const base::Error& error) {
    return refuse(api::report_of(error, api::ErrorOrigin::request));
}
[[nodiscard]] inline tl::unexpected<api::ErrorReport> refuse(chain::Exception exception,
                                                             std::string detail) {
    return refuse(chain::make_error(exception, std::move(detail)));
}

// The moment that a read is answered from: the head, or what is final with ?state=final.
struct Moment {
    std::shared_ptr<const Published> view;
    std::shared_ptr<const chain::StateView> state;
    chain::BlockPtr block;  // Whose state it is.
};

using Respond = std::function<void(http::Response)>;

// The parameters of a call, and who asks.
struct Asked {
    Params& params;
    const http::Remote& remote;
};

// Ends the collecting of an answer.
class Deadline {
  public:
    explicit Deadline(std::chrono::milliseconds time)
        : end_(std::chrono::steady_clock::now() + time) {}
    [[nodiscard]] bool is_over() const { return std::chrono::steady_clock::now() >= end_; }

  private:
    std::chrono::steady_clock::time_point end_;
};

// Adds the paths of API calls to a router, each with its parameters, status and category.
class Calls {
  public:
    using Read = std::function<Answer(const ApiContext&, const Moment&, Params&)>;
    using Plain = std::function<Answer(Params&)>;
    // Answers when it likes; errors of its parameters were refused before.
    using Later = std::function<void(const ApiContext&, Asked, Respond)>;

    // Whom a call is served (spec 10): over any listener; where one names its category; to the
    // operator, as are all calls of nodeos' plugins of that kind; only to who may open the Unix
    // socket.
    enum class Reach : std::uint8_t { anywhere, listed, operators, unix_socket };
    struct Options {
        std::string path;
        Need need = Need::none;
        std::string category = "chain_ro";
        unsigned status = 200;
        Reach reach = Reach::anywhere;
    };

    Calls(http::Router& router, const ApiContext& context) : router_(router), context_(context) {}

    // Reads the state at one moment.
    void read(const Options& options, Read call);
    void plain(const Options& options, Plain call);
    void later(const Options& options, Later call);

    [[nodiscard]] const ApiContext& context() const { return context_; }
    [[nodiscard]] http::Router& router() { return router_; }

  private:
    void add(const Options& options, http::Handler handler, std::set<std::string> queries);
    [[nodiscard]] Moment moment(const http::Request& request) const;
    [[nodiscard]] http::Response to_response(const Answer& answer, unsigned status) const;

    http::Router& router_;
    const ApiContext& context_;
};

}  // namespace node
