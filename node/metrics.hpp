#pragma once

#include "node/bps/service/figures.hpp"
#include "node/disk/rocksdb_storage.hpp"
#include "node/http/server.hpp"
#include "node/plugin.hpp"
#include "node/pruning_service.hpp"
#include "node/runtime.hpp"
#include "node/snapshot_service.hpp"
#include "node/transports.hpp"

#include <functional>
#include <memory>
#include <string>

namespace node {

// /v1/prometheus/metrics: the node's amounts, with units in their names.
//
// Threads: on_* on the core thread, text() on any.
class Metrics : public Plugin {
  public:
    struct Sources {
        const Runtime& runtime;
        const RocksDbStorage& storage;
        std::function<http::Counters()> http;
        const Transports* transports = nullptr;      // Null: there are no peers.
        const SnapshotService* snapshots = nullptr;  // Null: none are made.
        const PruningService* pruning = nullptr;     // Null: nothing is pruned.
        std::function<bps::Figures()> broker = {};   // Empty: this node has none.
    };

    explicit Metrics(const Sources& sources);
    ~Metrics() override;

    // In Prometheus' text format.
    [[nodiscard]] std::string text();
    void add_route(http::Router& router);

    void on_pending(const effect::Pending& pending) override;
    void on_accepted(const effect::Accepted& accepted) override;
    void on_finalized(const effect::Finalized& finalized) override;
    void on_dropped(const effect::Dropped& dropped) override;

  private:
    struct Families;  // metrics.cpp: prometheus-cpp stays there.
    std::unique_ptr<Families> families_;
    const Sources sources_;
};

}  // namespace node
