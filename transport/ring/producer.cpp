#include "transport/ring/producer.hpp"

#include "base/check.hpp"

#include <string>

namespace transport::ring {

RecordPlacer::RecordPlacer(std::size_t ring_bytes, Seal* seal, std::uint64_t laps_max)
    : ring_bytes_(ring_bytes), seal_(seal), laps_max_(laps_max) {
    CHECK(laps_max <= kLapsMax);
    CHECK(ring_bytes % kLineBytes == 0);
    CHECK(ring_bytes >= kRingBytesMin && ring_bytes <= kRingBytesMax);
}

// The line behind the record is written too.
bool RecordPlacer::has_room(std::size_t size) const {
    return produced_ + size + kLineBytes - consumed_ <= ring_bytes_;
}

bool RecordPlacer::fits(std::size_t length) const {
    const std::size_t size = record_bytes(length);
    const std::size_t rest = ring_bytes_ - at_;
    // Not asked between both: the skip may use up the last lap, and the record that was promised
    // room stands behind it.
    return !is_worn_out() && has_room(rest < size ? rest + size : size);
}

// A full ring holds a request, so that its consumer, who comes past it, makes room.
bool RecordPlacer::asks_for_credit(std::size_t size) {
    const bool is_half_full = produced_ + size - consumed_ > ring_bytes_ / 2;
    if (!is_half_full || consumed_ < asked_at_) return false;
    asked_at_ = produced_ + size;
    return true;
}

std::optional<StoredRecord> RecordPlacer::place(base::ByteView payload) {
    CHECK(!payload.empty() && payload.size() <= kPayloadBytesMax);
    const std::size_t size = record_bytes(payload.size());
    const std::size_t rest = ring_bytes_ - at_;
    if (rest < size) {
        if (!has_room(rest)) return std::nullopt;
        return make(RecordKind::skip, {}, rest);
    }
    if (!has_room(size)) return std::nullopt;
    return make(RecordKind::frame, payload, size);
}

StoredRecord RecordPlacer::make(RecordKind kind, base::ByteView payload, std::size_t size) {
    StoredRecord record;
    record.at = at_;
    record.word = encode({.lap = lap_,
                          .length = static_cast<std::uint32_t>(payload.size()),
                          .kind = kind,
                          .sync_req = asks_for_credit(size)});
    record.body = payload;
    record.body_bytes = payload.size();
    record.kind = kind;
    if (seal_ != nullptr) seal(record, payload);
    advance(size);
    record.behind = at_;
    return record;
}

void RecordPlacer::advance(std::size_t bytes) {
    produced_ += bytes;
    at_ += bytes;
    if (at_ < ring_bytes_) return;
    at_ = 0;
    ++lap_;
}

void RecordPlacer::seal(StoredRecord& record, base::ByteView payload) {
    const std::size_t size = payload.size() + kTagBytes;
    record.body_bytes = size;
    if (ring_.empty()) {
        seal_->seal(produced_, record.word, payload, sealed_);
        record.body = base::ByteView(sealed_).first(size);
    } else {
        seal_->seal(produced_, record.word, payload, ring_.subspan(record.at + kWordBytes, size));
        record.body = {};
    }
}

base::Result<void> RecordPlacer::take_credit(std::uint64_t consumed) {
    if (consumed == consumed_) return {};
    if (consumed < consumed_ || consumed > produced_ || consumed % kLineBytes != 0) {
        return base::fail(base::Errc::invalid,
                          "the peer returned position " + std::to_string(consumed) +
                              " of a ring between " + std::to_string(consumed_) + " and " +
                              std::to_string(produced_));
    }
    consumed_ = consumed;
    return {};
}

}  // namespace transport::ring
