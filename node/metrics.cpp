#include "node/metrics.hpp"

#include "node/agreement_metrics.hpp"
#include "node/broker_metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <map>

namespace node {

namespace {

using Clock = std::chrono::steady_clock;

template <class T>
double number(T value) {
    return static_cast<double>(value);
}

// Of blocks, their traces and their index.
void set_history(const RocksDbStorage::Statistics& disk,
                 const PruningService& service,
                 prometheus::Registry& registry) {
    std::uint64_t on_disk = 0;
    std::uint64_t in_memory = 0;
    for (const base::Family family :
         {base::Family::blocks, base::Family::traces, base::Family::index}) {
        const auto& each = disk.families.at(static_cast<std::size_t>(family));
        on_disk += each.table_bytes + each.blob_bytes;
        in_memory += each.memory_bytes;
    }
    const PruningService::Counters counters = service.counters();
    set_gauge(registry, "bor_history_disk_bytes", "Blocks, traces and index on disk", on_disk);
    set_gauge(registry, "bor_history_memory_bytes", "The same, not on disk yet", in_memory);
    set_gauge(registry,
              "bor_history_earliest_block_height",
              "Below it blocks were pruned; 0: none were",
              counters.earliest);
    set_gauge(registry,
              "bor_history_earliest_traces_height",
              "Below it traces were pruned; 0: none were",
              counters.earliest_traces);
    set_gauge(registry,
              "bor_pruning_passes",
              "Times that pruning gave bytes back since the start",
              counters.passes);
    set_gauge(
        registry, "bor_pruning_failures", "Times that it failed since the start", counters.failed);
}

void set_http(const http::Counters& http, prometheus::Registry& registry) {
    const auto set = [&](const char* name, const char* help, auto value) {
        set_gauge(registry, name, help, value);
    };
    set("bor_http_requests", "Requests since the start", http.requests);
    set("bor_http_connections", "Open connections", http.connections);
    set("bor_http_refused_connections",
        "Connections closed at once, of addresses with as many as one may have",
        http.refused_connections);
    set("bor_http_closed_idle_connections",
        "Idle connections closed, since http-max-connections were taken",
        http.closed_idle);
    set("bor_http_closed_slow_connections",
        "Connections closed, since they did not take their answers and these were too many",
        http.closed_slow);
    set("bor_http_refused_rate", "Requests refused by http-requests-per-second", http.refused_rate);
    set("bor_http_in_flight_bytes", "Requests and answers under way", http.bytes_in_flight);
}

void set_snapshots(const SnapshotService& service, prometheus::Registry& registry) {
    const auto set = [&](const char* name, const char* help, auto value) {
        set_gauge(registry, name, help, value);
    };
    const SnapshotService::Counters counters = service.counters();
    const auto all = service.store().list();
    set("bor_snapshot_block_height",
        "Height of the newest snapshot; 0: there is none",
        all.empty() ? 0 : all.back().head.height);
    set("bor_snapshots_made", "Snapshots made since the start", counters.made);
    set("bor_snapshots_failed", "Snapshots that failed since the start", counters.failed);
    set("bor_snapshots_skipped",
        "Heights that had none as one was being made or the node was behind, since the start",
        counters.skipped_busy + counters.skipped_syncing);
    set("bor_snapshot_making_milliseconds",
        "Age of the storage snapshot that one is being made of; 0: none is",
        counters.making_ms);
}

}  // namespace

struct Metrics::Families {
    prometheus::Registry registry;

    prometheus::Histogram& lag =
        prometheus::BuildHistogram()
            .Name("bor_finality_lag_milliseconds")
            .Help("From a block being the head to it being final, durably")
            .Register(registry)
            .Add({},
                 prometheus::Histogram::BucketBoundaries{
                     1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000});
    prometheus::Family<prometheus::Counter>& outcomes = prometheus::BuildCounter()
                                                            .Name("bor_transactions_total")
                                                            .Help("Transactions by outcome")
                                                            .Register(registry);
    prometheus::Counter& executed = outcomes.Add({{"outcome", "executed"}});
    prometheus::Counter& in_block = outcomes.Add({{"outcome", "in_block"}});
    prometheus::Counter& final_transactions = outcomes.Add({{"outcome", "final"}});
    prometheus::Counter& dropped = outcomes.Add({{"outcome", "dropped"}});
    AgreementMetrics agreement{registry};

