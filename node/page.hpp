#pragma once

#include "node/http/server.hpp"

namespace node {

// The page at `/`, for browsers; who does not ask for HTML gets 404 as from nodeos. It is in the
// program and asks nobody but this node.
void add_page(http::Router& router);

}  // namespace node
