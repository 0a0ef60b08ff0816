#include "genesis/join_line.hpp"

#include <catch2/catch.hpp>

using genesis::HostPort;
using genesis::JoinLine;

namespace {

const std::string kKey =
    base::crypto::PrivateKey::generate(base::crypto::KeyType::r1).public_key().to_string();
const std::string kChain(64, 'a');
const std::string kBlock = "000001f4" + std::string(56, '7');  // Of height 500.

std::string line_of(const std::string& address = "node.example:9876:8888",
                    const std::string& key = kKey,
                    const std::string& chain = kChain,
                    const std::string& checkpoint = "500:" + kBlock) {
    return "bor://" + address + "#" + key + "/" + chain + "/" + checkpoint;
}

std::string error_of(const std::string& text) {
    const auto line = JoinLine::from_string(text);
    REQUIRE_FALSE(line);
    CHECK(line.error().code == base::Errc::invalid);
    return line.error().detail;
}

void names(const std::string& part, const std::string& text) {
    CAPTURE(text);
    const std::string said = error_of(text);
    CHECK(said.starts_with("join line: " + part));
    CHECK(said.ends_with("bor://HOST:P2P-PORT:HTTP-PORT#NODE-KEY/CHAIN-ID/HEIGHT:ID"));
}

}  // namespace

TEST_CASE("a join line is read, and written the same") {
    const auto line = JoinLine::from_string(line_of());
    REQUIRE(line);
    CHECK(line->host == "node.example");
    CHECK(line->p2p_address() == "node.example:9876");
    CHECK(line->http_url() == "http://node.example:8888");
    CHECK(line->node_key.to_string() == kKey);
    CHECK(base::to_hex(line->chain_id.view()) == kChain);
    CHECK(line->checkpoint.height == 500);
    CHECK(base::to_hex(line->checkpoint.block.view()) == kBlock);
    CHECK(line->to_string() == line_of());
    for (const char* address : {"10.0.0.7:1:65535", "[2001:db8::7]:9876:8888", "a_b-c:2:3"})
        CHECK(JoinLine::from_string(line_of(address))->to_string() == line_of(address));
}

TEST_CASE("each part of a join line that is wrong is named") {
    names("beginning 'http:/'", "http://node.example:9876:8888");
    names("beginning ''", "");
    names("beginning 'bor:'", "bor:");
    names("end ''", "bor://");
    names("end", "bor://a:1:2#" + kKey);
    names("address", "bor://a:1:2/" + kChain + "/500:" + kBlock);
    names("address 'a'", line_of("a"));
    names("address 'a:1'", line_of("a:1"));
    names("HOST ''", line_of(":1:2"));
    for (const char* host : {"a b", "a/../b", "[]", "[::1", "::1", "[node]", "a%41", "a@b", "\n"})
        names("HOST", line_of(std::string(host) + ":1:2"));
    for (const char* port : {"", "0", "65536", "-1", "+1", " 1", "1x", "99999999999999999999"}) {
        names("P2P-PORT '" + std::string(port) + "'", line_of("a:" + std::string(port) + ":2"));
        names("HTTP-PORT '" + std::string(port) + "'", line_of("a:1:" + std::string(port)));
    }
    names("NODE-KEY ''", line_of("a:1:2", ""));
    names("NODE-KEY", line_of("a:1:2", kKey.substr(0, kKey.size() - 1)));
    names("NODE-KEY", line_of("a:1:2", "EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CV"));
    names("CHAIN-ID 'abc'", line_of("a:1:2", kKey, "abc"));
    names("CHAIN-ID", line_of("a:1:2", kKey, std::string(64, 'g')));
    names("CHAIN-ID", line_of("a:1:2", kKey, kChain + "aa"));
    for (const std::string& checkpoint : {std::string("500"),
                                          std::string(),
                                          ":" + kBlock,
                                          "501:" + kBlock,
                                          "500:" + kBlock.substr(2),
                                          "500:" + kBlock + "00",
                                          "-500:" + kBlock,
                                          "4294967796:" + kBlock})
        names("HEIGHT:ID '" + checkpoint + "'", line_of("a:1:2", kKey, kChain, checkpoint));
    CHECK(error_of(line_of(std::string(700, 'a') + ":1:2")).find("at most 600") !=
          std::string::npos);
    names("HOST", line_of(std::string(254, 'a') + ":1:2"));
}

TEST_CASE("addresses to which nobody else can connect are known") {
    const auto of = [](const char* text) { return HostPort::from_string(text); };
    CHECK(of("0.0.0.0:1")->is_wildcard());
    CHECK(of("[::]:1")->is_wildcard());
    CHECK_FALSE(of("10.0.0.7:1")->is_wildcard());
    CHECK(of("127.0.0.1:65535")->is_loopback());
    CHECK(of("localhost:1")->is_loopback());
    CHECK(of("[::1]:1")->is_loopback());
    CHECK_FALSE(of("10.0.0.7:1")->is_loopback());
    CHECK(of("node.example:9876")->host == "node.example");
    CHECK(of("node.example:9876")->port == 9876);
    for (const char* text : {"", "a", "a:", "a:0", ":1", "a:65536"}) {
        CAPTURE(text);
        CHECK_FALSE(of(text));
    }
}
