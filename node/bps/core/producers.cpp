#include "node/bps/core/producers.hpp"

#include "base/check.hpp"
#include "base/crc32c.hpp"
#include "node/bps/core/codec/reader.hpp"
#include "node/bps/core/codec/writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace bps {

namespace {

constexpr std::int8_t kFormat = 1;
constexpr std::size_t kCrcBytes = 4;

ProducedBatch batch_of(const BatchHeader& header) {
    return {.first_sequence = header.base_sequence,
            .last_sequence = header.last_sequence(),
            .base_offset = header.base_offset,
            .next_offset = header.next_offset(),
            .max_timestamp = header.max_timestamp};
}

bool follows(std::int32_t sequence, std::int32_t last) {
    const bool wraps = last == std::numeric_limits<std::int32_t>::max();
    return sequence == (wraps ? 0 : last + 1);
}

void put(Writer& out, const ProducedBatch& batch) {
    out.integer(batch.first_sequence);
    out.integer(batch.last_sequence);
    out.integer(batch.base_offset);
    out.integer(batch.next_offset);
    out.integer(batch.max_timestamp);
}

ProducedBatch get_batch(Reader& in) {
    ProducedBatch batch;
    batch.first_sequence = in.integer<std::int32_t>("first sequence");
    batch.last_sequence = in.integer<std::int32_t>("last sequence");
    batch.base_offset = in.integer<std::int64_t>("base offset");
    batch.next_offset = in.integer<std::int64_t>("next offset");
    batch.max_timestamp = in.integer<std::int64_t>("greatest timestamp");
    if (batch.next_offset <= batch.base_offset) in.set_error("next offset", "not above the base");
    return batch;
}

base::Result<base::ByteView> without_crc(base::ByteView bytes) {
    if (bytes.size() < kCrcBytes) return base::fail(base::Errc::corrupt, "a snapshot cut short");
    const base::ByteView content = bytes.first(bytes.size() - kCrcBytes);
    Reader in(bytes.last(kCrcBytes));
    if (in.integer<std::uint32_t>("crc") != base::crc32c(content)) {
        return base::fail(base::Errc::corrupt, "a snapshot with a wrong CRC");
    }
    return content;
}

}  // namespace

Verdict<std::optional<ProducedBatch>> Producers::check(const BatchHeader& batch) const {
    constexpr std::optional<ProducedBatch> kInOrder;
    const auto at = producers_.find(batch.producer_id);
    // Of a producer that is unknown, or forgotten, any sequence is the first.
    if (!batch.is_idempotent() || at == producers_.end()) return kInOrder;
    const Producer& known = at->second;
    if (batch.producer_epoch < known.epoch) {
        return refuse(ErrorCode::invalid_producer_epoch,
                      fmt::format("producer {} comes with epoch {}; its epoch is {}",
                                  batch.producer_id,
                                  batch.producer_epoch,
                                  known.epoch));
    }
    const bool is_new_epoch = batch.producer_epoch > known.epoch;
    if (!is_new_epoch) {
        const auto same = std::ranges::find_if(known.batches, [&](const ProducedBatch& has) {
            return has.first_sequence == batch.base_sequence &&
                   has.last_sequence == batch.last_sequence();
        });
        if (same != known.batches.end()) return std::optional(*same);
    }
    const std::int32_t last = known.batches.back().last_sequence;
    const bool in_order =
        is_new_epoch ? batch.base_sequence == 0 : follows(batch.base_sequence, last);
    if (in_order) return kInOrder;
    return refuse(ErrorCode::out_of_order_sequence_number,
                  fmt::format("producer {} epoch {} comes with sequence {}; the last is {} of "
                              "epoch {}",
                              batch.producer_id,
                              batch.producer_epoch,
                              batch.base_sequence,
                              last,
                              known.epoch));
}

void Producers::add(const BatchHeader& placed) {
    if (!placed.is_idempotent()) return;
    Producer producer{.epoch = placed.producer_epoch, .batches = {}, .used = 0};
    if (const auto at = producers_.find(placed.producer_id); at != producers_.end()) {
        take_out(at->first, at->second);
        if (at->second.epoch == placed.producer_epoch) producer = std::move(at->second);
        producers_.erase(at);
    }
    if (producer.batches.size() == kBatchesKept) producer.batches.erase(producer.batches.begin());
    producer.batches.push_back(batch_of(placed));
    insert(placed.producer_id, std::move(producer));
}

