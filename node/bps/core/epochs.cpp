#include "node/bps/core/epochs.hpp"

#include "base/check.hpp"
#include "base/crc32c.hpp"
#include "node/bps/core/codec/reader.hpp"
#include "node/bps/core/codec/writer.hpp"

#include <algorithm>
#include <iterator>

namespace bps {

void Epochs::begin(std::int32_t epoch, std::int64_t start) {
    CHECK(epoch > latest());
    std::erase_if(entries_, [start](const Entry& entry) { return entry.start >= start; });
    entries_.push_back({epoch, start});
}

std::optional<Epochs::Entry> Epochs::end_of(std::int32_t epoch, std::int64_t log_end) const {
    if (epoch > latest() || epoch < 0) return std::nullopt;
    const auto next = std::ranges::upper_bound(entries_, epoch, {}, &Entry::epoch);
    if (next == entries_.begin()) return Entry{epoch, next->start};
    return Entry{std::prev(next)->epoch, next == entries_.end() ? log_end : next->start};
}

std::int32_t Epochs::epoch_at(std::int64_t offset) const {
    const auto next = std::ranges::upper_bound(entries_, offset, {}, &Entry::start);
    if (next != entries_.begin()) return std::prev(next)->epoch;
    return entries_.empty() ? -1 : entries_.front().epoch;
}

void Epochs::cut(std::int64_t end) {
    std::erase_if(entries_, [end](const Entry& entry) { return entry.start >= end; });
}

base::Bytes Epochs::pack() const {
    Writer out;
    out.integer(static_cast<std::uint32_t>(entries_.size()));
    for (const Entry& entry : entries_) {
        out.integer(entry.epoch);
        out.integer(entry.start);
    }
    out.integer(base::crc32c(out.view()));
    return out.take();
}

base::Result<Epochs> Epochs::read(base::ByteView bytes) {
    Reader in(bytes);
    Epochs epochs;
    const auto count = in.integer<std::uint32_t>("epochs");
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
        Entry entry;
        entry.epoch = in.integer<std::int32_t>("epoch");
        entry.start = in.integer<std::int64_t>("start");
        epochs.entries_.push_back(entry);
    }
    const std::size_t content = in.offset();
    const auto crc = in.integer<std::uint32_t>("crc");
    if (in.ok() && crc != base::crc32c(bytes.first(content))) in.set_error("crc", "wrong");
    if (const auto done = in.finish(); !done) {
        return base::fail(base::Errc::corrupt, "epochs: " + done.error().detail);
    }
    return epochs;
}

}  // namespace bps
