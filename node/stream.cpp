#include "node/stream.hpp"

#include "node/stream_json.hpp"

#include <optional>
#include <utility>

namespace node {

namespace {

constexpr int kBlocksATurn = 16;  // Then the next consumer has its turn.

struct Wish {
    chain::Height from = 0;  // 0: the next block.
    bool at_head = false;
    bool traces = false;
    bool deltas = false;
};

std::optional<Wish> parse_wish(std::string_view text, std::string& error) {
    Params params(text, Need::optional);
    Wish wish;
    wish.from = params.u32("from", 0);
    const std::string at = params.text("at", "final");
    const auto include = params.list<std::string>("include", chain::abi::get_string);
    if (!params.ok()) {
        const auto& details = params.error().details;
        error = details.empty() ? "malformed request" : details.back();
        return std::nullopt;
    }
    wish.at_head = at == "head";
    if (at != "head" && at != "final") error = "at: expected head or final, found " + at;
    for (const std::string& each : include) {
        if (each == "traces") wish.traces = true;
        if (each == "deltas") wish.deltas = true;
        if (each != "traces" && each != "deltas" && each != "blocks") {
            error = "include: expected blocks, traces or deltas, found " + each;
        }
    }
    if (!error.empty()) return std::nullopt;
    return wish;
}

}  // namespace

// One WebSocket of the stream; all but the socket belongs to the hub's worker.
class StreamConsumer : base::Pinned {
  public:
    StreamConsumer(StreamHub& hub, std::shared_ptr<http::Socket> socket)
        : hub_(hub), socket_(std::move(socket)) {}

    void request(const std::string& text) {
        std::string error;
        const auto wish = parse_wish(text, error);
        if (!wish) {
            give_up(error);
            return;
        }
        const auto view = hub_.context_.runtime.published();
        wish_ = *wish;
        is_started_ = true;
        next_ = wish->from != 0 ? wish->from : limit(*view) + 1;
        last_id_.reset();
    }

    // Sends what there is, as far as the queue takes it.
    void pump() {
        if (!is_started_) return;
        const auto view = hub_.context_.runtime.published();
        for (int i = 0; i < kBlocksATurn; ++i) {
            if (!flush()) return;
            if (wish_.at_head && undo_if_replaced(*view)) continue;
            if (next_ > limit(*view)) {
                tell_final(*view);
                return;
            }
            if (!queue_block(*view)) return;
        }
        is_behind_ = true;
    }
    // Whether there was more to send than one turn allows.
    [[nodiscard]] bool take_behind() { return std::exchange(is_behind_, false); }

  private:
    [[nodiscard]] chain::Height limit(const Published& view) const {
        return (wish_.at_head ? view.head : view.finalized)->header.height;
    }

    // False: the queue is full.
    bool flush() {
        if (waiting_.empty()) return true;
        if (!socket_->send(waiting_, false)) return false;
        waiting_.clear();
        return true;
    }

    void give_up(const std::string& reason) {
        socket_->send(chain::abi::dump_json({{"type", "error"}, {"message", reason}}), false);
        socket_->close("see the last message");
        is_started_ = false;
    }

    // The last block sent is no longer part of the chain: steps back by one.
    bool undo_if_replaced(const Published& view) {
        if (!last_id_ || next_ < 2) return false;
        auto block = hub_.context_.history.find_block(view, next_ - 1);
        if (!block || (*block != nullptr && (*block)->id == *last_id_)) return false;
        // Pruned while the consumer was slow.
        if (*block == nullptr && next_ <= hub_.context_.history.earliest_block()) return false;
        --next_;
        waiting_ = chain::abi::dump_json({{"type", "undo"}, {"block_num", next_}});
        sent_.pop_back();
        last_id_ = sent_.empty() ? std::nullopt : std::optional(sent_.back());
        return true;
    }

    void tell_final(const Published& view) {
        const chain::Block& block = *view.finalized;
        if (block.header.height <= told_final_) return;
        told_final_ = block.header.height;
        waiting_ = chain::abi::dump_json({{"type", "final"},
                                          {"block_num", block.header.height},
                                          {"id", base::to_hex(block.id.view())}});
        flush();
    }

    // False: the consumer was given up.
    bool queue_block(const Published& view) {
        const ApiContext& context = hub_.context_;
        auto block = context.history.find_block(view, next_);
        if (!block || *block == nullptr) {
            give_up(block ? "block " + std::to_string(next_) + " is not stored any more"
                          : block.error().detail);
            return false;
        }
        const auto resolver = context.abis.resolver(view.head_state);
        Json out{{"type", "block"},
                 {"block_num", next_},
                 {"id", base::to_hex((*block)->id.view())},
                 {"final", next_ <= view.finalized->header.height},
                 {"block", api::block_to_json(**block, context.times(), resolver)}};
        if (wish_.traces && !add_traces(view, resolver, out)) return false;
        if (wish_.deltas && !add_deltas(view, resolver, out)) return false;
        waiting_ = chain::abi::dump_json(out);
        remember((*block)->id);
        ++next_;
        return true;
    }

