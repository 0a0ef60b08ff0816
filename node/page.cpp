#include "node/page.hpp"

#include "node/page_text.hpp"

namespace node {

namespace {

http::Response page() {
    http::Response response;
    response.body = kPageText;
    response.content_type = "text/html; charset=utf-8";
    response.headers = {{"Content-Security-Policy",
                         "default-src 'none'; style-src 'unsafe-inline'; script-src "
                         "'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'"},
                        {"X-Content-Type-Options", "nosniff"},
                        {"Referrer-Policy", "no-referrer"},
                        {"Cache-Control", "no-cache"},
                        {"Vary", "Accept"}};
    return response;
}

}  // namespace

void add_page(http::Router& router) {
    router.add("/", {.handler = [](const http::Request& request, const http::Reply& reply) {
                   reply(request.wants_html() ? page() : http::unknown_endpoint());
               }});
}

}  // namespace node
