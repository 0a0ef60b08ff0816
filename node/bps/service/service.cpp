#include "node/bps/service/service.hpp"

#include "base/check.hpp"
#include "base/crypto/wipe.hpp"
#include "chain/types/block.hpp"
#include "node/bps/core/actions.hpp"
#include "node/bps/core/duties.hpp"
#include "node/bps/disk/disk_space.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <pthread.h>
#include <ranges>
#include <unistd.h>
#include <utility>

namespace bps {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int kNice = 10;  // Finality comes first (spec 08).
constexpr std::int64_t kExpireEveryMs = 60'000;
constexpr std::int64_t kLookEveryMs = 1'000;
constexpr std::size_t kReasonsMax = 4;
// Of a turn, for clients' sockets: as long as requests have, so that a tenant with many of them
// cannot keep others from being read.
constexpr std::chrono::milliseconds kSocketsTurn{10};
// For the answers of what is asked when the broker stops.
constexpr std::chrono::milliseconds kGrace{1'000};
// The ticket of our own start; those of the broker's calls begin at 1.
constexpr std::uint64_t kStartTicket = 0;

std::uint64_t seed() {
    std::array<std::byte, 8> bytes{};
    base::crypto::random_bytes(bytes);
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
}

}  // namespace

Service::Service(Options options, Node node, base::Log log)
    : options_(std::move(options)),
      node_(std::move(node)),
      log_(log),
      rng_(seed()),
      rights_(options_.rights),
      broker_({.rights = rights_,
               .directory = directory_,
               .quotas = quotas_,
               .opener = codecs_,
               .rng = rng_},
              options_.groups,
              options_.cluster_id),
      calls_(options_.chain, options_.key),
      judge_{.chain = options_.chain.chain, .rights = rights_, .permissions = node_.permissions} {}

base::Result<std::unique_ptr<Service>> Service::open(Options options, Node node, base::Log log) {
    std::unique_ptr<Service> made(new Service(std::move(options), std::move(node), log));
    Service& self = *made;
    const Options& with = self.options_;
    auto start = BrokerStart::open({.directory = with.directory,
                                    .broker = with.rights.broker,
                                    .account = with.rights.broker_account,
                                    .node_key = with.node_key,
                                    .listeners = with.listeners},
                                   log);
    if (!start) return base::fail(start.error());
    self.start_ = *std::move(start);
    self.syncer_ = std::make_unique<LogSyncer>(
        [&self](LogSyncer::Failed failed) { self.post(Synced{std::move(failed)}); });
    auto list = PartitionList::open(with.directory, with.chain.chain);
    if (!list) return base::fail(list.error());
    self.partitions_ =
        std::make_unique<LocalPartitions>(with.rights.broker,
                                          *std::move(list),
                                          LocalPartitions::World{.broker = self.broker_,
                                                                 .rights = self.rights_,
                                                                 .rows = self.directory_,
                                                                 .files = self.files_,
                                                                 .syncer = *self.syncer_},
                                          log);
    self.partitions_->take_over();
    self.listener_ =
        std::make_unique<KafkaListener>(self.context_, with.listener, *self.partitions_, log);
    self.counted_.broker = with.rights.broker;
    self.gateway_ = std::make_unique<Gateway>(with.gateway,
                                              Gateway::World{.broker = self.broker_,
                                                             .listener = *self.listener_,
                                                             .judge = self.judge_,
                                                             .quotas = self.quotas_});
    return made;
}

// NOLINTNEXTLINE(bugprone-exception-escape): no memory to stop ends the process.
Service::~Service() {
    stop();
}

base::Result<void> Service::start() {
    if (auto bound = listener_->start(); !bound) return bound;
    counted_.addresses = listener_->addresses();
    published_ = counted_;
    thread_ = std::thread([this] { run(); });
    return {};
}

void Service::stop() {
    if (!thread_.joinable()) return;
    {
        const std::scoped_lock lock(mutex_);
        is_stopping_ = true;
    }
    wake();
    thread_.join();
    syncer_->stop();
}

void Service::on_final(FinalRows rows) {
    post(std::move(rows));
}

void Service::post(Input input) {
    {
        const std::scoped_lock lock(mutex_);
        inputs_.push_back(std::move(input));
    }
    wake();
}

void Service::wake() {
    {
        const std::scoped_lock lock(mutex_);
        if (std::exchange(is_woken_, true)) return;
    }
    asio::post(context_, [] {});
}

// --- The broker's thread --------------------------------------------------------------------

// Never falls. Where the system's clock was set back it goes on at half its pace until that has
// come up: else whoever waits would wait for as long.
std::int64_t Service::now() {
    using std::chrono::duration_cast;
    using std::chrono::milliseconds;
    const auto steady = Clock::now();
    const std::int64_t shown =
        duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    if (shown >= now_) {
        now_ = shown;
        ahead_.reset();
    } else {
        if (!ahead_) ahead_ = Ahead{.since = steady, .from = now_};
        now_ = ahead_->from + duration_cast<milliseconds>(steady - ahead_->since).count() / 2;
    }
    rights_.set_ahead(now_ - shown);
    return now_;
}

void Service::go_on_with_sockets(bool has_more) {
    std::int64_t until = now_ + kLookEveryMs;
    for (const auto next : {broker_.next_time(), gateway_->next_time()})
        until = std::min(until, next.value_or(until));
    if (broker_.is_expiring()) {
        const auto rest = expire_rests_until_ - Clock::now();
        until = std::min(until, now_ + ceil<std::chrono::milliseconds>(rest).count());
    }
    const std::int64_t time = has_more ? 0 : std::max<std::int64_t>(until - now(), 0);
    if (time > 0 && !listener_->has_more()) {
        context_.run_one_for(std::chrono::milliseconds(time));
    }
    const auto end = Clock::now() + kSocketsTurn;
    while (context_.poll_one() > 0 && Clock::now() < end) {
    }
}

std::vector<Service::Input> Service::take_inputs() {
    const std::scoped_lock lock(mutex_);
    is_woken_ = false;
    return std::exchange(inputs_, {});
}

bool Service::has_ended() {
    {
        const std::scoped_lock lock(mutex_);
        if (!is_stopping_) return false;
    }
    if (!std::exchange(has_stopped_listening_, true)) listener_->stop(kGrace);
    return listener_->has_ended();
}

void Service::run() {
    ::pthread_setname_np(::pthread_self(), "bor-bps");
    (void)::setpriority(PRIO_PROCESS, static_cast<::id_t>(::gettid()), kNice);
    Effects effects;
    FinalRows all = node_.all_rows();
    take(all, effects);
    carry_out(effects);
    bool has_more = true;
    while (!has_ended()) {
        go_on_with_sockets(has_more);
        for (Input& input : take_inputs())
            take(input, effects);
        const bool has_requests = gateway_->deliver(now(), effects);
        on_time(effects);
        const bool makes_more = partitions_->make_some(now(), effects);
        carry_out(effects);
        has_more = tidy(effects) || has_requests || makes_more;
    }
}

// Once the answers of a turn are sent: they name places in files.
bool Service::tidy(Effects& out) {
    const std::int64_t time = now();
    if (time >= expire_at_) {
        expire_at_ = time + kExpireEveryMs;
        broker_.begin_expiring(time, out);
        carry_out(out);
    }
    // A slow disk must not make all wait for retention: it has a quarter of the time.
    if (const auto began = Clock::now(); broker_.is_expiring() && began >= expire_rests_until_) {
        for (const base::Error& error : broker_.expire(time, out))
            log_.error("{}", error.detail);
        carry_out(out);
        const auto end = Clock::now();
        expire_rests_until_ = end + 3 * (end - began);
    }
    const auto more = broker_.compact(now(), out);
    if (!more) log_.error("{}", more.error().detail);
    carry_out(out);
    return more.value_or(false);
}

void Service::take(Input& input, Effects& out) {
    std::visit([&](auto& each) { take(each, out); }, input);
}

void Service::take(FinalRows& rows, Effects& out) {
    const std::uint32_t height = chain::height_of(rows.block);
    if (height <= height_) return;  // It is in the rows that were read at the start.
    height_ = height;
    std::set<PartitionId> changed;
    apply(rows, changed, out);
    rights_.on_final(height, rows.time);
    counted_.rows_time = rows.time;
    const auto ended = calls_.on_final(rows);
    step_start(changed);
    partitions_->update(now(), changed, out);
    for (const ChainCalls::Outcome& outcome : ended)
        tell(outcome, out);
    if (start_->boot()) broker_.on_final(now(), out);
}

base::Result<void> Service::feed(const RowId& id, std::optional<base::ByteView> value) {
    auto read = rights_.apply(id, value);
    if (read) read = directory_.apply(id, value);
    if (read) read = quotas_.apply(id, value);
    return read;
}

void Service::apply(const FinalRows& rows, std::set<PartitionId>& changed, Effects& out) {
    for (const FinalRows::Change& change : rows.changes) {
        std::optional<base::ByteView> value;
        if (change.value) value = base::ByteView(*change.value);
        const auto read = feed(change.id, value);
        if (!read) {
            log_.error("a row of the contract is passed over: {}", read.error().detail);
            has_unread_rows_ = true;
        }
        if (change.id.table == rows::Partition::kTable) {
            const PartitionId id = PartitionId::of(change.id.key);
            changed.insert(id);
            if (value) known_.insert(id);
        } else if (change.id.table == rows::Topic::kTable) {
            const auto topic = static_cast<TopicId>(change.id.key);
            add_topic(topic, changed);
            if (!value) broker_.on_topic_deleted(now(), topic, out);
            const rows::Topic* row = rights_.find_topic(topic);
            if (row != nullptr && row->name == kOffsetsTopic) {
                broker_.set_offsets_topic(topic, static_cast<std::int32_t>(row->partitions));
            }
        }
    }
    std::erase_if(known_,
                  [this](PartitionId id) { return directory_.find_partition(id) == nullptr; });
}

void Service::add_topic(std::uint32_t topic, std::set<PartitionId>& changed) const {
    for (auto at = known_.lower_bound({topic, 0}); at != known_.end() && at->topic == topic; ++at)
        changed.insert(*at);
}

void Service::step_start(std::set<PartitionId>& changed) {
    auto step = start_->on_final(now(), directory_);
    if (!step) {
        log_.error("the broker does not start: {}", step.error().detail);
        return;
    }
    if (step->regbroker) {
        Effects none;
        push(kStartTicket, actions::RegBroker::kName, *std::move(step->regbroker), none);
    }
    if (!step->has_started && !step->has_ended) return;
    partitions_->set_boot(start_->boot());
    // A partition without a row may be in a row that could not be read.
    if (step->has_started && !has_unread_rows_) partitions_->find_deleted();
    changed.insert(known_.begin(), known_.end());
}

void Service::take(Synced& synced, Effects& out) {
    const auto took = Clock::now() - sync_began_;
    ++counted_.syncs;
    counted_.sync_microseconds += static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(took).count());
    std::vector<LogId> failed;
    for (const auto& [log, error] : synced.failed) {
        log_.error("{}", error.detail);
        failed.push_back(log);
    }
    broker_.on_synced(now(), failed, out);
}

