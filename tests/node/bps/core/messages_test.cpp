#include "node/bps/core/codec/decoder.hpp"
#include "node/bps/core/codec/encoder.hpp"
#include "node/bps/core/codec/requests.hpp"
#include "tests/node/bps/core/message_description.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <tuple>
#include <variant>

// The tables of the codec against a description of Kafka's messages that they do not use: bytes are
// made by the description, decoded and encoded by the tables, and must be the same. Values are
// drawn so that no field has its default; a line that lacks, is too many, or is in the wrong
// version, place or form, is seen.
namespace {

using Responses = std::tuple<bps::ProduceResponse,
                             bps::FetchResponse,
                             bps::ListOffsetsResponse,
                             bps::MetadataResponse,
                             bps::OffsetCommitResponse,
                             bps::OffsetFetchResponse,
                             bps::FindCoordinatorResponse,
                             bps::JoinGroupResponse,
                             bps::HeartbeatResponse,
                             bps::LeaveGroupResponse,
                             bps::SyncGroupResponse,
                             bps::DescribeGroupsResponse,
                             bps::ListGroupsResponse,
                             bps::SaslHandshakeResponse,
                             bps::ApiVersionsResponse,
                             bps::CreateTopicsResponse,
                             bps::DeleteTopicsResponse,
                             bps::DeleteRecordsResponse,
                             bps::InitProducerIdResponse,
                             bps::OffsetForLeaderEpochResponse,
                             bps::DescribeAclsResponse,
                             bps::CreateAclsResponse,
                             bps::DeleteAclsResponse,
                             bps::DescribeConfigsResponse,
                             bps::AlterConfigsResponse,
                             bps::SaslAuthenticateResponse,
                             bps::CreatePartitionsResponse,
                             bps::DeleteGroupsResponse,
                             bps::ElectLeadersResponse,
                             bps::IncrementalAlterConfigsResponse,
                             bps::AlterPartitionReassignmentsResponse,
                             bps::ListPartitionReassignmentsResponse,
                             bps::OffsetDeleteResponse,
                             bps::DescribeClusterResponse>;
static_assert(std::tuple_size_v<Responses> == std::variant_size_v<bps::Request>);

constexpr int kSeeds = 40;

// What the encoder wrote, with the records in it that it named; they lie in `source`.
base::Bytes with_records(bps::Encoder& encoder, base::ByteView source) {
    base::Bytes whole = encoder.out().take();
    std::size_t shift = 0;
    for (const bps::Splice& splice : encoder.take_splices()) {
        const auto records = source.subspan(splice.records.position, splice.records.bytes);
        whole.insert(whole.begin() + static_cast<std::ptrdiff_t>(splice.at + shift),
                     records.begin(),
                     records.end());
        shift += records.size();
    }
    return whole;
}

template <class T>
base::Result<T> decode(base::ByteView bytes, std::int16_t version) {
    bps::Decoder decoder(bytes, version, T::kApi.is_flexible(version));
    T value;
    decoder.structure(value);
    if (const auto done = decoder.finish(); !done) return base::fail(done.error());
    return value;
}

template <class T>
void check_version(const description::Message& message, std::int16_t version) {
    const bool flexible = message.flexible.hold(version);
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const base::Bytes made = description::Maker(version, flexible, seed).make(message);
        INFO(message.name << " version " << version << ": " << base::to_hex(made));
        const auto read = decode<T>(made, version);
        if (!read) FAIL(read.error().detail);
        bps::Encoder encoder(version, flexible);
        encoder.structure(*read);
        REQUIRE(base::to_hex(with_records(encoder, made)) == base::to_hex(made));
        for (std::size_t size = 0; size < made.size(); ++size) {
            REQUIRE_FALSE(decode<T>(base::ByteView(made).first(size), version).has_value());
        }
        base::Bytes longer = made;
        longer.push_back(std::byte{0});
        REQUIRE_FALSE(decode<T>(longer, version).has_value());
    }
}

