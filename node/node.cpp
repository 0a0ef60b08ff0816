#include "node/node.hpp"

#include "base/check.hpp"
#include "genesis/join_line.hpp"
#include "node/broker_plugin.hpp"
#include "node/chain_api.hpp"
#include "node/compile_ahead.hpp"
#include "node/core/recovery_origin.hpp"
#include "node/findings_watch.hpp"
#include "node/ledger.hpp"
#include "node/machine/shared_programs.hpp"
#include "node/metrics.hpp"
#include "node/operator_api.hpp"
#include "node/option_names.hpp"
#include "node/page.hpp"
#include "node/peers.hpp"
#include "node/pruning_service.hpp"
#include "node/recovery.hpp"
#include "node/run_timer.hpp"
#include "node/snapshot_exchange.hpp"
#include "node/snapshot_service.hpp"
#include "node/snapshots/snapshot_load.hpp"
#include "node/stream.hpp"
#include "node/transaction_api.hpp"
#include "node/transports.hpp"
#include "transport/tcp/thread.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <unistd.h>
#include <utility>

namespace node {

namespace {

chain::StateManager::Options state_options(const base::Log& log) {
    chain::StateManager::Options state;
    // A read that fails looks like a row that is not there: nothing made with it may get out, so
    // the process ends here. It starts again on what is durable.
    state.on_fault = [log](const base::Error& error) {
        log.error("stopped: the state cannot be read: {}", error.detail);
        std::abort();
    };
    return state;
}

// Threads of dry runs (spec 10).
constexpr std::size_t kDryRunThreads = 2;

// What a thread of dry runs works with.
struct TimedExecution {
    explicit TimedExecution(SharedPrograms& programs)
        : execution(&programs), timer(execution.machine()) {}

    Execution execution;
    ThreadRunTimer timer;
};

// What the operator says of the chain's history: of `checkpoint` and `recover-from`.
base::Result<LoadOptions> load_options(const Options& options) {
    LoadOptions how;
    how.data_dir = options.data_dir;
    how.genesis_json = options.genesis_json;
    if (!options.checkpoint.empty()) {
        const auto read = genesis::checkpoint_from(options.checkpoint);
        if (!read) return base::fail(read.error());
        how.checkpoint = *read;
    }
    auto recoveries = confirmed_recoveries(options);
    if (!recoveries) return base::fail(recoveries.error());
    how.recoveries = *std::move(recoveries);
    return how;
}

// The option `snapshot`.
base::Result<void> load_at_start(const Options& options,
                                 const IsStopped& is_stopped,
                                 const base::Log& log) {
    auto read = load_options(options);
    if (!read) return base::fail(read.error());
    LoadOptions& how = *read;
    how.workers = options.chain_threads;
    how.is_stopped = is_stopped;
    how.show = [&log](const ChunkProgress& done) {
        log.info("loading chunks={}/{} bytes={}/{} ms={}",
                 done.chunks,
                 done.chunks_all,
                 done.bytes,
                 done.bytes_all,
                 done.passed.count());
    };
    const auto good = load_snapshot(options.snapshot, how);
    if (!good) return base::fail(good.error());
    log.info("loaded snapshot={} block={} rows={}",
             options.snapshot.string(),
             good->head.height,
             good->head.rows);
    const std::string age = describe(good->freshness);
    if (good->freshness.is_stale() || good->freshness.is_ahead()) {
        log.warn("snapshot={}: {}", options.snapshot.string(), age);
    } else {
        log.info("snapshot={}: {}", options.snapshot.string(), age);
    }
    return {};
}

}  // namespace

// In the order of construction; destroyed in the opposite one.
class Node::Parts {
  public:
    Parts(const Options& options_in,
          Logging& logging,
          Ledger ledger_in,
          std::optional<genesis::Recovery> recovery_in)
        : options(options_in),
          log_sink(logging),
          ledger(std::move(ledger_in)),
          recovery(std::move(recovery_in)),
          core_execution(&programs),
          core_timer(core_execution.machine()),
          history(*ledger.storage,
                  {ledger.genesis.chain_id(),
                   static_cast<std::uint32_t>(ledger.genesis.parameters.repetitions),
                   reset_of(recovery)}) {}

    base::Result<void> open();
    base::Result<void> start();
    void stop();
    base::Result<void> take_new_state();

