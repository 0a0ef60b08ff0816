#include "node/bps/core/codec/decoder.hpp"
#include "node/bps/core/codec/requests.hpp"
#include "node/bps/core/codec/responses.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <string>
#include <variant>

// Bytes written by hand after Kafka's protocol guide and KIP-482, and bytes that no client sends.
namespace {

base::Bytes hex(std::string text) {
    std::erase(text, ' ');
    return base::from_hex(text).value();
}

base::Result<bps::Request> read(const base::Bytes& frame) {
    const auto opened = bps::read_request_frame(frame);
    if (!opened) return base::fail(opened.error());
    REQUIRE(opened->api != nullptr);
    return bps::decode_request(*opened);
}

std::string refusal(const base::Bytes& frame) {
    const auto request = read(frame);
    REQUIRE_FALSE(request.has_value());
    CHECK(request.error().code == base::Errc::malformed);
    return request.error().detail;
}

}  // namespace

TEST_CASE("varints are read in both signs and at their limits", "[bps][codec]") {
    struct Case {
        std::string bytes;
        std::int64_t value;
    };
    const std::vector<Case> cases{{"00", 0},
                                  {"01", -1},
                                  {"02", 1},
                                  {"7f", -64},
                                  {"8001", 64},
                                  {"ac02", 150},
                                  {"feffffff0f", std::numeric_limits<std::int32_t>::max()},
                                  {"ffffffff0f", std::numeric_limits<std::int32_t>::min()}};
    for (const Case& c : cases) {
        const base::Bytes bytes = hex(c.bytes);
        bps::Reader narrow(bytes);
        CHECK(narrow.varint("v") == c.value);
        CHECK(narrow.finish().has_value());
        bps::Reader wide(bytes);
        CHECK(wide.varlong("v") == c.value);
        bps::Writer out;
        out.varlong(c.value);
        CHECK(base::to_hex(out.view()) == c.bytes);
    }
    const base::Bytes least = hex("ffffffffffffffffff01");
    bps::Reader in(least);
    CHECK(in.varlong("v") == std::numeric_limits<std::int64_t>::min());
    CHECK(in.finish().has_value());
}

TEST_CASE("varints that are too wide or end early are refused", "[bps][codec]") {
    for (const std::string text : {"ffffffff1f", "ffffffffff01", "80", ""}) {
        const base::Bytes bytes = hex(text);
        bps::Reader in(bytes);
        CHECK(in.unsigned_varint("v") == 0);
        CHECK_FALSE(in.ok());
    }
    const base::Bytes wide = hex("ffffffffffffffffff03");
    bps::Reader in(wide);
    CHECK(in.varlong("v") == 0);
    CHECK_FALSE(in.ok());
}

TEST_CASE("a header that is not flexible is read with the request behind it", "[bps][codec]") {
    // Key 3, version 1, correlation 7, client "me"; one topic "t".
    const base::Bytes frame = hex("0003 0001 00000007 0002 6d65  00000001 0001 74");
    const auto opened = bps::read_request_frame(frame);
    REQUIRE(opened.has_value());
    CHECK(opened->header.key == 3);
    CHECK(opened->header.version == 1);
    CHECK(opened->header.correlation == 7);
    CHECK(opened->header.client_id == "me");
    const auto request = bps::decode_request(*opened);
    REQUIRE(request.has_value());
    const auto& metadata = std::get<bps::MetadataRequest>(*request);
    REQUIRE(metadata.topics->size() == 1);
    CHECK((*metadata.topics)[0].name == "t");
    CHECK(metadata.allow_auto_topic_creation);
}

TEST_CASE("a flexible header keeps the client's long form and passes over tagged fields",
          "[bps][codec]") {
    // Key 18, version 3, correlation 1, client "me", tagged field 5 of 2 bytes; then "cli", "1".
    const base::Bytes frame =
        hex("0012 0003 00000001 0002 6d65 01 05 02 aaaa   04 636c69 02 31 00");
    const auto request = read(frame);
    REQUIRE(request.has_value());
    const auto& versions = std::get<bps::ApiVersionsRequest>(*request);
    CHECK(versions.client_software_name == "cli");
    CHECK(versions.client_software_version == "1");
}

