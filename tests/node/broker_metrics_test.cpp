// What a broker does, as Prometheus reads it: each figure under its name, none in place of another.
#include "node/broker_metrics.hpp"

#include <catch2/catch.hpp>
#include <prometheus/text_serializer.h>

#include <string>
#include <string_view>

namespace {

using bps::ErrorCode;

std::string text_of(const bps::Figures& figures, std::int64_t now) {
    prometheus::Registry registry;
    node::show_broker(figures, now, registry);
    return prometheus::TextSerializer().Serialize(registry.Collect());
}

bool has_line(const std::string& text, std::string_view line) {
    return ("\n" + text).find("\n" + std::string(line) + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("each figure of a broker has its name", "[broker][metrics]") {
    bps::Figures figures{
        .taken = {.batches = 1, .records = 2, .bytes = 3},
        .sent_bytes = 6,
        .throttled = 17,
        .answered = {{{0, ErrorCode::none}, 7}, {{1, ErrorCode::topic_authorization_failed}, 8}},
        .syncs = 9,
        .sync_microseconds = 10,
        .partitions = 11,
        .led = 12,
        .unserved = 18,
        .connections = 13,
        .groups = 14,
        .log_bytes = 15,
        .rows_time = 1'000,
        .broker = 1,
        .boot = 2,
        .trouble = {},
        .reasons = {},
        .addresses = {},
        .is_disk_low = false};
    const std::string text = text_of(figures, 1'016);
    for (const std::string_view line : {"bor_broker_in_batches 1",
                                        "bor_broker_in_records 2",
                                        "bor_broker_in_bytes 3",
                                        "bor_broker_out_bytes 6",
                                        "bor_broker_throttled 17",
                                        "bor_broker_requests{error=\"0\",key=\"0\"} 7",
                                        "bor_broker_requests{error=\"29\",key=\"1\"} 8",
                                        "bor_broker_syncs 9",
                                        "bor_broker_sync_microseconds_sum 10",
                                        "bor_broker_partitions 11",
                                        "bor_broker_led_partitions 12",
                                        "bor_broker_unserved_partitions 18",
                                        "bor_broker_connections 13",
                                        "bor_broker_groups 14",
                                        "bor_broker_log_bytes 15",
                                        "bor_broker_rows_age_milliseconds 16",
                                        "bor_broker_started 1",
                                        "bor_broker_disk_low 0"}) {
        INFO(line << " in\n" << text);
        CHECK(has_line(text, line));
    }
    figures.rows_time = 0;
    figures.is_disk_low = true;
    const std::string other = text_of(figures, 1'016);
    CHECK(has_line(other, "bor_broker_rows_age_milliseconds -1"));
    CHECK(has_line(other, "bor_broker_disk_low 1"));
}
