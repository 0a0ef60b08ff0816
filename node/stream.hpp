#pragma once

#include "node/calls.hpp"
#include "node/plugin.hpp"
#include "node/worker_pool.hpp"

#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace node {

class StreamConsumer;

// /v1/bor/stream: blocks, traces, finality and table deltas over a WebSocket, from a cursor (a
// height) on, at head or at final (spec 07).
//
// The client sends one request: {"from": HEIGHT, "at": "head" or "final", "include": ["traces",
// "deltas"]}; missing: the next block, final, blocks only. A second one closes the socket. It gets
// {"type": "block", ...} for each height in order, {"type": "undo", "block_num"} when blocks from
// there on are replaced (at head only), {"type": "final", ...} when more is final, {"type":
// "error"} before it is closed.
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

  private:
    friend class StreamConsumer;
    using Changes = std::shared_ptr<const chain::ChangeSet>;
    // What the newest final blocks changed is kept: of so many of them, and of fewer when they
    // changed more rows than this together, some 50 MiB.
    static constexpr std::size_t kRecentMax = 1200;
    static constexpr std::size_t kRecentRowsMax = 100'000;

    [[nodiscard]] Changes find_recent(chain::Height height) const;
    void add(const std::shared_ptr<StreamConsumer>& consumer);
    void pump_all();

    const ApiContext& context_;
    mutable std::mutex mutex_;
    std::deque<std::pair<chain::Height, Changes>> recent_;  // Ascending.
    std::size_t recent_rows_ = 0;                           // All of their changes.
    std::vector<std::weak_ptr<StreamConsumer>> consumers_;
    bool is_pump_posted_ = false;
    WorkerPool worker_;
};

}  // namespace node
