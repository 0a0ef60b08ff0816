#include "node/operator_api.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace node {

using chain::abi::json_integer;

namespace {

Json json_of(const bps::Figures& figures) {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
    Json json = {{"broker", figures.broker},
                 {"boot", nullptr},
                 {"trouble", figures.trouble},
                 {"listen", figures.addresses},
                 {"rows_age_ms", nullptr},
                 {"disk_low", figures.is_disk_low},
                 {"partitions", figures.partitions},
                 {"led", figures.led},
                 {"unserved", figures.unserved},
                 {"unserved_reasons", figures.reasons},
                 {"connections", figures.connections},
                 {"groups", figures.groups},
                 {"log_bytes", json_integer(figures.log_bytes)},
                 {"in_records", json_integer(figures.taken.records)},
                 {"in_bytes", json_integer(figures.taken.bytes)},
                 {"out_bytes", json_integer(figures.sent_bytes)}};
    if (figures.boot) json["boot"] = *figures.boot;
    if (figures.rows_time != 0) {
        json["rows_age_ms"] = std::max<std::int64_t>(now - figures.rows_time, 0);
    }
    return json;
}

}  // namespace

void add_broker_call(Calls& calls, std::function<bps::Figures()> broker) {
    calls.plain({.path = "/v1/bor/broker"}, [broker = std::move(broker)](Params&) -> Answer {
        return broker ? json_of(broker()) : Json{{"broker", nullptr}};
    });
}

}  // namespace node
