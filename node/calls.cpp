#include "node/calls.hpp"

#include <string_view>
#include <utility>

namespace node {

namespace {

constexpr const char* kFinal = "state=final";
constexpr const char* kHead = "state=head";

// The plugins of which each call is an operator's (spec 07).
bool is_of_operator(std::string_view path) {
    return path.starts_with("/v1/producer/") || path.starts_with("/v1/net/") ||
           path.starts_with("/v1/db_size/");
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
    add(options, handler, {kFinal, kHead});
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
        Params params(request.body, options.need);
        if (!params.ok()) {
            reply(error_response(params.error(), context_.verbose_errors));
            return;
        }
        call(context_, {params, request.remote}, reply);
    };
    add(options, handler, {});
}

void Calls::add(const Options& options, http::Handler handler, std::set<std::string> queries) {
    const bool is_of_socket = options.reach == Reach::unix_socket;
    router_.add(options.path,
                {.handler = std::move(handler),
                 .category = options.category,
                 .queries = std::move(queries),
                 .is_operators = is_of_socket || options.reach == Reach::operators ||
                                 is_of_operator(options.path),
                 .is_of_socket = is_of_socket,
                 .is_listed = options.reach == Reach::listed});
}

}  // namespace node
