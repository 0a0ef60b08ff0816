#include "node/page.hpp"

#include "node/page_files.hpp"

namespace node {

namespace {

http::Response file(std::string_view text, std::string content_type) {
    http::Response response;
    response.body = text;
    response.content_type = std::move(content_type);
    response.headers = {{"Content-Security-Policy",
                         "default-src 'none'; style-src 'self'; script-src 'self'; connect-src "
                         "'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                         "frame-ancestors 'none'"},
                        {"X-Content-Type-Options", "nosniff"},
                        {"Referrer-Policy", "no-referrer"},
                        {"Cache-Control", "no-cache"},
                        {"Vary", "Accept"}};
    return response;
}

}  // namespace

void add_page(http::Router& router) {
    router.add("/", {.handler = [](const http::Request& request, const http::Reply& reply) {
                   reply(request.wants_html() ? file(kPageHtml, "text/html; charset=utf-8")
                                              : http::unknown_endpoint());
               }});
    router.add("/page.css", {.handler = [](const http::Request&, const http::Reply& reply) {
                   reply(file(kPageCss, "text/css; charset=utf-8"));
               }});
    router.add("/page.js", {.handler = [](const http::Request&, const http::Reply& reply) {
                   reply(file(kPageJs, "text/javascript; charset=utf-8"));
               }});
}

}  // namespace node