void Service::take(const Refused& refused, Effects& out) {
    if (calls_.has(refused.ticket)) tell(calls_.on_refused(refused.ticket, refused.reason), out);
}

void Service::on_time(Effects& out) {
    const std::int64_t time = now();
    broker_.on_time(time, out);
    if (time >= looked_at_ + kLookEveryMs) {
        looked_at_ = time;
        const auto left = free_percent(options_.directory);
        counted_.is_disk_low = !left || *left < kFreePercentMin;
        broker_.set_disk_low(counted_.is_disk_low);
        gateway_->end_sessions(time);
        publish_figures();
    }
}

void Service::publish_figures() {
    Figures& now = counted_;
    now.taken = broker_.partitions().taken;
    now.sent_bytes = gateway_->sent_bytes();
    now.throttled = gateway_->throttled();
    now.answered = gateway_->answered();
    now.partitions = broker_.partitions().all.size();
    now.led = 0;
    now.log_bytes = 0;
    for (const auto& [id, partition] : broker_.partitions().all) {
        if (partition->leads()) ++now.led;
        now.log_bytes += partition->log().bytes();
    }
    now.unserved = partitions_->unserved().size();
    now.reasons.clear();
    for (const auto& [id, reason] : partitions_->unserved() | std::views::take(kReasonsMax))
        now.reasons.push_back(reason);
    now.connections = gateway_->connections();
    now.groups = broker_.groups().all().size();
    now.boot = start_->boot();
    now.trouble = trouble();
    const std::scoped_lock lock(mutex_);
    published_ = now;
}

