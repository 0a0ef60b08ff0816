#include "node/calls.hpp"

#include <utility>

namespace node {

namespace {

constexpr const char* kFinal = "state=final";
constexpr const char* kHead = "state=head";

http::Response not_local() {
    return http::error_response(
        {.status = 403,
         .message = "Forbidden",
         .details = {"this call is only served on loopback addresses and Unix sockets"}},
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
        if (options.local_only && !request.remote.is_local) {
            reply(not_local());
            return;
        }
        Params params(request.body, options.need);
        if (!params.ok()) {
            reply(error_response(params.error(), context_.verbose_errors));
            return;
        }
        call(context_, {params, request.remote}, reply);
    };
    router_.add(options.path, {.handler = handler, .category = options.category, .queries = {}});
}

}  // namespace node
