#pragma once

#include "base/bytes.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace bench {

// The few requests that the benchmark makes, and answers in place of a broker: Produce 7 and Fetch
// 11 (Kafka's protocol guide), of partition 0 of one topic.

inline constexpr std::int16_t kProduceKey = 0;
inline constexpr std::int16_t kFetchKey = 1;

// A batch of `count` records with values of `bytes` each, which do not repeat one another.
[[nodiscard]] base::Bytes make_batch(std::int32_t count, std::size_t bytes);

// Whole frames. A correlation id is set in one that is sent again.
[[nodiscard]] base::Bytes produce_request(const std::string& topic,
                                          std::int16_t acks,
                                          base::ByteView batch);
struct FetchWish {
    std::int64_t offset = 0;
    std::int32_t wait_ms = 500;
    std::int32_t bytes_min = 1;
    std::int32_t bytes_max = 1 << 20;
};
[[nodiscard]] base::Bytes fetch_request(const std::string& topic, const FetchWish& wish);
// Metadata 1 of the topic: before, a broker takes small requests only.
[[nodiscard]] base::Bytes greeting_request(const std::string& topic);
// In place of a broker: something, to that; nothing: it is another request.
[[nodiscard]] std::optional<base::Bytes> greeting_answer(base::ByteView frame);
// By SASL PLAIN, the two requests of it.
[[nodiscard]] base::Bytes handshake_request();
[[nodiscard]] base::Bytes login_request(const std::string& user, const std::string& password);
void set_correlation(base::Bytes& frame, std::int32_t correlation);

// What a server reads of them: a frame without its length. Borrowed.
struct AskedFor {
    std::int32_t correlation = 0;
    std::string topic;
    base::ByteView batch;  // Of Produce.
    FetchWish wish;        // Of Fetch.
};
[[nodiscard]] AskedFor read_produce(base::ByteView frame);
[[nodiscard]] AskedFor read_fetch(base::ByteView frame);

// Whole frames of answers; `bytes` of batches follow that to Fetch.
[[nodiscard]] base::Bytes produce_answer(const AskedFor& asked, std::int64_t base_offset);
[[nodiscard]] base::Bytes fetch_answer(const AskedFor& asked, std::int64_t end, std::size_t bytes);

// Ends the program where an answer tells an error.
void check_login(base::ByteView frame);  // To each of the two.
void check_produced(base::ByteView frame);
struct Fetched {
    std::size_t bytes = 0;
    std::int64_t next_offset =
        0;  // Behind the last record; what was asked for where there is none.
};
[[nodiscard]] Fetched read_fetched(base::ByteView frame, std::int64_t offset);

}  // namespace bench
