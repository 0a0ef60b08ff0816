#pragma once

#include "node/bps/core/broker.hpp"
#include "node/bps/core/codec/decoder.hpp"
#include "tests/node/bps/core/chain_view.hpp"
#include "tests/node/bps/core/log_fixture.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace support {

// A broker with one disk for each partition. Topic `t` has id 1 and two partitions, which it leads
// in epoch 1; alice and bob may do all with it. The last final block is never old. Time stands
// still unless a test moves it.
struct BrokerFixture {
    static constexpr bps::TopicId kOffsetsTopic = 100;
    static constexpr std::int32_t kOffsetsPartitions = 2;

    explicit BrokerFixture(const bps::PartitionSettings& with = {}) : settings(with) {
        view.topic(1, "t", 2);
        view.grant_all("alice"_n);
        view.grant_all("bob"_n);
        view.id_space("alice"_n, 0);
        view.delegate(ChainView::kOwner, {"deleterecs"_n});
        open();
    }
    void open() {
        broker = make_broker();
        for (const std::int32_t index : {0, 1})
            add({1, index}, ++epoch);
        for (std::int32_t index = 0; index < kOffsetsPartitions; ++index)
            add({kOffsetsTopic, index}, ++epoch);
    }
    std::unique_ptr<bps::Broker> make_broker() {
        auto made = std::make_unique<bps::Broker>(
            bps::Broker::World{view.rights, view.directory, quotas, opener, rng},
            group_settings,
            "chain");
        made->set_offsets_topic(kOffsetsTopic, kOffsetsPartitions);
        return made;
    }
    void add(bps::PartitionId id, std::int32_t leader_epoch) {
        bps::PartitionSettings with = settings;
        // Compacted: no record of it goes for its age.
        if (id.topic == kOffsetsTopic) with.log.retention_ms = with.log.retention_bytes = -1;
        auto opened = bps::Log::open(files[id], with.log, now);
        REQUIRE(opened.has_value());
        broker->add(id, std::move(opened->log), with);
        view.partition(id, leader_epoch);
        REQUIRE(broker->lead(now, id, leader_epoch, 1, effects).has_value());
        sync();
    }
    // The process dies; what is in the files is opened by the next one.
    void restart() {
        broker.reset();
        effects = {};
        open();
    }

    // Topic `t` is deleted, and made again.
    void make_again(std::uint32_t partitions) {
        view.erase<bps::rows::Topic>(1);
        view.topic(2, "t", partitions);
    }

    // Every sync that is asked for is done; returns how many there were.
    std::size_t sync() {
        std::size_t syncs = 0;
        for (broker->begin_sync(now, effects); effects.sync; broker->begin_sync(now, effects)) {
            const auto asked = *std::exchange(effects.sync, std::nullopt);
            for (const auto& part : asked.parts)
                REQUIRE(files[bps::PartitionId::of(part.log)].sync(part.files));
            broker->on_synced(now, {}, effects);
            ++syncs;
        }
        broker->check_invariants();
        return syncs;
    }
    // All of retention, as it is done each minute. False: something failed.
    [[nodiscard]] bool expire() {
        std::size_t errors = 0;
        broker->begin_expiring(now, effects);
        while (broker->is_expiring())
            errors += broker->expire(now, effects).size();
        return errors == 0;
    }
    void pass(std::int64_t milliseconds) {
        now += milliseconds;
        view.on_final(now);
        broker->on_time(now, effects);
    }

    bps::Caller caller(std::int16_t version) {
        return {.id = {.connection = 1, .number = ++number},
                .version = version,
                .correlation = 7,
                .principal = {tenant, "active"_n},
                .client_id = "client",
                .client_host = "127.0.0.1",
                .protocol = "PLAINTEXT"};
    }
    std::uint64_t ask(std::int16_t version,
                      const bps::Request& request,
                      std::span<std::byte> frame = {}) {
        view.on_final(now);
        REQUIRE(broker->on_request(now, caller(version), request, frame, effects));
        broker->check_invariants();
        return number;
    }
    std::uint64_t produce(std::int32_t index,
                          base::Bytes batch,
                          std::int16_t acks = 1,
                          std::int16_t version = 9) {
        bps::ProduceRequest request;
        request.acks = acks;
        request.timeout_ms = 1'000;
        request.topic_data = {{.name = "t", .partition_data = {{index, batch}}}};
        return ask(version, request, batch);
    }
    std::uint64_t produce(std::int32_t index, const std::string& text) {
        return produce(index, make_batch(record(text, now)));
    }
    static bps::FetchRequest fetch_of(const std::map<std::int32_t, std::int64_t>& offsets,
                                      std::int32_t min_bytes = 1,
                                      std::int32_t max_wait_ms = 500) {
        bps::FetchRequest request;
        request.max_wait_ms = max_wait_ms;
        request.min_bytes = min_bytes;
        request.topics = {{.topic = "t", .partitions = {}}};
        for (const auto& [index, offset] : offsets) {
            request.topics[0].partitions.push_back(
                {.partition = index, .fetch_offset = offset, .partition_max_bytes = 1 << 20});
        }
        return request;
    }
    std::uint64_t fetch(const std::map<std::int32_t, std::int64_t>& offsets,
                        std::int32_t min_bytes = 1,
                        std::int32_t max_wait_ms = 500) {
        return ask(12, fetch_of(offsets, min_bytes, max_wait_ms));
    }