    bool add_traces(const Published& view, const chain::abi::Resolver& resolver, Json& out) {
        auto traces = hub_.context_.history.find_traces(view, next_);
        if (!traces || !*traces) {
            give_up("traces of block " + std::to_string(next_) + " are not kept any more");
            return false;
        }
        Json list = Json::array();
        for (const chain::TransactionTrace& trace : **traces) {
            list.push_back(api::trace_to_json(trace, resolver, api::TraceForm::flat));
        }
        out["traces"] = std::move(list);
        return true;
    }

    bool add_deltas(const Published& view, const chain::abi::Resolver& resolver, Json& out) {
        StreamHub::Changes changes;
        for (const chain::ExecutedBlockPtr& each : view.reversible) {
            if (each->block->header.height == next_) changes = each->changes;
        }
        if (changes == nullptr) changes = hub_.find_recent(next_);
        if (changes == nullptr) {
            give_up("changes of block " + std::to_string(next_) +
                    " are not kept any more; they are for the newest blocks only");
            return false;
        }
        out["deltas"] = deltas_to_json(*changes, resolver);
        return true;
    }

    void remember(const chain::BlockId& id) {
        constexpr std::size_t kRememberedMax = 4096;  // More than can be reversible.
        last_id_ = id;
        sent_.push_back(id);
        if (sent_.size() > kRememberedMax) sent_.pop_front();
    }

    StreamHub& hub_;
    std::shared_ptr<http::Socket> socket_;
    Wish wish_;
    bool is_started_ = false;
    bool is_behind_ = false;
    chain::Height next_ = 0;
    chain::Height told_final_ = 0;
    std::optional<chain::BlockId> last_id_;
    std::deque<chain::BlockId> sent_;
    std::string waiting_;  // Made and not yet taken by the queue.
};

namespace {

// The HTTP threads' side of a consumer: hands everything to the worker.
class StreamSocket final : public http::SocketHandler {
  public:
    using Attach = std::function<std::shared_ptr<StreamConsumer>(std::shared_ptr<http::Socket>)>;

    StreamSocket(WorkerPool& worker, Attach attach, std::function<void()> pump)
        : worker_(worker), attach_(std::move(attach)), pump_(std::move(pump)) {}

    void opened(std::shared_ptr<http::Socket> socket) override {
        socket_ = socket;
        consumer_ = attach_(std::move(socket));
    }
    // One request: what comes in is not bounded otherwise.
    void message(std::string_view text) override {
        if (std::exchange(has_asked_, true)) {
            socket_->close("one request to a socket: open another for another");
            return;
        }
        worker_.post([consumer = consumer_, text = std::string(text)] { consumer->request(text); });
        pump_();
    }
    void drained() override { pump_(); }
    void closed() override {
        consumer_.reset();
        socket_.reset();
    }

  private:
    WorkerPool& worker_;
    Attach attach_;
    std::function<void()> pump_;
    std::shared_ptr<StreamConsumer> consumer_;
    std::shared_ptr<http::Socket> socket_;
    bool has_asked_ = false;
};

}  // namespace

StreamHub::StreamHub(const ApiContext& context) : context_(context), worker_(1) {}

StreamHub::~StreamHub() {
    stop();
}

void StreamHub::stop() {
    worker_.stop();
}

http::Upgrade StreamHub::upgrade() {
    return [this](const http::Request&) {
        return std::make_unique<StreamSocket>(
            worker_,
            [this](std::shared_ptr<http::Socket> socket) {
                auto consumer = std::make_shared<StreamConsumer>(*this, std::move(socket));
                add(consumer);
                return consumer;
            },
            [this] { pump_all(); });
    };
}

void StreamHub::add(const std::shared_ptr<StreamConsumer>& consumer) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(consumers_, [](const auto& each) { return each.expired(); });
    consumers_.push_back(consumer);
}

StreamHub::Changes StreamHub::find_recent(chain::Height height) const {
    const std::scoped_lock lock(mutex_);
    for (const auto& [each, changes] : recent_) {
        if (each == height) return changes;
    }
    return nullptr;
}

void StreamHub::on_published(const std::shared_ptr<const Published>&) {
    pump_all();
}

void StreamHub::on_finalized(const effect::Finalized& finalized) {
    const std::scoped_lock lock(mutex_);
    const chain::ExecutedBlock& block = *finalized.block;
    recent_.emplace_back(block.block->header.height, block.changes);
    recent_rows_ += block.changes->size();
    while (recent_.size() > kRecentMax || recent_rows_ > kRecentRowsMax) {
        recent_rows_ -= recent_.front().second->size();
        recent_.pop_front();
    }
}

// One turn for every consumer; posted again as long as somebody is behind.
void StreamHub::pump_all() {
    {
        const std::scoped_lock lock(mutex_);
        if (is_pump_posted_ || consumers_.empty()) return;
        is_pump_posted_ = true;
    }
    worker_.post([this] {
        std::vector<std::shared_ptr<StreamConsumer>> all;
        {
            const std::scoped_lock lock(mutex_);
            is_pump_posted_ = false;
            for (const auto& each : consumers_) {
                if (auto consumer = each.lock()) all.push_back(std::move(consumer));
            }
        }
        bool is_behind = false;
        for (const auto& consumer : all) {
            consumer->pump();
            is_behind = consumer->take_behind() || is_behind;
        }
        if (is_behind) pump_all();
    });
}

}  // namespace node
