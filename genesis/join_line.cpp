#include "genesis/join_line.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

namespace genesis {

namespace {

using base::Errc;
using base::fail;

constexpr std::string_view kScheme = "bor://";
constexpr std::string_view kForm = "bor://HOST:P2P-PORT:HTTP-PORT#NODE-KEY/CHAIN-ID/HEIGHT:ID";
constexpr std::size_t kHostBytesMax = 253;  // Of a name in the DNS.

bool is_of(std::string_view text, std::string_view letters) {
    return text.find_first_not_of(letters) == std::string_view::npos;
}

bool is_host(std::string_view host) {
    constexpr std::string_view kName =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    constexpr std::string_view kIpv6 = "0123456789abcdefABCDEF:.";
    if (host.empty() || host.size() > kHostBytesMax) return false;
    if (!host.starts_with('[')) return is_of(host, kName);
    return host.size() > 2 && host.ends_with(']') && is_of(host.substr(1, host.size() - 2), kIpv6);
}

std::optional<std::uint16_t> port_from(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc{} || end != text.data() + text.size() || port == 0) return {};
    return port;
}

// The part before the last `mark`, which `text` loses with it; nothing: there is none.
std::optional<std::string_view> take_last(std::string_view& text, char mark) {
    const std::size_t at = text.rfind(mark);
    if (at == std::string_view::npos) return {};
    const std::string_view last = text.substr(at + 1);
    text = text.substr(0, at);
    return last;
}

auto wrong(std::string_view part, std::string_view value, std::string_view expected) {
    return fail(
        Errc::invalid,
        fmt::format(
            "join line: {} '{}': expected {}; the form is {}", part, value, expected, kForm));
}

base::Result<void> read_address(std::string_view address, JoinLine& line) {
    constexpr std::string_view kPort = "a number from 1 to 65535";
    std::string_view rest = address;
    const auto http = take_last(rest, ':');
    const auto p2p = http ? take_last(rest, ':') : std::nullopt;
    if (!p2p) return wrong("address", address, "HOST:P2P-PORT:HTTP-PORT");
    if (!is_host(rest)) {
        return wrong("HOST", rest, "a name, an IPv4 address or an IPv6 address in brackets");
    }
    const auto p2p_port = port_from(*p2p);
    const auto http_port = port_from(*http);
    if (!p2p_port) return wrong("P2P-PORT", *p2p, kPort);
    if (!http_port) return wrong("HTTP-PORT", *http, kPort);
    line.host = rest;
    line.p2p_port = *p2p_port;
    line.http_port = *http_port;
    return {};
}

base::Result<void> read_key(std::string_view text, JoinLine& line) {
    auto key = base::crypto::PublicKey::from_string(text);
    if (!key || key->type != base::crypto::KeyType::r1) {
        return wrong("NODE-KEY", text, "the key of a node, PUB_R1_...");
    }
    line.node_key = *std::move(key);
    return {};
}

base::Result<void> read_chain(std::string_view text, JoinLine& line) {
    const auto invalid = [&] { return wrong("CHAIN-ID", text, "64 hexadecimal digits"); };
    const auto bytes = base::from_hex(text);
    if (!bytes) return invalid();
    const auto id = base::to_hash<32>(*bytes);
    if (!id) return invalid();
    line.chain_id = *id;
    return {};
}

}  // namespace

base::Result<Checkpoint> checkpoint_from(std::string_view text) {
    const auto invalid = [&] {
        return fail(Errc::invalid,
                    fmt::format("checkpoint = {}: expected HEIGHT:ID with the 64 hexadecimal "
                                "digits of the id of the block of that height",
                                text));
    };
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return invalid();
    std::uint32_t height = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + colon, height);
    if (error != std::errc{} || end != text.data() + colon) return invalid();
    const auto bytes = base::from_hex(text.substr(colon + 1));
    if (!bytes) return invalid();
    const auto id = base::to_hash<32>(*bytes);
    // The id begins with the height.
    if (!id || chain::height_of(*id) != height) return invalid();
    return Checkpoint{height, *id};
}

std::string JoinLine::p2p_address() const {
    return fmt::format("{}:{}", host, p2p_port);
}

std::string JoinLine::http_url() const {
    return fmt::format("http://{}:{}", host, http_port);
}

std::string JoinLine::to_string() const {
    return fmt::format("{}{}:{}:{}#{}/{}/{}:{}",
                       kScheme,
                       host,
                       p2p_port,
                       http_port,
                       node_key.to_string(),
                       base::to_hex(chain_id.view()),
                       checkpoint.height,
                       base::to_hex(checkpoint.block.view()));
}

base::Result<JoinLine> JoinLine::from_string(std::string_view text) {
    if (text.size() > kJoinLineBytesMax) {
        return fail(Errc::invalid,
                    fmt::format("join line: {} bytes, at most {} are read; the form is {}",
                                text.size(),
                                kJoinLineBytesMax,
                                kForm));
    }
    if (!text.starts_with(kScheme)) {
        return wrong("beginning", text.substr(0, kScheme.size()), kScheme);
    }
    std::string_view rest = text.substr(kScheme.size());
    const auto checkpoint = take_last(rest, '/');
    const auto chain = checkpoint ? take_last(rest, '/') : std::nullopt;
    if (!chain) return wrong("end", rest, "/CHAIN-ID/HEIGHT:ID after the key");
    const auto key = take_last(rest, '#');
    if (!key) return wrong("address", rest, "# and the node's key after it");
    JoinLine line;
    if (auto read = read_address(rest, line); !read) return fail(read.error());
    if (auto read = read_key(*key, line); !read) return fail(read.error());
    if (auto read = read_chain(*chain, line); !read) return fail(read.error());
    const auto block = checkpoint_from(*checkpoint);
    if (!block) {
        return wrong("HEIGHT:ID",
                     *checkpoint,
                     "the height of a block and the 64 hexadecimal digits of its id");
    }
    line.checkpoint = *block;
    return line;
}

bool HostPort::is_wildcard() const {
    return host == "0.0.0.0" || host == "[::]" || host == "*";
}

bool HostPort::is_loopback() const {
    return host.starts_with("127.") || host == "localhost" || host == "[::1]";
}

base::Result<HostPort> HostPort::from_string(std::string_view text) {
    std::string_view rest = text;
    const auto last = take_last(rest, ':');
    const auto port = last ? port_from(*last) : std::nullopt;
    if (!port || !is_host(rest)) {
        return fail(Errc::invalid,
                    fmt::format("'{}': expected HOST:PORT, the port from 1 to 65535", text));
    }
    return HostPort{std::string(rest), *port};
}

}  // namespace genesis
