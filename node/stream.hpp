#pragma once

#include "node/calls.hpp"
#include "node/plugin.hpp"
#include "node/worker_pool.hpp"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace node {

class StreamConsumer;

// /v1/bor/stream: blocks, traces, finality and table deltas over a WebSocket, from a cursor (a
// height) on, at head or at final (spec 07).
//
// The client sends one request: {"from": HEIGHT, "at": "head" or "final", "include": ["traces",
// "deltas"]}; missing: the next block, final, blocks only. It gets {"type": "block", ...} for
// each height in order, {"type": "undo", "block_num"} when blocks from there on are replaced (at
// head only), {"type": "final", ...} when more is final, {"type": "error"} before it is closed.
// Each consumer reads at its own speed: what it has not read waits in its socket's queue, which
// is bounded; the rest stays in the storage.
//
// Threads: on_* on the core thread, sockets on HTTP threads, the work on one of its own.
class StreamHub : public Plugin {
  public:
    explicit StreamHub(const ApiContext& context);
    ~StreamHub() override;

    [[nodiscard]] http::Upgrade upgrade();
    // Before the runtime and the server stop for good.
    void stop();

    void on_published(const std::shared_ptr<const Published>& view) override;
    void on_finalized(const effect::Finalized& finalized) override;

    [[nodiscard]] std::size_t consumers() const;

  private:
    friend class StreamConsumer;
    // What a block changed is kept for this many final blocks.
    static constexpr std::size_t kRecentMax = 1200;

    [[nodiscard]] chain::ExecutedBlockPtr find_recent(chain::Height height) const;
    void add(const std::shared_ptr<StreamConsumer>& consumer);
    void pump_all();

    const ApiContext& context_;
    mutable std::mutex mutex_;
    std::deque<chain::ExecutedBlockPtr> recent_;  // Final, ascending.
    std::vector<std::weak_ptr<StreamConsumer>> consumers_;
    bool is_pump_posted_ = false;
    WorkerPool worker_;
};

}  // namespace node
