#include "node/calls.hpp"

#include <optional>
#include <utility>

namespace node {

namespace {

constexpr const char* kFinal = "state=final";
constexpr const char* kHead = "state=head";

// Nothing: whoever asks may.
std::optional<http::Response> refuse_remote(Calls::Reach reach, const http::Remote& remote) {
    const bool may_ask = reach == Calls::Reach::anywhere ||
                         (reach == Calls::Reach::local ? remote.is_local : remote.unix_socket);
    if (may_ask) return std::nullopt;
    const char* const reason =
        reach == Calls::Reach::local
            ? "this call is only served on loopback addresses and Unix sockets"
            : "this call is only served on the node's Unix socket (unix-socket-path); bor-cli asks "
              "there with --url unix:///PATH";
    return http::error_response({.status = 403, .message = "Forbidden", .details = {reason}},
                                false);
}

}  // namespace

Moment Calls::moment(const http::Request& request) const {
    Moment moment;
    const bool is_final = request.query == kFinal;
    moment.view =
        is_final ? context_.runtime.published() : context_.runtime.published_with_pending();
    moment.state = is_final ? moment.view->final_state : moment.view->pending_state;
    moment.block = is_final ? moment.view->finalized : moment.view->head;
    return moment;
}

http::Response Calls::to_response(const Answer& answer, unsigned status) const {
    if (!answer) return error_response(answer.error(), context_.verbose_errors);
    return json_response(*answer, status);
}

void Calls::read(const Options& options, Read call) {
    const auto handler = [this, options, call = std::move(call)](const http::Request& request,
                                                                 const http::Reply& reply) {
        Params params(request.body, options.need);
        if (!params.ok()) {
            reply(error_response(params.error(), context_.verbose_errors));
            return;
        }
        reply(to_response(call(context_, moment(request), params), options.status));
    };
    router_.add(options.path,
                {.handler = handler, .category = options.category, .queries = {kFinal, kHead}});
}

void Calls::plain(const Options& options, Plain call) {
    later(options,
          [this, options, call = std::move(call)](
              const ApiContext& /*context*/, Asked asked, const Respond& reply) {
              reply(to_response(call(asked.params), options.status));
          });
}

void Calls::later(const Options& options, Later call) {
    const auto handler = [this, options, call = std::move(call)](const http::Request& request,
                                                                 const http::Reply& reply) {
        if (auto refused = refuse_remote(options.reach, request.remote)) {
            reply(*std::move(refused));
            return;
        }
        Params params(request.body, options.need);
        if (!params.ok()) {
            reply(error_response(params.error(), context_.verbose_errors));
            return;
        }
        call(context_, {params, request.remote}, reply);
    };
    router_.add(options.path,
                {.handler = handler,
                 .category = options.category,
                 .queries = {},
                 .is_operators = options.reach != Reach::anywhere});
}

}  // namespace node