void Producers::insert(std::int64_t id, Producer producer) {
    if (producers_.size() == kProducersMax) {
        const auto gone = producers_.find(to_forget());
        take_out(gone->first, gone->second);
        producers_.erase(gone);
    }
    by_space_[id_space_of(id)][producer.batches.back().next_offset] = id;
    producers_[id] = std::move(producer);
}

void Producers::take_out(std::int64_t id, const Producer& producer) {
    const auto of = by_space_.find(id_space_of(id));
    of->second.erase(producer.batches.back().next_offset);
    if (of->second.empty()) by_space_.erase(of);
}

std::int64_t Producers::to_forget() const {
    const auto most = std::ranges::max_element(
        by_space_, {}, [](const auto& entry) { return entry.second.size(); });
    return most->second.begin()->second;
}

void Producers::note_use(std::int64_t id, std::int64_t now) {
    const auto at = producers_.find(id);
    if (at != producers_.end()) at->second.used = now;
}

void Producers::note_use_of_all(std::int64_t now) {
    for (auto& [id, producer] : producers_)
        producer.used = now;
}

void Producers::expire(std::int64_t before) {
    std::erase_if(producers_, [&](const auto& entry) {
        const ProducedBatch& last = entry.second.batches.back();
        if (std::max(last.max_timestamp, entry.second.used) >= before) return false;
        take_out(entry.first, entry.second);
        return true;
    });
}

base::Bytes Producers::snapshot(std::int64_t next_offset) const {
    Writer out;
    out.integer(kFormat);
    out.integer(next_offset);
    out.integer(static_cast<std::int32_t>(producers_.size()));
    for (const auto& [id, producer] : producers_) {
        out.integer(id);
        out.integer(producer.epoch);
        out.integer(static_cast<std::int8_t>(producer.batches.size()));
        for (const ProducedBatch& batch : producer.batches) {
            put(out, batch);
        }
    }
    out.integer(base::crc32c(out.view()));
    return out.take();
}

base::Result<Producers> Producers::read_snapshot(base::ByteView bytes, std::int64_t next_offset) {
    const auto content = without_crc(bytes);
    if (!content) return base::fail(content.error());
    Reader in(*content);
    Producers read;
    if (in.integer<std::int8_t>("format") != kFormat) in.set_error("format", "unknown");
    if (in.integer<std::int64_t>("offset") != next_offset) in.set_error("offset", "another");
    const auto count = in.integer<std::int32_t>("producers");
    for (std::int32_t i = 0; i < count && in.ok(); ++i) {
        const auto id = in.integer<std::int64_t>("producer id");
        Producer producer{
            .epoch = in.integer<std::int16_t>("producer epoch"), .batches = {}, .used = 0};
        const auto batches = in.integer<std::int8_t>("batches");
        if (batches < 1 || batches > static_cast<std::int8_t>(kBatchesKept)) {
            in.set_error("batches", fmt::format("{}", batches));
        }
        for (std::int8_t b = 0; b < batches && in.ok(); ++b) {
            producer.batches.push_back(get_batch(in));
        }
        if (in.ok()) read.insert(id, std::move(producer));
    }
    if (const auto done = in.finish(); !done) {
        return base::fail(base::Errc::corrupt, "snapshot of producers: " + done.error().detail);
    }
    return read;
}

void Producers::check_invariants() const {
    CHECK(producers_.size() <= kProducersMax);
    std::size_t named = 0;
    for (const auto& [space, ids] : by_space_)
        named += ids.size();
    CHECK(named == producers_.size());
    for (const auto& [id, producer] : producers_) {
        const auto& batches = producer.batches;
        CHECK(!batches.empty() && batches.size() <= kBatchesKept);
        CHECK(std::ranges::is_sorted(batches, {}, &ProducedBatch::base_offset));
        CHECK(by_space_.at(id_space_of(id)).at(batches.back().next_offset) == id);
    }
}

}  // namespace bps
