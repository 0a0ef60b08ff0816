#include "bench/broker/requests.hpp"

#include "base/rng.hpp"
#include "bench/ledger/report.hpp"
#include "node/bps/core/batch.hpp"
#include "node/bps/core/codec/reader.hpp"
#include "node/bps/core/codec/writer.hpp"

#include <algorithm>
#include <chrono>

namespace bench {

namespace {

using bps::Reader;
using bps::Writer;

constexpr std::int16_t kProduceVersion = 7;
constexpr std::int16_t kFetchVersion = 11;
constexpr std::int16_t kMetadataKey = 3;
constexpr std::int16_t kHandshakeKey = 17;
constexpr std::int16_t kLoginKey = 36;
constexpr std::size_t kCorrelationAt = 8;

void put_string(Writer& out, const std::string& text) {
    out.integer(static_cast<std::int16_t>(text.size()));
    out.raw(base::as_bytes(text));
}

std::string read_string(Reader& in) {
    const auto size = in.integer<std::int16_t>("size");
    return std::string(
        base::as_text(in.raw(size > 0 ? static_cast<std::size_t>(size) : 0, "text")));
}

void put_header(Writer& out, std::int16_t key, std::int16_t version) {
    out.integer(key);
    out.integer(version);
    out.integer<std::int32_t>(0);
    put_string(out, "bench");
}

// The correlation id; that the frame has this key and version was seen.
std::int32_t read_header(Reader& in, std::int16_t key, std::int16_t version) {
    const bool is_it =
        in.integer<std::int16_t>("key") == key && in.integer<std::int16_t>("version") == version;
    if (!is_it) give_up("a request that the bare server does not know");
    const auto correlation = in.integer<std::int32_t>("correlation");
    (void)read_string(in);
    return correlation;
}

base::Bytes with_length(Writer& body, std::size_t more = 0) {
    Writer out;
    out.integer(static_cast<std::uint32_t>(body.size() + more));
    out.raw(body.view());
    return out.take();
}

void check(const Reader& in, std::int16_t error) {
    if (!in.ok()) give_up("an answer that cannot be read: " + in.status().error().detail);
    if (error != 0) give_up("the broker answers with error " + std::to_string(error));
}

}  // namespace

base::Bytes make_batch(std::int32_t count, std::size_t bytes) {
    base::Rng rng(1);
    Writer records;
    for (std::int32_t i = 0; i < count; ++i) {
        base::Bytes value(bytes);
        for (std::byte& each : value)
            each = static_cast<std::byte>(rng.below(256));
        Writer record;
        record.integer<std::int8_t>(0);  // Attributes.
        record.varlong(0);
        record.varint(i);
        record.varint(-1);  // No key.
        record.varint(static_cast<std::int32_t>(bytes));
        record.raw(value);
        record.varint(0);  // No headers.
        records.varint(static_cast<std::int32_t>(record.size()));
        records.raw(record.view());
    }
    bps::BatchHeader header;
    header.records_count = count;
    // Of now: what is older than a week, retention takes away.
    using std::chrono::duration_cast;
    using std::chrono::milliseconds;
    header.base_timestamp = header.max_timestamp =
        duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    return bps::pack_batch(header, records.view());
}

base::Bytes produce_request(const std::string& topic, std::int16_t acks, base::ByteView batch) {
    Writer out;
    put_header(out, kProduceKey, kProduceVersion);
    out.integer<std::int16_t>(-1);  // No transaction.
    out.integer(acks);
    out.integer<std::int32_t>(30'000);
    out.integer<std::int32_t>(1);
    put_string(out, topic);
    out.integer<std::int32_t>(1);
    out.integer<std::int32_t>(0);
    out.integer(static_cast<std::int32_t>(batch.size()));
    out.raw(batch);
    return with_length(out);
}

base::Bytes fetch_request(const std::string& topic, const FetchWish& wish) {
    Writer out;
    put_header(out, kFetchKey, kFetchVersion);
    out.integer<std::int32_t>(-1);
    out.integer(wish.wait_ms);
    out.integer(wish.bytes_min);
    out.integer(wish.bytes_max);
    out.integer<std::int8_t>(0);
    out.integer<std::int32_t>(0);  // No session.
    out.integer<std::int32_t>(-1);
    out.integer<std::int32_t>(1);
    put_string(out, topic);
    out.integer<std::int32_t>(1);
    out.integer<std::int32_t>(0);
    out.integer<std::int32_t>(-1);
    out.integer(wish.offset);
    out.integer<std::int64_t>(-1);
    out.integer(wish.bytes_max);
    out.integer<std::int32_t>(0);  // Nothing is forgotten.
    put_string(out, "");
    return with_length(out);
}

base::Bytes greeting_request(const std::string& topic) {
    Writer out;
    put_header(out, kMetadataKey, 1);
    out.integer<std::int32_t>(1);
    put_string(out, topic);
    return with_length(out);
}

std::optional<base::Bytes> greeting_answer(base::ByteView frame) {
    Reader in(frame);
    if (in.integer<std::int16_t>("key") != kMetadataKey) return std::nullopt;
    (void)in.integer<std::int16_t>("version");
    Writer out;
    out.integer(in.integer<std::int32_t>("correlation"));
    return with_length(out);
}

base::Bytes handshake_request() {
    Writer out;
    put_header(out, kHandshakeKey, 1);
    put_string(out, "PLAIN");
    return with_length(out);
}

base::Bytes login_request(const std::string& user, const std::string& password) {
    const std::string text = std::string(1, '\0') + user + std::string(1, '\0') + password;
    Writer out;
    put_header(out, kLoginKey, 0);
    out.integer(static_cast<std::int32_t>(text.size()));
    out.raw(base::as_bytes(text));
    return with_length(out);
}

void set_correlation(base::Bytes& frame, std::int32_t correlation) {
    Writer out;
    out.integer(correlation);
    std::ranges::copy(out.view(), frame.begin() + kCorrelationAt);
}

AskedFor read_produce(base::ByteView frame) {
    Reader in(frame);
    AskedFor asked;
    asked.correlation = read_header(in, kProduceKey, kProduceVersion);
    (void)read_string(in);
    (void)in.integer<std::int16_t>("acks");
    (void)in.integer<std::int32_t>("timeout");
    (void)in.integer<std::int32_t>("topics");
    asked.topic = read_string(in);
    (void)in.integer<std::int32_t>("partitions");
    (void)in.integer<std::int32_t>("partition");
    asked.batch = in.raw(in.integer<std::uint32_t>("bytes"), "records");
    if (!in.ok()) give_up("a request that cannot be read: " + in.status().error().detail);
    return asked;
}

AskedFor read_fetch(base::ByteView frame) {
    Reader in(frame);
    AskedFor asked;
    asked.correlation = read_header(in, kFetchKey, kFetchVersion);
    (void)in.integer<std::int32_t>("replica");
    asked.wish.wait_ms = in.integer<std::int32_t>("wait");
    asked.wish.bytes_min = in.integer<std::int32_t>("least");
    asked.wish.bytes_max = in.integer<std::int32_t>("most");
    (void)in.raw(1 + 4 + 4, "isolation and session");
    (void)in.integer<std::int32_t>("topics");
    asked.topic = read_string(in);
    (void)in.integer<std::int32_t>("partitions");
    (void)in.raw(4 + 4, "partition and epoch");
    asked.wish.offset = in.integer<std::int64_t>("offset");
    if (!in.ok()) give_up("a request that cannot be read: " + in.status().error().detail);
    return asked;
}

base::Bytes produce_answer(const AskedFor& asked, std::int64_t base_offset) {
    Writer out;
    out.integer(asked.correlation);
    out.integer<std::int32_t>(1);
    put_string(out, asked.topic);
    out.integer<std::int32_t>(1);
    out.integer<std::int32_t>(0);
    out.integer<std::int16_t>(0);
    out.integer(base_offset);
    out.integer<std::int64_t>(-1);
    out.integer<std::int64_t>(0);
    out.integer<std::int32_t>(0);
    return with_length(out);
}

base::Bytes fetch_answer(const AskedFor& asked, std::int64_t end, std::size_t bytes) {
    Writer out;
    out.integer(asked.correlation);
    out.integer<std::int32_t>(0);
    out.integer<std::int16_t>(0);
    out.integer<std::int32_t>(0);
    out.integer<std::int32_t>(1);
    put_string(out, asked.topic);
    out.integer<std::int32_t>(1);
    out.integer<std::int32_t>(0);
    out.integer<std::int16_t>(0);
    out.integer(end);
    out.integer(end);
    out.integer<std::int64_t>(0);
    out.integer<std::int32_t>(-1);
    out.integer<std::int32_t>(-1);
    out.integer(static_cast<std::int32_t>(bytes));
    return with_length(out, bytes);
}

void check_login(base::ByteView frame) {
    Reader in(frame);
    (void)in.integer<std::int32_t>("correlation");
    const auto error = in.integer<std::int16_t>("error");
    check(in, error);
}

void check_produced(base::ByteView frame) {
    Reader in(frame);
    (void)in.raw(4 + 4, "correlation and topics");
    (void)read_string(in);
    (void)in.raw(4 + 4, "partitions and partition");
    const auto error = in.integer<std::int16_t>("error");
    check(in, error);
}

Fetched read_fetched(base::ByteView frame, std::int64_t offset) {
    Reader in(frame);
    (void)in.raw(4 + 4, "correlation and throttling");
    const auto whole = in.integer<std::int16_t>("error");
    check(in, whole);
    (void)in.raw(4 + 4, "session and topics");
    (void)read_string(in);
    (void)in.raw(4 + 4, "partitions and partition");
    const auto error = in.integer<std::int16_t>("error");
    (void)in.raw(8 + 8 + 8 + 4 + 4, "offsets, aborted transactions, replica");
    const auto bytes = in.integer<std::int32_t>("bytes");
    base::ByteView batches = in.raw(bytes > 0 ? static_cast<std::size_t>(bytes) : 0, "batches");
    check(in, error);
    Fetched fetched{.bytes = batches.size(), .next_offset = offset};
    while (!batches.empty()) {
        const auto header = bps::read_batch_header(batches);
        if (!header || header->bytes() > batches.size()) give_up("a batch that is cut");
        fetched.next_offset = header->next_offset();
        batches = batches.subspan(header->bytes());
    }
    return fetched;
}

}  // namespace bench
