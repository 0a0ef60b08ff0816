// Parameters of API calls: what counts as no body, nodeos' conversions, and its refusals.
#include "node/params.hpp"

#include "node/base64.hpp"

#include <catch2/catch.hpp>

namespace {

using node::Need;
using node::Params;

std::string last_detail(const Params& params) {
    REQUIRE(!params.ok());
    return params.error().details.back();
}

}  // namespace

TEST_CASE("empty, blank, {} and null bodies are no body") {
    for (const char* body : {"", "  \n", "{}", " { } ", "null"}) {
        CHECK(Params(body, Need::none).ok());
        CHECK(Params(body, Need::optional).ok());
        const Params refused(body, Need::required);
        CHECK(last_detail(refused) == "A Request body is required");
        CHECK(refused.error().status == 400);
    }
    CHECK(last_detail(Params(R"({"a":1})", Need::none)) == "no parameter should be given");
}

TEST_CASE("malformed and deeply nested bodies are refused") {
    const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
    for (const std::string& body : {std::string("{"),
                                    std::string("{\"a\":}"),
                                    std::string("[1,"),
                                    std::string("\xff\xfe"),
                                    deep}) {
        const Params params(body, Need::required);
        REQUIRE(!params.ok());
        CHECK(params.error().status == 400);
        CHECK(params.error().details.front() == "Unable to parse valid input from POST body");
    }
}

TEST_CASE("fields are read with nodeos' conversions") {
    Params params(R"({"name":"alice","number":7,"text":"8","flag":"true","minus":-1,
                      "list":["a","b"],"null":null})",
                  Need::required);
    CHECK(params.name("name").to_string() == "alice");
    CHECK(params.text("number") == "7");
    CHECK(params.u32("text", 0) == 8);
    CHECK(params.u32("missing", 10) == 10);
    CHECK(params.boolean("flag"));
    CHECK(params.u32("minus", 0) == 4294967295U);
    CHECK(params.names("list").size() == 2);
    CHECK(params.names("null").empty());
    CHECK(!params.optional_u32("null"));
    CHECK(params.ok());
}

TEST_CASE("a wrong field is refused, and the first error stays") {
    Params bad_name(R"({"name":"NOT A NAME"})", Need::required);
    (void)bad_name.name("name");
    CHECK(last_detail(bad_name).find("Name not properly normalized (name: NOT A NAME") == 0);
    Params number(R"({"name":5,"limit":"x"})", Need::required);
    (void)number.name("name");
    (void)number.u32("limit", 0);
    CHECK(last_detail(number) == "Invalid cast from type 'uint64_type' to string");
    Params big(R"({"block_num":4294967296})", Need::required);
    (void)big.u32("block_num", 0);
    CHECK(last_detail(big).find("block_num") == 0);
    Params list(R"(["a"])", Need::required);
    CHECK(list.find("anything") == nullptr);
}

TEST_CASE("base64 has its padding") {
    CHECK(node::to_base64(base::as_bytes("")).empty());
    CHECK(node::to_base64(base::as_bytes("f")) == "Zg==");
    CHECK(node::to_base64(base::as_bytes("fo")) == "Zm8=");
    CHECK(node::to_base64(base::as_bytes("foo")) == "Zm9v");
    CHECK(node::to_base64(base::as_bytes("foobar")) == "Zm9vYmFy");
}
