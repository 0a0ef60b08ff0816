// The client and the bare loops of the broker's benchmark (measure.py runs them): see the usage.
#include "bench/broker/bare.hpp"
#include "bench/broker/client.hpp"
#include "bench/ledger/report.hpp"

#include <fstream>
#include <string>

namespace {

constexpr std::string_view kUsage =
    "usage: bench_broker --sink FILE --port PORT [--cert FILE --key FILE]\n"
    "       bench_broker --source FILE --port PORT [--cert FILE --key FILE]\n"
    "       bench_broker --produce HOST:PORT [--tls [--token-file FILE]] [--topic NAME] "
    "[--megabytes N] [--records N]\n"
    "                    [--record-bytes N] [--in-flight N] [--acks N] [--json]\n"
    "       bench_broker --fetch HOST:PORT [--tls [--token-file FILE]] [--topic NAME] [--megabytes "
    "N] [--json]\n"
    "       bench_broker --idle HOST:PORT [--tls [--token-file FILE]] [--topic NAME] [--consumers "
    "N] [--seconds N] "
    "[--json]";

}  // namespace

int main(int argc, char** argv) {
    const bench::Arguments arguments(argc, argv);
    arguments.expect({"--sink",
                      "--source",
                      "--produce",
                      "--fetch",
                      "--idle",
                      "--port",
                      "--cert",
                      "--key",
                      "--tls",
                      "--token-file",
                      "--topic",
                      "--megabytes",
                      "--records",
                      "--record-bytes",
                      "--in-flight",
                      "--acks",
                      "--consumers",
                      "--seconds",
                      "--json"},
                     kUsage);
    const auto port = static_cast<std::uint16_t>(arguments.number("--port", 0));
    const bench::Identity identity{arguments.text("--cert", ""), arguments.text("--key", "")};
    if (arguments.has("--sink")) bench::run_sink(port, identity, arguments.text("--sink", ""));
    if (arguments.has("--source"))
        bench::run_source(port, identity, arguments.text("--source", ""));

    bench::Server server{.has_tls = arguments.has("--tls"),
                         .topic = arguments.text("--topic", "bench")};
    if (arguments.has("--token-file")) {
        std::ifstream file(arguments.text("--token-file", ""));
        file >> server.token;
    }
    const std::size_t megabytes = arguments.number("--megabytes", 256);
    bench::Report report("broker");
    if (arguments.has("--produce")) {
        server.address = arguments.text("--produce", "");
        const std::string acks = arguments.text("--acks", "1");
        bench::measure_produce(
            server,
            {.megabytes = megabytes,
             .records = static_cast<std::int32_t>(arguments.number("--records", 100)),
             .record_bytes = arguments.number("--record-bytes", 1'024),
             .in_flight = arguments.number("--in-flight", 8),
             .acks = static_cast<std::int16_t>(std::stoi(acks))},
            report);
    } else if (arguments.has("--fetch")) {
        server.address = arguments.text("--fetch", "");
        bench::measure_fetch(server, megabytes, report);
    } else if (arguments.has("--idle")) {
        server.address = arguments.text("--idle", "");
        bench::measure_idle(server,
                            arguments.number("--consumers", 1'000),
                            arguments.number("--seconds", 20),
                            report);
    } else {
        bench::give_up(std::string(kUsage));
    }
    report.print(arguments.has("--json"));
    return 0;
}
