// Requests of a few bytes that ask for much: they cost who sends them.
#include "tests/node/bps/core/group_fixture.hpp"

#include <catch2/catch.hpp>

using namespace chain::literals;  // NOLINT(google-build-using-namespace)

namespace {

using bps::ErrorCode;
using support::GroupFixture;
using support::make_batch;
using support::record;
using Member = GroupFixture::Member;

}  // namespace

TEST_CASE("a group is described once, however often it is named", "[bps][hostile]") {
    GroupFixture f;
    (void)f.stable(1);
    bps::DescribeGroupsRequest request;
    request.groups = {"g", "other", "g"};
    const auto answer = f.decoded<bps::DescribeGroupsResponse>(f.ask(5, request), 5);
    REQUIRE(answer.groups.size() == 3);
    for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
        CHECK(answer.groups[i].group_id == "g");
        CHECK(answer.groups[i].error_code == ErrorCode::invalid_request);
        CHECK(answer.groups[i].members.empty());
    }
    CHECK(answer.groups[1].group_state == "Dead");
    request.groups.assign(10'001, "other");
    const auto many = f.decoded<bps::DescribeGroupsResponse>(f.ask(5, request), 5);
    CHECK(many.groups.front().error_code == ErrorCode::invalid_request);
}

TEST_CASE("an answer that would be too long closes the connection", "[bps][hostile]") {
    GroupFixture f;
    const auto members = f.stable(1);
    const auto id = f.ask_commit(members[0], 1, 0, std::string(4'096, 'm'));
    f.sync();
    REQUIRE(f.committed(id) == ErrorCode::none);
    bps::OffsetFetchRequest request;
    request.group_id = "g";
    request.topics = {{{"t", std::vector<std::int32_t>(10'000)}}};
    const auto reply = f.reply(f.ask(7, request));
    REQUIRE(reply.has_value());
    CHECK_FALSE(reply->response.has_value());
    CHECK(reply->close_reason == bps::kTooMuchAsked);
    request.topics = {{{"t", std::vector<std::int32_t>(100'001)}}};
    CHECK(f.decoded<bps::OffsetFetchResponse>(f.ask(7, request), 7).error_code ==
          ErrorCode::invalid_request);
    request.topics = {{{"t", std::vector<std::int32_t>(100)}}};
    CHECK(
        f.decoded<bps::OffsetFetchResponse>(f.ask(7, request), 7).topics.at(0).partitions.size() ==
        100);
}

TEST_CASE("the groups of a tenant take no more memory than they may", "[bps][hostile]") {
    GroupFixture f;
    f.group_settings.tenant_bytes_max = 100'000;
    f.restart();
    const std::string large(30'000, 'x');
    std::vector<Member> members;
    ErrorCode code = ErrorCode::none;
    while (code == ErrorCode::none && members.size() < 10) {
        const Member member{"", "i" + std::to_string(members.size()), -1};
        const auto id = f.join(member, {{"range", large}});
        const bool is_answered = std::ranges::any_of(
            f.effects.replies, [id](const bps::Reply& each) { return each.id.number == id; });
        if (is_answered) code = f.joined(id).code;
        members.push_back(member);
    }
    CHECK(code == ErrorCode::group_max_size_reached);
    CHECK(members.size() == 4);
    CHECK(f.group().bytes() < 100'000);
    f.group_settings.tenant_bytes_max = 1'000'000;
    f.group_settings.group_bytes_max = 30'000;
    f.restart();
    CHECK(f.joined(f.join({"", "another", -1}, {{"range", large}})).code ==
          ErrorCode::group_max_size_reached);
}

TEST_CASE("a member has as many protocols as clients have, and some more", "[bps][hostile]") {
    GroupFixture f;
    GroupFixture::Protocols protocols(16, {"range", "t"});
    CHECK(f.joined(f.join({}, protocols)).code == ErrorCode::member_id_required);
    protocols.emplace_back("sticky", "t");
    CHECK(f.joined(f.join({}, protocols)).code == ErrorCode::invalid_request);
}

TEST_CASE("who may use a group no more is told so when it completes, and nothing else",
          "[bps][hostile]") {
    GroupFixture f;
    const auto of_owner = f.joined(f.join({"", "owner", -1}));
    const Member owner{of_owner.member.id, "owner", of_owner.member.generation};
    bps::rows::Grant grant;
    grant.resource = bps::rows::Resource::group;
    grant.name = "g";
    grant.account = "bob"_n;
    grant.operation = bps::rows::Operation::consume;
    grant.id = 77;
    f.view.put(grant, grant.id, f.tenant);
    f.tenant = "bob"_n;
    const auto waits = f.join({"", "guest", -1});
    REQUIRE_FALSE(f.reply(waits).has_value());
    f.view.erase<bps::rows::Grant>(grant.id, "alice"_n);
    f.tenant = "alice"_n;
    const auto again = f.join(owner, {{"range", "secret"}});
    const auto refused = f.joined(waits);
    CHECK(refused.code == ErrorCode::group_authorization_failed);
    CHECK(refused.members.empty());
    const auto goes_on = f.joined(again);
    CHECK(goes_on.code == ErrorCode::none);
    CHECK(goes_on.members == std::vector{owner.id});
}

TEST_CASE("a partition is looked up and fetched once by a request", "[bps][hostile]") {
    GroupFixture f;
    f.produce(0, make_batch(record("a", 10)));
    f.sync();
    bps::ListOffsetsRequest look_up;
    look_up.replica_id = -1;
    look_up.topics = {{"t", {{0, -1, 10}, {0, -1, 10}}}, {"t", {{0, -1, 10}, {1, -1, 10}}}};
    const auto found = f.decoded<bps::ListOffsetsResponse>(f.ask(7, look_up), 7);
    CHECK(found.topics[0].partitions[0].offset == 0);
    CHECK(found.topics[0].partitions[1].error_code == ErrorCode::invalid_request);
    CHECK(found.topics[1].partitions[0].error_code == ErrorCode::invalid_request);
    CHECK(found.topics[1].partitions[1].error_code == ErrorCode::none);
    bps::FetchRequest fetch;
    fetch.replica_id = -1;
    fetch.max_wait_ms = 1'000;
    fetch.min_bytes = 1;
    fetch.max_bytes = 1'000;
    fetch.topics = {{.topic = "t", .partitions = {{.partition = 0}, {.partition = 0}}}};
    CHECK(f.decoded<bps::FetchResponse>(f.ask(11, fetch), 11).error_code ==
          ErrorCode::invalid_request);
    fetch.topics = {{.topic = "t", .partitions = {{.partition = 0}}},
                    {.topic = "t", .partitions = {}}};
    CHECK(f.decoded<bps::FetchResponse>(f.ask(11, fetch), 11).error_code ==
          ErrorCode::invalid_request);
    base::Bytes frame = make_batch(record("b", 11));
    bps::ProduceRequest produce;
    produce.acks = 1;
    produce.topic_data = {{"t", {{0, frame}, {0, frame}}}};
    const auto id = f.ask(9, produce, frame);
    f.sync();
    const auto parts = f.decoded<bps::ProduceResponse>(id, 9).responses.at(0).partition_responses;
    CHECK(parts.at(0).error_code == ErrorCode::none);
    CHECK(parts.at(1).error_code == ErrorCode::invalid_request);
}

TEST_CASE("a greatest time that no record has stops a look-up at its batch", "[bps][hostile]") {
    GroupFixture f;
    base::Bytes lie = make_batch(record("a", 10));
    const std::int64_t claimed = 1'000'000;
    for (std::size_t i = 0; i < 8; ++i) {
        lie[35 + i] =
            static_cast<std::byte>((static_cast<std::uint64_t>(claimed) >> (8 * (7 - i))) & 0xFFU);
    }
    support::set_crc(lie);
    f.produce(0, make_batch(record("first", 5)));
    f.produce(0, lie);
    f.produce(0, make_batch(record("later", 2'000'000)));
    f.sync();
    const auto look_up = [&](std::int64_t time) {
        bps::ListOffsetsRequest request;
        request.replica_id = -1;
        request.topics = {{"t", {{0, -1, time}}}};
        const auto part =
            f.decoded<bps::ListOffsetsResponse>(f.ask(7, request), 7).topics[0].partitions[0];
        return std::pair(part.offset, part.timestamp);
    };
    using Hit = std::pair<std::int64_t, std::int64_t>;
    CHECK(look_up(5) == Hit{0, 5});
    CHECK(look_up(10) == Hit{1, 10});
    CHECK(look_up(11) == Hit{1, claimed});
    CHECK(look_up(claimed + 1) == Hit{2, 2'000'000});
}

TEST_CASE("batches are opened up to what a request may, and then said to be too many",
          "[bps][hostile]") {
    struct Doubling final : bps::Decompressor {
        [[nodiscard]] base::Result<base::Bytes> decompress(bps::Compression,
                                                           base::ByteView bytes,
                                                           std::size_t bytes_max) const override {
            CHECK(bytes_max > 0);
            if (2 * bytes.size() > bytes_max) return base::fail(base::Errc::malformed, "too much");
            return base::Bytes(2 * bytes.size());
        }
        [[nodiscard]] base::Bytes compress_again(bps::Compression,
                                                 base::ByteView bytes) const override {
            return base::to_bytes(bytes);
        }
    };
    const Doubling doubling;
    const bps::LimitedOpener opener(doubling, 100);
    const base::Bytes batch(20);
    CHECK(opener.decompress(bps::Compression::gzip, batch, 1'000)->size() == 40);
    CHECK(opener.decompress(bps::Compression::gzip, batch, 1'000)->size() == 40);
    CHECK(opener.opened() == 80);
    // One that is too large by itself; then one that does not fit into what is left, and one for
    // which nothing is left.
    CHECK(opener.decompress(bps::Compression::gzip, batch, 10).error().detail == "too much");
    CHECK(opener.opened() == 90);
    for (int i = 0; i < 2; ++i) {
        const auto later = opener.decompress(bps::Compression::gzip, batch, 1'000);
        CHECK(later.error().code == base::Errc::would_block);
        CHECK(
            later.error().detail ==
            "the batches of a request open to more than 100 bytes together; send several requests");
    }
    CHECK(opener.opened() == 100);
}

TEST_CASE("a token for topics uses groups if it may read, and administers none", "[bps][hostile]") {
    GroupFixture f;
    bps::TokenScope produce{
        .items = {{.prefixed = false, .topic = "t", .rights = {bps::Right::produce}}}};
    CHECK_FALSE(produce.has_groups(bps::Right::consume));
    CHECK_FALSE(produce.has_groups(bps::Right::see));
    bps::TokenScope consume{
        .items = {
            {.prefixed = false, .topic = "t", .rights = {bps::Right::consume, bps::Right::admin}}}};
    CHECK(consume.has_groups(bps::Right::consume));
    CHECK(consume.has_groups(bps::Right::see));
    CHECK_FALSE(consume.has_groups(bps::Right::admin));
    const std::set all{bps::Right::produce, bps::Right::consume, bps::Right::admin};
    CHECK(bps::TokenScope{.items = {{.prefixed = true, .topic = "", .rights = all}}}.has_groups(
        bps::Right::admin));
}