// Without blocks that become final nobody knows whose rights are taken away meanwhile.
std::string Service::trouble() {
    const std::int64_t age = rights_.age(now_);
    const bool is_stale = start_->boot().has_value() && age > Rights::kMaxStaleMs;
    if (std::exchange(is_stale_, is_stale) != is_stale) {
        if (is_stale) {
            log_.warn("topics are served to nobody: the last final block is {} s old", age / 1'000);
        } else {
            log_.info("topics are served again: blocks become final");
        }
    }
    if (!is_stale) return start_->trouble();
    return fmt::format(
        "the last final block is {} s old, and rights of {} s ago are not relied on; "
        "it goes on once blocks become final again (a topic may say otherwise by "
        "bor.max.stale.ms)",
        age / 1'000,
        Rights::kMaxStaleMs / 1'000);
}

Figures Service::figures() {
    const std::scoped_lock lock(mutex_);
    return published_;
}

// Calls that are refused at once are answered in the same turn.
void Service::carry_out(Effects& effects) {
    while (!effects.calls.empty()) {
        const std::vector<ChainCall> calls = std::exchange(effects.calls, {});
        for (const ChainCall& call : calls)
            push(call.ticket, call.action, call.data, effects);
    }
    broker_.begin_sync(now(), effects);
    if (effects.sync) {
        sync_began_ = Clock::now();
        syncer_->start(*std::exchange(effects.sync, std::nullopt));
    }
    gateway_->send(now(), effects.replies);
}

void Service::push(std::uint64_t ticket, chain::Name action, base::Bytes data, Effects& out) {
    auto transaction = calls_.begin(rights_.local(now()), ticket, action, std::move(data));
    if (!transaction) return tell({ticket, base::fail(transaction.error())}, out);
    auto submitted =
        node_.submit(*std::move(transaction), [this, ticket](base::Result<void> answer) {
            if (!answer) post(Refused{ticket, std::move(answer).error()});
        });
    if (!submitted) tell(calls_.on_refused(ticket, submitted.error()), out);
}

void Service::tell(const ChainCalls::Outcome& outcome, Effects& out) {
    if (outcome.ticket == kStartTicket) {
        if (!outcome.result) start_->on_refused(now(), outcome.result.error().detail);
        return;
    }
    if (outcome.result) return broker_.on_called(outcome.ticket, {}, out);
    // The contract's own text says what to do; anything else may be better when it is tried again.
    const bool is_refused = outcome.result.error().code == base::Errc::invalid;
    broker_.on_called(
        outcome.ticket,
        refuse(is_refused ? ErrorCode::policy_violation : ErrorCode::request_timed_out,
               outcome.result.error().detail),
        out);
}

}  // namespace bps