    std::map<chain::BlockId, Clock::time_point> accepted;  // Core thread only.
};

Metrics::Metrics(const Sources& sources)
    : families_(std::make_unique<Families>()), sources_(sources) {}

Metrics::~Metrics() = default;

std::string Metrics::text() {
    Families& out = *families_;
    const auto set = [&](const char* name, const char* help, auto value) {
        set_gauge(out.registry, name, help, value);
    };
    const auto view = sources_.runtime.published();
    set("bor_head_block_height", "Height of the head", view->head->header.height);
    set("bor_final_block_height", "Height of the final block", view->finalized->header.height);
    set("bor_pool_bytes", "Transactions that wait, in bytes", view->pool_bytes);
    set("bor_pool_transactions", "Transactions that wait", view->pool_transactions);
    set("bor_unchecked_blocks",
        "Final blocks whose signatures are not checked yet (trust = certified)",
        view->unchecked_blocks);
    set("bor_wrong_blocks",
        "Of these, blocks whose signature or witness is wrong: other copies are asked for",
        view->wrong_blocks);
    set("bor_trouble", "1: the node cannot go on, see its log", view->trouble.empty() ? 0 : 1);
    if (sources_.snapshots != nullptr) set_snapshots(*sources_.snapshots, out.registry);
    if (sources_.pruning != nullptr) {
        set_history(sources_.storage.statistics(), *sources_.pruning, out.registry);
    }
    const RuntimeCounters runtime = sources_.runtime.counters();
    set("bor_transactions_submitted", "Transactions received since the start", runtime.submitted);
    set("bor_transactions_refused",
        "Transactions answered with an error since the start",
        runtime.refused);
    set("bor_transactions_in_flight", "Transactions received and not answered", runtime.in_flight);
    set("bor_recovery_queue_jobs", "Jobs that wait for a worker", runtime.worker_queue);
    set("bor_disk_queue_writes", "Writes that wait for the disk", runtime.disk_queue);
    set("bor_disk_errors", "Failed writes since the start", runtime.disk_errors);
    set("bor_commit_microseconds_sum",
        "Time in synced writes since the start",
        runtime.disk_microseconds);
    set("bor_commits", "Writes since the start", runtime.disk_writes);
    const RocksDbStorage::Statistics disk = sources_.storage.statistics();
    set("bor_rocksdb_writes_stopped",
        "1: RocksDB holds writes back completely",
        disk.writes_stopped ? 1 : 0);
    set("bor_rocksdb_delayed_write_rate_bytes_per_second",
        "To which RocksDB holds writes back; 0: it does not",
        disk.delayed_write_rate);
    set("bor_rocksdb_compaction_pending_bytes",
        "Bytes that wait for compaction",
        disk.compaction_pending_bytes);
    set("bor_disk_free_bytes", "Free space below data-dir", disk.disk_free_bytes);
    set_http(sources_.http(), out.registry);
    if (sources_.broker) {
        const auto since = std::chrono::system_clock::now().time_since_epoch();
        const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
        show_broker(sources_.broker(), now, out.registry);
    }
    const auto peers = sources_.runtime.peers();
    const auto channels = sources_.transports == nullptr ? transport::ChannelStatuses()
                                                         : sources_.transports->channels();
    out.agreement.show(*view,
                       peers == nullptr ? p2p::Status() : *peers,
                       channels == nullptr ? std::vector<transport::ChannelStatus>() : *channels);
    return prometheus::TextSerializer().Serialize(out.registry.Collect());
}

void Metrics::add_route(http::Router& router) {
    router.add("/v1/prometheus/metrics",
               {.handler =
                    [this](const http::Request&, const http::Reply& reply) {
                        http::Response response;
                        response.body = text();
                        response.content_type = "text/plain; version=0.0.4";
                        reply(std::move(response));
                    },
                .category = "prometheus"});
}

void Metrics::on_pending(const effect::Pending&) {
    families_->executed.Increment();
}

void Metrics::on_accepted(const effect::Accepted& accepted) {
    constexpr std::size_t kUnfinishedMax = 10'000;
    families_->in_block.Increment(number(accepted.block->traces.size()));
    if (families_->accepted.size() >= kUnfinishedMax) families_->accepted.clear();
    families_->agreement.count_block(*accepted.block->block);
    families_->accepted.emplace(accepted.block->block->id, Clock::now());
}

void Metrics::on_finalized(const effect::Finalized& finalized) {
    families_->final_transactions.Increment(number(finalized.block->traces.size()));
    if (finalized.certificate) {
        families_->agreement.count_votes(*finalized.certificate,
                                         *sources_.runtime.published()->final_state);
    }
    const auto found = families_->accepted.find(finalized.block->block->id);
    if (found == families_->accepted.end()) return;
    const auto lag = Clock::now() - found->second;
    families_->lag.Observe(std::chrono::duration<double, std::milli>(lag).count());
    families_->accepted.erase(found);
}

void Metrics::on_dropped(const effect::Dropped&) {
    families_->dropped.Increment();
}

}  // namespace node