template <class T>
void check_message(const std::map<std::string, description::Message>& messages,
                   const std::string& suffix) {
    const description::Message& message = messages.at(std::string(T::kApi.name) + suffix);
    CHECK(message.key == T::kApi.key);
    for (std::int16_t version = T::kApi.version_min; version <= T::kApi.version_max; ++version) {
        INFO(message.name << " version " << version);
        REQUIRE(message.versions.hold(version));
        REQUIRE(message.flexible.hold(version) == T::kApi.is_flexible(version));
        check_version<T>(message, version);
    }
}

template <std::size_t... I>
void check_requests(std::index_sequence<I...> /*each*/) {
    const auto messages = description::read_messages();
    (check_message<std::variant_alternative_t<I, bps::Request>>(messages, "Request"), ...);
}

template <std::size_t... I>
void check_responses(std::index_sequence<I...> /*each*/) {
    const auto messages = description::read_messages();
    (check_message<std::tuple_element_t<I, Responses>>(messages, "Response"), ...);
}

}  // namespace

TEST_CASE("each version of each request is read as Kafka describes it", "[bps][codec]") {
    check_requests(std::make_index_sequence<std::variant_size_v<bps::Request>>{});
}

TEST_CASE("each version of each response is written as Kafka describes it", "[bps][codec]") {
    check_responses(std::make_index_sequence<std::tuple_size_v<Responses>>{});
}

TEST_CASE("the keys and versions of the specification are listed, and no others", "[bps][codec]") {
    using Row = std::array<int, 3>;
    const std::vector<Row> wanted{
        {0, 0, 9},  {1, 4, 12}, {2, 1, 7},  {3, 0, 9},  {8, 2, 8},  {9, 1, 7},  {10, 0, 3},
        {11, 0, 7}, {12, 0, 4}, {13, 0, 4}, {14, 0, 5}, {15, 0, 5}, {16, 0, 4}, {17, 0, 1},
        {18, 0, 3}, {19, 0, 5}, {20, 0, 5}, {21, 0, 2}, {22, 0, 4}, {23, 0, 4}, {29, 0, 2},
        {30, 0, 2}, {31, 0, 2}, {32, 0, 4}, {33, 0, 2}, {36, 0, 2}, {37, 0, 3}, {42, 0, 2},
        {43, 0, 2}, {44, 0, 1}, {45, 0, 0}, {46, 0, 0}, {47, 0, 0}, {60, 0, 1}};
    std::vector<Row> listed;
    for (const bps::Api& api : bps::listed_apis()) {
        listed.push_back({api.key, api.version_min, api.version_max});
    }
    CHECK(listed == wanted);
    for (int key = -1; key < 200; ++key) {
        const bps::Api* const api = bps::find_api(static_cast<std::int16_t>(key));
        const bool is_listed =
            std::ranges::any_of(wanted, [&](const Row& row) { return row[0] == key; });
        CHECK((api != nullptr) == is_listed);
        if (api != nullptr) CHECK(api->key == key);
    }
}

TEST_CASE("what kafkajs and librdkafka send is read, and means the same bytes", "[bps][codec]") {
    std::ifstream in(description::data_file("kafka/requests.txt"));
    int lines = 0;
    for (std::string text; std::getline(in, text);) {
        if (text.empty() || text[0] == '#') continue;
        std::istringstream line(text);
        std::string client;
        std::string name;
        std::int16_t version = 0;
        std::string hex;
        line >> client >> name >> version >> hex;
        INFO(client << ' ' << name << ' ' << version);
        const base::Bytes bytes = base::from_hex(hex).value();
        const auto frame = bps::read_request_frame(bytes);
        REQUIRE(frame.has_value());
        REQUIRE(frame->api != nullptr);
        CHECK(frame->api->name == name);
        CHECK(frame->header.version == version);
        const auto request = bps::decode_request(*frame);
        if (!request) FAIL(request.error().detail);
        const auto encode = [&](const auto& of) {
            bps::Encoder encoder(version, frame->api->is_flexible(version));
            encoder.structure(of);
            return encoder.out().take();
        };
        CHECK(base::to_hex(std::visit(encode, *request)) == base::to_hex(frame->body));
        ++lines;
    }
    CHECK(lines > 50);
}