    const Options options;
    Logging& log_sink;
    Ledger ledger;
    const std::optional<genesis::Recovery> recovery;  // That the operator confirms.
    SharedPrograms programs;
    Execution core_execution;
    ThreadRunTimer core_timer;
    std::vector<std::unique_ptr<TimedExecution>> dry_executions;
    History history;
    AbiCache abis;
    ProducerSettings settings;
    TransactionStatus status;
    std::unique_ptr<transport::tcp::Thread> transport;  // Messages of it may be in the runtime.
    std::unique_ptr<Transports> transports;             // Null: there are no peers.
    std::unique_ptr<Runtime> runtime;
    std::unique_ptr<ApiContext> context;
    std::unique_ptr<DryRun> dry_runs;
    std::unique_ptr<StreamHub> stream;
    std::unique_ptr<SnapshotService> snapshots;
    std::unique_ptr<SnapshotExchange> exchange;  // Null: there are no peers.
    std::unique_ptr<PruningService> pruning;
    std::unique_ptr<FindingsWatch> watch;
    std::unique_ptr<Metrics> metrics;
    std::unique_ptr<BrokerPlugin> broker;  // Null: this node has none.
    http::Router router;
    std::unique_ptr<Calls> calls;
    std::unique_ptr<http::Server> server;
    std::vector<http::Listen> listen;       // Its.
    std::vector<chain::Height> recoveries;  // From which blocks those begin that are confirmed.
    std::optional<base::crypto::PublicKey> node_key;  // Absent: there are no peers.
    std::vector<p2p::input::Dial> dials;
    p2p::input::ListsChanged lists;

    void read_lists_again();
    [[nodiscard]] genesis::Checkpoint own_final() const;

