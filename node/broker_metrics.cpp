#include "node/broker_metrics.hpp"

#include "node/agreement_metrics.hpp"

#include <prometheus/gauge.h>

#include <algorithm>
#include <string>

namespace node {

namespace {

void show_data(const bps::Figures& figures, prometheus::Registry& registry) {
    const auto set = [&](const char* name, const char* help, std::uint64_t value) {
        set_gauge(registry, name, help, value);
    };
    set("bor_broker_in_batches", "Batches taken since the start", figures.taken.batches);
    set("bor_broker_in_records", "Records taken since the start", figures.taken.records);
    set("bor_broker_in_bytes", "Bytes of batches taken since the start", figures.taken.bytes);
    set("bor_broker_out_bytes",
        "Bytes of batches sent to consumers since the start",
        figures.sent_bytes);
    set("bor_broker_throttled",
        "Answers after which a tenant above its quota was not read for a while, since the start",
        figures.throttled);
    set("bor_broker_syncs",
        "Times that all that waited was made durable, since the start",
        figures.syncs);
    set("bor_broker_sync_microseconds_sum",
        "Time in them since the start",
        figures.sync_microseconds);
    set("bor_broker_log_bytes", "Segments on disk", figures.log_bytes);
}

}  // namespace

void show_broker(const bps::Figures& figures, std::int64_t now, prometheus::Registry& registry) {
    show_data(figures, registry);
    const auto set = [&](const char* name, const char* help, std::uint64_t value) {
        set_gauge(registry, name, help, value);
    };
    set("bor_broker_partitions", "Partitions that it has a log of", figures.partitions);
    set("bor_broker_led_partitions", "Of these, those that it leads", figures.led);
    set("bor_broker_unserved_partitions",
        "Partitions that it should serve and does not, as its log says",
        figures.unserved);
    set("bor_broker_connections", "Clients", figures.connections);
    set("bor_broker_groups", "Groups of consumers that it coordinates", figures.groups);
    set("bor_broker_started", "1: its start is in a final block", figures.boot ? 1 : 0);
    set("bor_broker_disk_low",
        "1: less than 5 % of the disk is free, and nothing is taken",
        figures.is_disk_low ? 1 : 0);
    const std::int64_t age =
        figures.rows_time == 0 ? -1 : std::max<std::int64_t>(now - figures.rows_time, 0);
    set_gauge(registry,
              "bor_broker_rows_age_milliseconds",
              "Age of the final block whose rows it acts on; -1: it has seen none",
              age);
    auto& requests = prometheus::BuildGauge()
                         .Name("bor_broker_requests")
                         .Help("Requests answered since the start, by key and Kafka's error")
                         .Register(registry);
    for (const auto& [which, count] : figures.answered) {
        requests
            .Add({{"key", std::to_string(which.first)},
                  {"error", std::to_string(static_cast<int>(which.second))}})
            .Set(static_cast<double>(count));
    }
}

}  // namespace node