TEST_CASE("a header of a message that is not listed is read up to the correlation",
          "[bps][codec]") {
    for (const std::string start : {"0012 0004", "0012 ffff", "0018 0000", "03e7 0000"}) {
        const auto opened = bps::read_request_frame(hex(start + "0000002a ffffff"));
        REQUIRE(opened.has_value());
        CHECK(opened->api == nullptr);
        CHECK(opened->header.correlation == 42);
        CHECK(opened->body.empty());
    }
}

TEST_CASE("each first part of a header is refused", "[bps][codec]") {
    const base::Bytes frame = hex("0012 0003 00000001 0002 6d65 01 05 02 aaaa");
    for (std::size_t size = 0; size < frame.size(); ++size) {
        CHECK_FALSE(bps::read_request_frame(base::ByteView(frame).first(size)).has_value());
    }
    CHECK_FALSE(bps::read_request_frame(hex("0003 0001 00000007 fffe 00000000")).has_value());
}

TEST_CASE("null is taken only in versions that have it", "[bps][codec]") {
    const auto all = read(hex("0003 0001 00000007 ffff  ffffffff"));
    REQUIRE(all.has_value());
    CHECK_FALSE(std::get<bps::MetadataRequest>(*all).topics.has_value());
    CHECK(refusal(hex("0003 0000 00000007 ffff  ffffffff")) ==
          "Metadata 0: Topics at offset 4: null, which this version does not allow");
    CHECK(refusal(hex("0003 0001 00000007 ffff  00000001 ffff")) ==
          "Metadata 1: Name at offset 6: null, where a value is required");
}

TEST_CASE("lengths that lie are refused before anything is set aside for them", "[bps][codec]") {
    CHECK(refusal(hex("0003 0001 00000007 ffff  7fffffff")) ==
          "Metadata 1: Topics at offset 4: 2147483647 items do not fit in 0 bytes");
    CHECK(refusal(hex("0003 0001 00000007 ffff  fffffffe")) ==
          "Metadata 1: Topics at offset 4: a length of -2");
    CHECK(refusal(hex("0003 0001 00000007 ffff  00000001 7fff 61")) ==
          "Metadata 1: Name at offset 6: needs 32767 bytes, 1 are left");
    // Compact: the string "client_software_name" of 32,768 bytes.
    CHECK(refusal(hex("0012 0003 00000001 ffff 00  818002")) ==
          "ApiVersions 3: ClientSoftwareName at offset 3: 32768 bytes, a string has at most 32767");
}

TEST_CASE("arrays may take a bounded memory, however small their items are in the request",
          "[bps][codec]") {
    base::Bytes frame = hex("0003 0001 00000007 ffff");
    bps::Writer out;
    constexpr std::int32_t kTopics = 1'000'000;
    out.integer(kTopics);
    for (std::int32_t i = 0; i < kTopics; ++i) {
        out.integer<std::int16_t>(0);
    }
    frame.insert(frame.end(), out.view().begin(), out.view().end());
    CHECK(refusal(frame) ==
          "Metadata 1: Topics at offset 4: 1000000 items of 16 bytes; the arrays of a request may "
          "take 8388608 bytes: send several requests");
}

TEST_CASE("tagged fields that are known are read, and others passed over", "[bps][codec]") {
    // Fetch 12 with nothing in it; tag 0: ClusterId "abc", tag 9: unknown.
    const std::string head =
        "0001 000c 00000001 ffff 00  ffffffff 00000000 00000000 00000000 00 "
        "00000000 ffffffff 01 01 01 ";
    const base::Bytes frame = hex(head + "02 00 04 04616263 09 01 ff");
    const auto request = read(frame);
    REQUIRE(request.has_value());
    CHECK(std::get<bps::FetchRequest>(*request).cluster_id == "abc");
    CHECK(refusal(hex(head + "02 09 01 ff 00 04 04616263")).ends_with("tags that do not ascend"));
    CHECK(refusal(hex(head + "02 09 01 ff 09 01 ff")).ends_with("tags that do not ascend"));
    CHECK(refusal(hex(head + "01 00 05 0461626300")).ends_with("not as long as it says"));
    CHECK(refusal(hex(head + "01 00 00")).ends_with("1 bytes, 0 are left"));
    CHECK(refusal(hex(head + "01 05 ffffffff0f")).ends_with("longer than what is left"));
}