  private:
    [[nodiscard]] base::Log log(std::string_view module) const { return {log_sink, module}; }
    base::Result<void> open_core();
    base::Result<void> open_snapshots();
    base::Result<void> open_exchange();
    base::Result<void> open_pruning();
    base::Result<void> open_broker();
    [[nodiscard]] std::vector<std::string> http_addresses() const;
    // Of the broker; empty: this node has none.
    [[nodiscard]] std::function<bps::Figures()> broker_figures();
    [[nodiscard]] OwnStart own_start() const {
        const auto failures = ledger.signer->failures();
        return {options.producer_names, ledger.storage->losses(), failures, recovery, node_key};
    }
    void add_routes();
};

base::Result<void> Node::Parts::open_core() {
    if (auto opened = core_execution.open(); !opened) return opened;
    auto peers = read_peers(options);
    if (!peers) return base::fail(peers.error());
    if (peers->node_key) node_key = peers->node_key->public_key();
    dials = std::move(peers->dials);
    lists = std::move(peers->lists);
    Core::Options core_options;
    core_options.started = system_time();
    core_options.has_peers = options.has_peers();
    core_options.accept_amnesia = options.accept_amnesia;
    core_options.clock_bound = options.clock_bound;
    core_options.reset = reset_of(recovery);
    for (const std::string& producer : options.producer_names) {
        const auto name = chain::Name::from_string(producer);
        if (!name) return base::fail(base::Errc::invalid, "producer-name: " + name.error().detail);
        core_options.producers.push_back(*name);
    }
    if (recovery) {
        ledger.genesis.times.retimes = recovery->retimes;
        for (const chain::Retime& each : recovery->retimes)
            recoveries.push_back(chain::height_of(each.from));
        if (core_options.reset) recoveries.push_back(chain::height_of(core_options.reset->from));
    }
    core_options.genesis = ledger.genesis;
    core_options.pool_bytes_max = options.pool_bytes_max;
    core_options.max_transaction_time = options.max_transaction_time;
    core_options.failures_per_minute = options.failures_per_minute;
    chain::ExecutionOptions limits;
    const auto microseconds = options.max_transaction_time.count() * 1000;
    limits.max_cpu_us =
        static_cast<std::uint32_t>(std::min<std::int64_t>(microseconds, UINT32_MAX));
    limits.is_stopped = [this] { return core_timer.has_fired(); };
    Core::Environment environment{*ledger.storage,
                                  core_execution.executor(),
                                  *ledger.signer,
                                  limits,
                                  state_options(log("storage")),
                                  log("core")};
    environment.timer = &core_timer;
    Effects first;
    auto core = Core::open(core_options, environment, std::move(ledger.safety), first);
    if (!core) return base::fail(core.error());
    // Nothing is written yet. Later, and where the block is not known, its id has to do.
    const auto origin = recovery ? (*core)->state_of(recovery->reset.from) : nullptr;
    if (origin != nullptr) {
        if (auto same = check_origin(*recovery, *origin); !same) return same;
    }
    const auto newest = newest_recovery(recovery, *ledger.storage);
    if (!newest) return base::fail(newest.error());
    auto network = network_options(options, *peers, ledger, *newest);
    if (network) {
        network->takes_snapshots = true;
        network->begun_snapshot = SnapshotReceiver::begun_in(joining_in(options.data_dir));
    }
    const Runtime::Options how{.workers = options.chain_threads};
    runtime = std::make_unique<Runtime>(
        how,
        Runtime::Environment{*ledger.storage, ledger.journals, log("runtime")},
        ledger.genesis.chain_id(),
        std::make_unique<NetworkedCore>(
            std::move(*core), std::move(network), *ledger.signer, log("p2p")),
        std::move(first));
    if (!options.has_peers()) return {};
    const transport::tcp::Options tcp{.listen = options.p2p_listen_endpoints};
    transport =
        std::make_unique<transport::tcp::Thread>(tcp, *peers->node_key, *runtime, log("transport"));
    transports = std::make_unique<Transports>(options.transports, *transport, log("transport"));
    runtime->set_transport(*transport);
    return {};
}

base::Result<void> Node::Parts::open_snapshots() {
    SnapshotService::Options how;
    how.directory = options.data_dir / "snapshots";
    how.chain_id = ledger.genesis.chain_id();
    how.times = ledger.genesis.times;
    how.every = options.snapshot_every;
    how.keep = options.snapshot_keep;
    how.bytes_per_second = options.snapshot_rate_bytes;
    auto opened = SnapshotService::open(how, *ledger.storage, log("snapshot"));
    if (!opened) return base::fail(opened.error());
    snapshots = *std::move(opened);
    return {};
}

base::Result<void> Node::Parts::open_exchange() {
    if (!options.has_peers()) return {};
    const auto read = load_options(options);
    if (!read) return base::fail(read.error());
    const auto trust = trust_of(ledger.genesis, *read);
    if (!trust) return base::fail(trust.error());
    const SnapshotReceiver::Options how{.directory = joining_in(options.data_dir),
                                        .data_dir = options.data_dir,
                                        .trust = *trust,
                                        .workers = options.chain_threads,
                                        .times = ledger.genesis.times};
    SnapshotExchange::World world;
    world.tell = [this](p2p::Input said) { runtime->tell_peers(std::move(said)); };
    world.own_final = [this] { return own_final(); };
    world.next_state = [this] { return ledger.directory.next_state(); };
    world.made = [] { ::kill(::getpid(), SIGUSR1); };
    exchange =
        std::make_unique<SnapshotExchange>(snapshots->store(), how, std::move(world), log("join"));
    runtime->set_snapshots([this](p2p::Effect asked) { exchange->carry_out(std::move(asked)); });
    return {};
}

genesis::Checkpoint Node::Parts::own_final() const {
    const chain::BlockPtr block = runtime->published()->finalized;
    return {block->header.height, block->id};
}

// What became final since the state was made must be below the snapshot, too.
base::Result<void> Node::Parts::take_new_state() {
    const auto made = exchange->made();
    CHECK(made);
    StateBuild state(made->state, {});
    if (auto opened = state.open(); !opened) return opened;
    auto replaces = state.replace(*ledger.storage, own_final(), made->snapshot.height);
    if (!replaces) return replaces;
    if (auto closed = state.close(); !closed) return closed;
    state.keep();
    // The other nodes can have it from here at once.
    if (auto taken = exchange->take_over(*made); !taken) {
        log("join").warn("the snapshot is not kept: {}", taken.error().detail);
    }
    if (auto done = ledger.directory.switch_to(state.path()); !done) return done;
    log("join").info("begins with the snapshot of block={}", made->snapshot.height);
    return {};
}

base::Result<void> Node::Parts::open_pruning() {
    chain::PruningRules rules{.blocks = *chain::Retention::from_string(options.history),
                              .traces = *chain::Retention::from_string(options.trace_history),
                              .times = ledger.genesis.times,
                              .recoveries = std::move(recoveries)};
    PruningService::Environment environment;
    environment.snapshot = [this] { return snapshots->newest_at_rest(); };
    environment.on_planned = [this](chain::Height earliest) {
        runtime->set_earliest_block(earliest);
    };
    environment.on_pruned = [this](chain::Height earliest) {
        history.set_earliest_block(earliest);
    };
    auto opened =
        PruningService::open(*ledger.storage, rules, std::move(environment), log("history"));
    if (!opened) return base::fail(opened.error());
    pruning = *std::move(opened);
    return {};
}

base::Result<void> Node::Parts::open_broker() {
    if (!options.broker.is_on) return {};
    auto opened = BrokerPlugin::open(options.broker,
                                     {.runtime = *runtime,
                                      .chain = ledger.genesis.chain_id(),
                                      .times = ledger.genesis.times,
                                      .data_dir = options.data_dir,
                                      .node_key = node_key},
                                     log("bps"));
    if (!opened) return base::fail(opened.error());
    broker = *std::move(opened);
    runtime->add_plugin(*broker);
    return {};
}

void Node::Parts::read_lists_again() {
    if (options.p2p_access_file.empty()) return;
    auto read = read_lists(options.p2p_access_file.string());
    if (!read) {
        log("node").error("the lists stay as they were: {}", read.error().detail);
        return;
    }
    log("node").info("{}: {} nodes allowed, {} denied",
                     options.p2p_access_file.string(),
                     read->allow.size(),
                     read->deny.size());
    runtime->tell_peers(*std::move(read));
}

base::Result<void> Node::Parts::open() {
    if (auto opened = open_core(); !opened) return opened;
    const chain::ChainId chain_id = ledger.genesis.chain_id();
    context = std::make_unique<ApiContext>(ApiContext{*runtime,
                                                      history,
                                                      abis,
                                                      ledger.genesis,
                                                      chain_id,
                                                      options.http.verbose_errors,
                                                      options.http.response_time_max,
                                                      settings,
                                                      options.http.body_bytes_max});
    std::vector<DryRun::Lane> lanes;
    for (std::size_t i = 0; i < kDryRunThreads; ++i) {
        TimedExecution& each =
            *dry_executions.emplace_back(std::make_unique<TimedExecution>(programs));
        if (auto opened = each.execution.open(); !opened) return base::fail(opened.error());
        lanes.push_back({each.execution.executor(), each.timer});
    }
    dry_runs =
        std::make_unique<DryRun>(DryRun::Options{chain_id, ledger.genesis.times}, std::move(lanes));
    stream = std::make_unique<StreamHub>(*context);
    if (auto opened = open_snapshots(); !opened) return opened;
    if (auto opened = open_exchange(); !opened) return opened;
    if (auto opened = open_pruning(); !opened) return opened;
    watch = std::make_unique<FindingsWatch>(
        [this, own = own_start()] { return find_wrong(*context, own); }, log("watch"));
    metrics = std::make_unique<Metrics>(Metrics::Sources{*runtime,
                                                         *ledger.storage,
                                                         [this] { return server->counters(); },
                                                         transports.get(),
                                                         snapshots.get(),
                                                         pruning.get(),
                                                         broker_figures()});
    ProducerSettings::RuntimeOptions runtime_options;
    runtime_options.max_transaction_time =
        static_cast<std::int32_t>(options.max_transaction_time.count());
    settings.set_runtime_options(runtime_options);
    runtime->set_admission([this](const chain::DecodedTransaction& transaction) {
        return settings.admit(transaction);
    });
    runtime->add_plugin(status);
    runtime->add_plugin(*stream);
    runtime->add_plugin(*snapshots);
    runtime->add_plugin(*metrics);
    if (auto opened = open_broker(); !opened) return opened;
    calls = std::make_unique<Calls>(router, *context);
    add_routes();
    auto http = server_options(options.http, options.data_dir, options.p2p_server_address);
    if (!http) return base::fail(http.error());
    listen = http->listen;
    server = std::make_unique<http::Server>(*std::move(http), router, log("http"));
    return {};
}

// host:port where calls about the chain are answered over TCP.
std::vector<std::string> Node::Parts::http_addresses() const {
    const std::vector<std::string> bound = server->addresses();
    std::vector<std::string> all;
    for (std::size_t i = 0; i < std::min(listen.size(), bound.size()); ++i) {
        const bool has_chain =
            listen[i].categories.empty() || listen[i].categories.contains("chain_ro");
        if (!listen[i].is_unix && has_chain) all.push_back(bound[i]);
    }
    return all;
}

std::function<bps::Figures()> Node::Parts::broker_figures() {
    if (!options.broker.is_on) return {};
    return [this] { return broker->figures(); };
}

void Node::Parts::add_routes() {
    add_chain_info_calls(*calls);
    add_chain_block_calls(*calls);
    add_chain_account_calls(*calls);
    add_chain_code_calls(*calls);
    add_chain_table_calls(*calls);
    add_chain_currency_calls(*calls);
    add_chain_key_calls(*calls);
    add_push_calls(*calls);
    add_dry_run_calls(*calls, *dry_runs);
    add_status_call(*calls, status);
    add_bor_calls(*calls);
    add_finality_calls(*calls, own_start());
    add_validator_calls(*calls);
    add_recovery_calls(*calls);
    add_proof_calls(*calls);
    add_peer_calls(*calls, transports.get());
    add_join_call(*calls,
                  {node_key,
                   listen_address(options),
                   [this] { return http_addresses(); },
                   snapshots->store()});
    add_broker_call(*calls, broker_figures());
    if (options.serves_plugin("net_api_plugin")) add_net_calls(*calls);
    router.add_socket("/v1/bor/stream", "chain_ro", stream->upgrade());
    add_page(router);
    if (options.serves_plugin("producer_api_plugin")) {
        add_producer_calls(*calls, settings);
        add_snapshot_calls(*calls, *snapshots);
    }
    if (options.serves_plugin("trace_api_plugin")) add_trace_calls(*calls);
    if (options.serves_plugin("db_size_api_plugin")) add_db_size_call(*calls, *ledger.storage);
    if (options.serves_plugin("prometheus_plugin")) metrics->add_route(router);
    add_node_call(*calls);
}

base::Result<void> Node::Parts::start() {
    snapshots->start();
    runtime->start();
    pruning->start();
    watch->start();
    compile_ahead(*dry_runs, runtime->published(), history, programs);
    if (options.pause_on_startup) runtime->set_paused(true);
    if (transport != nullptr) {
        runtime->tell_peers(lists);
        exchange->start(own_final().height);
        if (auto started = transport->start(); !started) return started;
        for (p2p::input::Dial& dial : std::exchange(dials, {}))
            runtime->tell_peers(std::move(dial));
    }
    if (broker != nullptr) {
        if (auto started = broker->start(); !started) return started;
    }
    return server->start();
}

// From the outside inwards: nobody asks, nothing runs, the disk has it all.
void Node::Parts::stop() {
    snapshots->stop();  // Somebody may wait for one.
    pruning->stop();
    watch->stop();
    server->stop();
    if (broker != nullptr) broker->stop();
    if (exchange != nullptr) exchange->stop();
    runtime->stop();
    if (transport != nullptr) transport->stop();
    stream->stop();
    dry_runs->stop();
}

Node::Node(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Node::~Node() {
    stop();
}

base::Result<std::unique_ptr<Node>> Node::open(const Options& options,
                                               Logging& log,
                                               const std::function<bool()>& is_stopped) {
    const base::Log node_log(log, "node");
    if (!options.snapshot.empty()) {
        auto loaded = load_at_start(options, is_stopped, node_log);
        if (!loaded) return base::fail(loaded.error());
    }
    auto ledger = open_ledger(options, node_log);
    if (!ledger) return base::fail(ledger.error());
    auto recovery = read_recovery(options, ledger->genesis.chain_id());
    if (!recovery) return base::fail(recovery.error());
    tell_recovery(options, *recovery, node_log);
    auto parts = std::make_unique<Parts>(options, log, std::move(*ledger), *std::move(recovery));
    if (auto opened = parts->open(); !opened) return base::fail(opened.error());
    return std::unique_ptr<Node>(new Node(std::move(parts)));
}

base::Result<void> Node::start() {
    return parts_->start();
}

void Node::reload() {
    parts_->read_lists_again();
}

void Node::stop() {
    parts_->stop();
}

bool Node::has_new_state() const {
    return parts_->exchange != nullptr && parts_->exchange->made().has_value();
}

base::Result<void> Node::take_new_state() {
    return parts_->take_new_state();
}

std::vector<std::string> Node::addresses() const {
    std::vector<std::string> all = parts_->server->addresses();
    if (parts_->broker != nullptr) {
        for (const std::string& each : parts_->broker->addresses())
            all.push_back(each + " (Kafka)");
    }
    return all;
}

}  // namespace node