    // The reply to this request, taken out; nothing: there is none yet.
    std::optional<bps::Reply> reply(std::uint64_t to) {
        auto& replies = effects.replies;
        const auto at = std::ranges::find_if(
            replies, [to](const bps::Reply& each) { return each.id.number == to; });
        if (at == replies.end()) return std::nullopt;
        bps::Reply found = std::move(*at);
        replies.erase(at);
        return found;
    }
    // The reply to this request as a client decodes it. Borrows from the fixture.
    template <class Response>
    Response decoded(std::uint64_t to, std::int16_t version) {
        const auto found = reply(to);
        REQUIRE(found.has_value());
        REQUIRE(found->response.has_value());
        const bool flexible = Response::kApi.is_flexible(version);
        kept.push_back(body_of(*found->response));
        bps::Decoder decoder(
            base::ByteView(kept.back()).subspan(flexible ? 9 : 8), version, flexible);
        Response response;
        decoder.structure(response);
        const auto whole = decoder.finish();
        if (!whole) FAIL(whole.error().detail);
        return response;
    }
    bps::ProduceResponse::Partition produced(std::uint64_t to, std::int16_t version = 9) {
        return decoded<bps::ProduceResponse>(to, version).responses.at(0).partition_responses.at(0);
    }
    std::vector<bps::FetchResponse::Partition> fetched_parts(std::uint64_t to) {
        return decoded<bps::FetchResponse>(to, 12).responses.at(0).partitions;
    }
    // As it is on the wire: with its records.
    base::Bytes body_of(const bps::ResponseFrame& frame) {
        base::Bytes body;
        std::size_t from = 0;
        const auto add = [&body](base::ByteView part) {
            body.insert(body.end(), part.begin(), part.end());
        };
        for (const bps::Splice& splice : frame.splices) {
            add(base::ByteView(frame.bytes).subspan(from, splice.at - from));
            add(fetched(files[bps::PartitionId::of(splice.records.log)], splice.records));
            from = splice.at;
        }
        add(base::ByteView(frame.bytes).subspan(from));
        return body;
    }
    // The texts of all records in the reply, each with its offset before it; nothing: no reply.
    std::optional<std::vector<std::string>> texts(std::uint64_t to) {
        const auto of = reply(to);
        if (!of) return std::nullopt;
        std::vector<std::string> found;
        for (const bps::Splice& splice : of->response->splices) {
            auto& disk = files[bps::PartitionId::of(splice.records.log)];
            const base::Bytes bytes = fetched(disk, splice.records);
            for (base::ByteView rest = bytes; !rest.empty();) {
                const auto header = bps::read_batch_header(rest);
                REQUIRE(header.has_value());
                bps::RecordWalk walk(*header,
                                     rest.first(header->bytes()).subspan(bps::kBatchHeaderBytes));
                for (std::int32_t i = 0; i < header->records_count; ++i) {
                    const auto each = walk.next();
                    REQUIRE((each.has_value() && each->has_value()));
                    found.push_back(std::to_string(header->base_offset + i) + " " +
                                    std::string(base::as_text(*(*each)->value)));
                }
                rest = rest.subspan(header->bytes());
            }
        }
        return found;
    }

    std::int64_t now = 1'000'000;
    std::int32_t epoch = 0;
    bps::PartitionSettings settings;
    ChainView view;
    chain::Name tenant = "alice"_n;
    bps::Quotas quotas;
    NoDecompressor opener;
    base::Rng rng{1};
    bps::GroupSettings group_settings;
    std::map<bps::PartitionId, SimulatedFiles> files;
    std::unique_ptr<bps::Broker> broker;
    bps::Effects effects;
    std::uint64_t number = 0;
    std::deque<base::Bytes> kept;
};

}  // namespace support