TEST_CASE("a boolean is 0 or 1", "[bps][codec]") {
    CHECK(refusal(hex("0003 0004 00000007 ffff  00000000 02")) ==
          "Metadata 4: AllowAutoTopicCreation at offset 5: 2 is neither 0 nor 1");
}

TEST_CASE("a response has its length and the header of its version", "[bps][codec]") {
    const bps::SaslHandshakeResponse handshake{.mechanisms = {"PLAIN"}};
    CHECK(base::to_hex(bps::encode_response(5, 1, handshake).bytes) ==
          base::to_hex(hex("00000011 00000005 0000 00000001 0005 504c41494e")));
    const bps::HeartbeatResponse beat{.throttle_time_ms = 1};
    CHECK(base::to_hex(bps::encode_response(5, 4, beat).bytes) ==
          base::to_hex(hex("0000000c 00000005 00 00000001 0000 00")));
}

TEST_CASE("the versions are told behind a header that every client reads", "[bps][codec]") {
    bps::ApiVersionsResponse response;
    response.api_keys.push_back({.api_key = 18, .min_version = 0, .max_version = 3});
    CHECK(base::to_hex(bps::encode_response(9, 3, response).bytes) ==
          base::to_hex(hex("00000013 00000009  0000 02 0012 0000 0003 00 00000000 00")));
    response.error_code = bps::ErrorCode::unsupported_version;
    CHECK(base::to_hex(bps::encode_response(9, 0, response).bytes) ==
          base::to_hex(hex("00000010 00000009  0023 00000001 0012 0000 0003")));
}

TEST_CASE("null is written as empty where a version has no null", "[bps][codec]") {
    const bps::JoinGroupResponse join;
    // Version 6: ProtocolName is a compact string of no bytes. Version 7: null.
    CHECK(base::to_hex(bps::encode_response(1, 6, join).bytes) ==
          base::to_hex(hex("00000014 00000001 00 00000000 0000 ffffffff 01 01 01 01 00")));
    CHECK(base::to_hex(bps::encode_response(1, 7, join).bytes) ==
          base::to_hex(hex("00000015 00000001 00 00000000 0000 ffffffff 00 00 01 01 01 00")));
}

TEST_CASE("records are named in a response, and counted in its length", "[bps][codec]") {
    bps::FetchResponse response;
    bps::FetchResponse::Topic& topic = response.responses.emplace_back();
    topic.topic = "t";
    topic.partitions.emplace_back().records = {.segment = 100, .position = 64, .bytes = 1'000};
    topic.partitions.emplace_back();
    const bps::ResponseFrame frame = bps::encode_response(1, 4, response);
    REQUIRE(frame.splices.size() == 1);
    CHECK(frame.splices[0].records == topic.partitions[0].records);
    bps::Reader in(frame.bytes);
    CHECK(in.integer<std::uint32_t>("length") == frame.bytes.size() - 4 + 1'000);
    bps::Reader before(base::ByteView(frame.bytes).subspan(frame.splices[0].at - 4, 4));
    CHECK(before.integer<std::int32_t>("length of the records") == 1'000);
}

TEST_CASE("bytes behind the last field of a request are passed over", "[bps][codec]") {
    // As librdkafka 2.0.2 sends them: OffsetFetch 7 for all topics of the group "g", whose missing
    // array takes four bytes instead of one; and ListGroups 4.
    const auto of_group = hex("0009 0007 00000001 0001 63 00  02 67  00 00 00 00 00 00");
    const auto fetch = read(of_group);
    REQUIRE(fetch);
    const auto& asked = std::get<bps::OffsetFetchRequest>(*fetch);
    CHECK(asked.group_id == "g");
    CHECK_FALSE(asked.topics);
    CHECK_FALSE(asked.require_stable);
    const auto of_all = hex("0010 0004 00000001 0001 63 00  01 00 00");
    const auto list = read(of_all);
    REQUIRE(list);
    CHECK(std::get<bps::ListGroupsRequest>(*list).states_filter.empty());
    // Not what is missing.
    CHECK(
        refusal(hex("0009 0007 00000001 0001 63 00  02 67  00 00")).starts_with("OffsetFetch 7: "));
}
