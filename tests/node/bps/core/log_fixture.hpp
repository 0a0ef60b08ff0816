#pragma once

#include "node/bps/core/log.hpp"
#include "tests/node/bps/core/batches.hpp"
#include "tests/node/bps/core/simulated_files.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <utility>

namespace support {

// What opens no batch.
class NoDecompressor final : public bps::Decompressor {
  public:
    [[nodiscard]] base::Result<base::Bytes> decompress(bps::Compression /*compression*/,
                                                       base::ByteView /*bytes*/,
                                                       std::size_t /*bytes_max*/) const override {
        return base::fail(base::Errc::malformed, "not opened here");
    }
    [[nodiscard]] base::Bytes compress_again(bps::Compression /*compression*/,
                                             base::ByteView bytes) const override {
        return base::to_bytes(bytes);
    }
};

inline std::unique_ptr<bps::Log> open_log(SimulatedFiles& files,
                                          const bps::LogSettings& settings,
                                          std::int64_t now = 0) {
    auto opened = bps::Log::open(files, settings, now);
    if (!opened) FAIL(opened.error().detail);
    if (opened->log->epochs().latest() < 0) REQUIRE(opened->log->begin_epoch(0).has_value());
    return std::move(opened->log);
}

inline std::int64_t append(bps::Log& log, const BatchSpec& spec, std::int64_t now = 0) {
    base::Bytes batch = make_batch(spec);
    const auto appended = log.append(batch, {}, now);
    if (!appended) FAIL(appended.error().reason);
    log.check_invariants();
    return appended->base_offset;
}

// One record with this text, of this time.
inline BatchSpec record(const std::string& text, std::int64_t time = 0) {
    return {.records = {{"k", text, 0}}, .base_timestamp = time};
}

inline void sync(bps::Log& log, SimulatedFiles& files) {
    const bps::Log::SyncPoint point = log.unsynced();
    REQUIRE(files.sync(point.files));
    REQUIRE(log.on_synced(point.end).has_value());
    log.check_invariants();
}

// All that is to go, which takes some calls.
inline void retain(bps::Log& log, std::int64_t now, std::int64_t limit) {
    while (true) {
        const auto done = log.retain(now, limit);
        REQUIRE(done.has_value());
        log.check_invariants();
        if (*done != bps::Log::Retained::more) return;
    }
}

// The bytes that a fetch would carry.
inline base::Bytes fetched(const SimulatedFiles& files, const bps::StoredRecords& records) {
    const bps::Segment segment{.base = static_cast<std::int64_t>(records.segment)};
    return files.read(segment.log_name(), records.position, records.bytes).value();
}

}  // namespace support
