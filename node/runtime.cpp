#include "node/runtime.hpp"

#include "node/core/range_proof.hpp"
#include "p2p/access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

namespace node {

namespace {

template <class... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};
// clang 16 does not deduce it for aggregates.
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

constexpr std::size_t kJoinedChangesMax = 1000;
// How long what nobody waits for may lie, to be joined: less than an orderly answer takes.
constexpr auto kJoinFor = std::chrono::milliseconds(5);

// A batch that nobody waits for, and nothing else.
bool is_plain(const effect::Write& write) {
    return write.ticket == 0 && write.pages.empty() && write.final_state == nullptr;
}

// A smaller difference is the work of NTP: nobody has set the clock.
constexpr base::Duration kClockStepMin = std::chrono::milliseconds(1);
// The core thread looks at the clock so often, also without inputs: a set clock may begin a slot.
constexpr base::Duration kLooksAtClock = std::chrono::seconds(1);
// Readings of two clocks are of one moment if they took less than this.
constexpr base::Duration kAtOnce = std::chrono::microseconds(100);

}  // namespace

base::Timestamp system_time() {
    return base::Timestamp(std::chrono::duration_cast<base::Duration>(
        std::chrono::system_clock::now().time_since_epoch()));
}

base::Timestamp steady_time() {
    return base::Timestamp(std::chrono::steady_clock::now().time_since_epoch());
}

Runtime::Runtime(const Options& options,
                 const Environment& environment,
                 const chain::ChainId& chain,
                 std::unique_ptr<NetworkedCore> core,
                 Effects first)
    : options_(options),
      environment_(environment),
      core_(std::move(core)),
      first_(std::move(first)),
      recovery_(chain),
      workers_(options.workers),
      outgoing_(std::make_shared<Outgoing>([this] { post(TakeWritten{}); })),
      began_at_(system_time()),
      began_steady_(steady_time()) {}

Runtime::~Runtime() {
    stop();
}

void Runtime::start() {
    // The first view must be there before anybody asks, hence in this thread.
    disk_thread_ = std::thread([this] { run_disk(); });
    Effects effects;
    core_->begin(core_time(), std::move(first_), effects);
    carry_out(effects);
    core_thread_ = std::thread([this] { run_core(); });
}

void Runtime::stop() {
    if (closed_.exchange(true)) return;
    {
        const std::scoped_lock lock(input_mutex_);
        stopping_ = true;
    }
    input_ready_.notify_all();
    if (core_thread_.joinable()) core_thread_.join();
    outgoing_->end();
    {
        const std::scoped_lock lock(input_mutex_);
        urgent_.clear();
        bulk_.clear();
    }
    {
        const std::scoped_lock lock(disk_mutex_);
        disk_stopping_ = true;
    }
    disk_ready_.notify_all();
    if (disk_thread_.joinable()) disk_thread_.join();
    std::map<Ticket, Answered> left;
    {
        const std::scoped_lock lock(answer_mutex_);
        left.swap(answered_);
    }
    for (auto& [ticket, answered] : left) {
        answered({ticket, base::fail(base::Errc::unavailable, "the node stops"), nullptr});
    }
    workers_.stop();
}

std::shared_ptr<const Published> Runtime::published() const {
    const std::scoped_lock lock(view_mutex_);
    return view_;
}

std::shared_ptr<const Published> Runtime::published_with_pending() {
    constexpr auto kPatience = std::chrono::milliseconds(200);
    const std::uint64_t wanted = executed_answered_;
    const auto is_shown = [&] { return view_->pending_count >= wanted; };
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    std::unique_lock lock(view_mutex_);
    while (!is_shown()) {
        // Many may ask at once; one copy serves them all. A view that was published right after
        // that copy hides it: then it is asked for again.
        if (!pending_asked_.exchange(true)) post(Input(input::ShowPending{}));
        if (view_ready_.wait_until(lock, deadline) == std::cv_status::timeout) break;
    }
    return view_;
}

base::Result<void> Runtime::submit(chain::PackedTransaction transaction,
                                   const std::string& sender,
                                   Answered answered) {
    if (closed_) return base::fail(base::Errc::unavailable, "the node stops");
    std::size_t writes = 0;
    {
        const std::scoped_lock lock(disk_mutex_);
        writes = writes_.size();
    }
    Ticket ticket = 0;
    {
        const std::scoped_lock lock(answer_mutex_);
        if (answered_.size() >= options_.in_flight_max || writes >= options_.disk_queue_max) {
            return base::fail(base::Errc::would_block,
                              "too many transactions are under way; send again later");
        }
        ticket = ++last_ticket_;
        answered_.emplace(ticket, std::move(answered));
    }
    ++submitted_;
    workers_.post([this, ticket, sender, transaction = std::move(transaction)]() mutable {
        prepare(ticket, std::move(transaction), sender);
    });
    return {};
}

// On a worker: everything that needs no state.
void Runtime::prepare(Ticket ticket, chain::PackedTransaction packed, const std::string& sender) {
    auto decoded = chain::decode_transaction(std::move(packed));
    if (!decoded) return refuse(ticket, decoded.error());
    if (admission_) {
        if (auto admitted = admission_(**decoded); !admitted) {
            return refuse(ticket, admitted.error());
        }
    }
    auto keys = recovery_.keys_of(**decoded);
    if (!keys) return refuse(ticket, keys.error());
    post(Input(input::Submit{ticket, std::move(*decoded), std::move(*keys), sender}));
}

void Runtime::refuse(Ticket ticket, base::Error error) {
    ++refused_;
    if (auto answered = take_answered(ticket)) {
        (*answered)({ticket, base::fail(std::move(error)), nullptr});
    }
}

std::optional<Runtime::Answered> Runtime::take_answered(Ticket ticket) {
    const std::scoped_lock lock(answer_mutex_);
    const auto found = answered_.find(ticket);
    if (found == answered_.end()) return std::nullopt;
    Answered answered = std::move(found->second);
    answered_.erase(found);
    return answered;
}

void Runtime::set_paused(bool paused) {
    constexpr auto kPatience = std::chrono::seconds(5);
    post(Input(input::SetPaused{paused}));
    // Who asks next is told so: each such input publishes a view.
    std::unique_lock lock(view_mutex_);
    view_ready_.wait_for(lock, kPatience, [&] { return view_->paused == paused; });
}

void Runtime::tell_peers(p2p::Input said) {
    post(std::move(said));
}

std::shared_ptr<const p2p::Status> Runtime::peers() const {
    const std::scoped_lock lock(view_mutex_);
    return peers_;
}

// What the conversation would say to a caller without a place, said before it hears of the caller.
transport::Verdict Runtime::admit(const transport::PeerKey& peer, bool outbound) {
    const auto known = peers();
    if (outbound || known == nullptr || known->door == nullptr) return {.is_allowed = true};
    const auto away = known->door->refusal(peer);
    if (!away) return {.is_allowed = true};
    return {.text = fmt::format("{}: {}", p2p::to_string(away->reason), away->text)};
}

void Runtime::on_events(std::vector<transport::Event>& events) {
    for (transport::Event& event : events)
        post(std::move(event));
    events.clear();
}

// Nobody waits a slot for them, and there may be many.
bool Runtime::is_bulk(const Item& item) {
    constexpr transport::Priority kTransactions = 4;
    if (const auto* input = std::get_if<Input>(&item)) {
        return std::holds_alternative<input::Submit>(*input);
    }
    if (const auto* event = std::get_if<transport::Event>(&item)) {
        const auto* received = std::get_if<transport::event::Received>(event);
        return received != nullptr && received->message.priority >= kTransactions;
    }
    return false;
}

void Runtime::post(Item item) {
    {
        const std::scoped_lock lock(input_mutex_);
        if (stopping_) return;
        if (is_bulk(item)) {
            bulk_.push_back(std::move(item));
        } else {
            urgent_.push(std::move(item));
        }
    }
    input_ready_.notify_one();
}

void Runtime::run_core() {
    name_this_thread("bor-core");
    std::unique_lock lock(input_mutex_);
    while (!stopping_) {
        const auto is_due = [this] { return stopping_ || !urgent_.empty() || !bulk_.empty(); };
        base::Timestamp due = steady_time() + kLooksAtClock;
        if (!wake_times_.empty()) {
            due = std::min(due, began_steady_ + (wake_times_.front() - began_at_));
        }
        input_ready_.wait_until(
            lock, std::chrono::steady_clock::time_point(due.time_since_epoch()), is_due);
        if (stopping_) break;
        // One input at a time and the clock between: a slot's block is closed when it begins,
        // however many transactions wait.
        std::optional<Item> item;
        if (!urgent_.empty()) {
            item = urgent_.take();
        } else if (!bulk_.empty()) {
            item = std::move(bulk_.front());
            bulk_.pop_front();
        }
        lock.unlock();
        look_at_clock();
        if (!wake_times_.empty() && wake_times_.front() <= core_time()) {
            wake_times_.erase(wake_times_.begin(),
                              std::ranges::upper_bound(wake_times_, core_time()));
            Item tick = Input(input::Tick{});
            step(tick);
        }
        if (item) step(*item);
        item.reset();
        lock.lock();
    }
    lock.unlock();
    // Peers are told why, so that they know it is no fault.
    Item goodbye = p2p::Input(p2p::input::Stop{});
    step(goodbye);
}

void Runtime::wake_at(base::Timestamp time) {
    const auto at = std::ranges::lower_bound(wake_times_, time);
    if (at == wake_times_.end() || *at != time) wake_times_.insert(at, time);
}

base::Timestamp Runtime::core_time() const {
    return began_at_ + (steady_time() - began_steady_);
}

// A moment in which the machine did something else between the two readings says nothing.
void Runtime::look_at_clock() {
    const base::Timestamp before = steady_time();
    const base::Timestamp clock = system_time();
    const base::Timestamp after = steady_time();
    if (after - before > kAtOnce) return;
    const base::Duration ahead = (clock - began_at_) - (after - began_steady_);
    if (std::chrono::abs(ahead - clock_ahead_) < kClockStepMin) return;
    clock_ahead_ = ahead;
    Item set = Input(input::ClockSet{ahead});
    step(set);
}

void Runtime::step(Item& item) {
    Effects& effects = effects_;
    if (const auto* input = std::get_if<Input>(&item)) {
        // Whoever executes something after this asks again.
        if (std::holds_alternative<input::ShowPending>(*input)) pending_asked_ = false;
        core_->step(core_time(), *input, effects);
    } else if (auto* said = std::get_if<p2p::Input>(&item)) {
        core_->step(core_time(), std::move(*said), effects);
    } else if (auto* event = std::get_if<transport::Event>(&item)) {
        step(*event, effects);
    } else {
        outgoing_->take(written_);
        for (const auto& [channel, bytes] : written_) {
            core_->step(core_time(), p2p::input::Written{channel, bytes}, effects);
        }
    }
    carry_out(effects);
    effects.clear();
}

void Runtime::step(transport::Event& event, Effects& effects) {
    namespace of = transport::event;
    namespace said = p2p::input;
    if (auto* received = std::get_if<of::Received>(&event)) {
        const base::ByteView bytes = received->message.bytes.contiguous(scratch_);
        core_->step(core_time(), said::Message{received->channel, bytes}, effects);
    } else if (auto* up = std::get_if<of::Up>(&event)) {
        core_->step(
            core_time(),
            said::ChannelUp{up->channel, up->peer, up->address, up->outbound, up->binding, {}},
            effects);
    } else if (auto* down = std::get_if<of::Down>(&event)) {
        core_->step(core_time(), said::ChannelDown{down->channel, down->info.text}, effects);
    } else if (auto* failed = std::get_if<of::ConnectFailed>(&event)) {
        core_->step(core_time(), said::ConnectFailed{failed->address, failed->info.text}, effects);
    } else if (auto* refused = std::get_if<of::Refused>(&event)) {
        // p2p sends no more than a channel takes; a peer that lost a message is lost.
        commands_.emplace_back(
            transport::command::Close{refused->channel, "does not take what it is sent"});
        transport_->post(commands_);
    }
}

void Runtime::carry_out(Effects& effects) {
    for (Effect& each : effects) {
        std::visit(Overloaded{[&](effect::Write& write) { carry_out(write); },
                              [&](effect::Answer& answer) { carry_out(answer); },
                              [&](effect::Publish& publish) { carry_out(publish); },
                              [&](effect::WakeAt& wake) { wake_at(wake.time); },
                              [&](effect::Recover& recover) { carry_out(std::move(recover)); },
                              [&](effect::ReadBlocks& read) { carry_out(std::move(read)); },
                              [&](effect::CheckStored& check) { carry_out(std::move(check)); },
                              [&](effect::ToTransport& asked) { carry_out(asked); },
                              [&](effect::ToSnapshots& to) { snapshots_(std::move(to.asked)); },
                              [&](effect::ToPeers&) {},  // NetworkedCore took them.
                              [&](effect::PublishPeers& publish) {
                                  const std::scoped_lock lock(view_mutex_);
                                  peers_ = std::move(publish.status);
                              },
                              [&](effect::Accused& accused) {
                                  environment_.log.error(
                                      "a validator broke a rule evidence={}",
                                      base::to_hex(chain::pack(accused.evidence)));
                              },
                              [&](effect::Pending& pending) {
                                  ++executed_;
                                  for (Plugin* plugin : plugins_)
                                      plugin->on_pending(pending);
                              },
                              [&](effect::Accepted& accepted) {
                                  for (Plugin* plugin : plugins_)
                                      plugin->on_accepted(accepted);
                              },
                              [&](effect::Finalized& finalized) {
                                  for (Plugin* plugin : plugins_)
                                      plugin->on_finalized(finalized);
                              },
                              [&](effect::Dropped& dropped) {
                                  for (Plugin* plugin : plugins_)
                                      plugin->on_dropped(dropped);
                              }},
                   each);
    }
    if (!commands_.empty()) transport_->post(commands_);
}

void Runtime::carry_out(const effect::ToTransport& asked) {
    if (transport_ == nullptr) return;
    if (const auto* send = std::get_if<p2p::effect::Send>(&asked.asked)) {
        commands_.emplace_back(
            transport::command::Send{send->channel,
                                     send->lane,
                                     send->priority,
                                     Outgoing::track(outgoing_, send->channel, send->bytes)});
    } else if (const auto* close = std::get_if<p2p::effect::Close>(&asked.asked)) {
        commands_.emplace_back(transport::command::Close{
            close->channel, std::string(p2p::to_string(close->reason)) + ": " + close->text});
    } else if (const auto* connect = std::get_if<p2p::effect::Connect>(&asked.asked)) {
        commands_.emplace_back(transport::command::Connect{connect->address, connect->expected});
    }
}

void Runtime::carry_out(effect::ReadBlocks read) {
    workers_.post([this, read = std::move(read)] {
        const auto on_error = [this](chain::Height height, const base::Error& error) {
            environment_.log.error("block {}: {}", height, error.detail);
        };
        auto said = read_blocks(*environment_.storage.snapshot(), read.wanted, on_error);
        said.blocks.insert(said.blocks.end(), read.held.begin(), read.held.end());
        post(p2p::Input(std::move(said)));
    });
}

void Runtime::carry_out(effect::CheckStored check) {
    workers_.post([this, check = std::move(check)] {
        post(Input(input::StoredChecked{
            check.ticket,
            check_stretch(
                *environment_.storage.snapshot(), check.stretch, check.rules, check.copy)}));
    });
}

void Runtime::carry_out(effect::Write& write) {
    {
        const std::scoped_lock lock(disk_mutex_);
        // Writes that nobody waits for become one.
        const bool joins = is_plain(write) && !writes_.empty() && is_plain(writes_.back()) &&
                           writes_.back().batch.changes.size() < kJoinedChangesMax;
        if (joins) {
            auto& changes = writes_.back().batch.changes;
            std::move(write.batch.changes.begin(),
                      write.batch.changes.end(),
                      std::back_inserter(changes));
            return;  // The disk thread knows of what it joined.
        }
        writes_.push_back(std::move(write));
    }
    disk_ready_.notify_one();
}

// JSON is made of it, which is not for this thread.
void Runtime::carry_out(effect::Answer& answer) {
    ++(answer.outcome ? accepted_ : refused_);
    if (answer.outcome) executed_answered_ = executed_.load();
    auto answered = take_answered(answer.ticket);
    if (!answered) return;
    workers_.post(
        [answered = std::move(*answered), answer = std::move(answer)] { answered(answer); });
}

void Runtime::carry_out(effect::Recover recover) {
    const bool is_block = recover.block != nullptr;
    const base::crypto::PublicKey peer = recover.peer;
    auto job = [this, recover = std::move(recover)] {
        post(Input(input::Recovered{recover.ticket, recover_all(recover)}));
    };
    if (is_block) {
        workers_.post_urgent(std::move(job));
    } else {
        workers_.post_of_peer(peer, std::move(job));
    }
}

// On a worker.
base::Result<std::vector<chain::PooledTransaction>> Runtime::recover_all(
    const effect::Recover& recover) {
    if (recover.block != nullptr) return recovery_.transactions_of(*recover.block);
    auto decoded = chain::decode_transaction(*recover.transaction);
    if (!decoded) return base::fail(decoded.error());
    auto keys = recovery_.keys_of(**decoded);
    if (!keys) return base::fail(keys.error());
    return std::vector<chain::PooledTransaction>{{*std::move(decoded), *std::move(keys)}};
}

void Runtime::carry_out(const effect::Publish& publish) {
    {
        const std::scoped_lock lock(view_mutex_);
        view_ = publish.view;
    }
    view_ready_.notify_all();
    for (Plugin* plugin : plugins_)
        plugin->on_published(publish.view);
}

void Runtime::run_disk() {
    name_this_thread("bor-disk");
    std::unique_lock lock(disk_mutex_);
    while (true) {
        disk_ready_.wait(lock, [this] { return disk_stopping_ || !writes_.empty(); });
        if (writes_.empty()) break;
        // To wake for every row costs more than to write it.
        if (writes_.size() == 1 && is_plain(writes_.front())) {
            disk_ready_.wait_for(
                lock, kJoinFor, [this] { return disk_stopping_ || writes_.size() > 1; });
        }
        effect::Write next = std::move(writes_.front());
        writes_.pop_front();
        lock.unlock();
        auto outcome = write(next);
        if (!outcome) {
            ++disk_errors_;
            std::uint64_t skipped = 0;
            if (disk_complaints_.allow(RepeatGuard::Clock::now(), skipped)) {
                environment_.log.warn(
                    "write failed error={} skipped={}", outcome.error().detail, skipped);
            }
        }
        if (next.ticket != 0) post(Input(input::Written{next.ticket, std::move(outcome)}));
        lock.lock();
    }
    lock.unlock();
    // What was written unsynced must not be lost by an orderly stop.
    if (auto synced = environment_.storage.commit({}, true); !synced) {
        environment_.log.warn("last sync failed error={}", synced.error().detail);
    }
}

base::Result<void> Runtime::write(effect::Write& write) {
    const auto started = std::chrono::steady_clock::now();
    const bool is_waited_for = write.ticket != 0;
    // A page that takes the place of its journal comes after its rows: the pages before it, by
    // which a cut between the two is recognised, are gone with it.
    std::promise<base::Result<void>> beside;
    const bool is_beside = !std::ranges::all_of(write.pages, &consensus::JournalPage::replaces);
    if (is_beside) {
        journal_.post([&] { beside.set_value(write_pages(write, /*replacing=*/false)); });
    }
    if (write.final_state != nullptr) write.final_state->append_to(write.batch);
    base::Result<void> rows;
    if (!write.batch.changes.empty() || is_waited_for) {
        rows = environment_.storage.commit(write.batch, is_waited_for);
    }
    base::Result<void> paged;
    if (is_beside) paged = beside.get_future().get();
    if (rows && paged) paged = write_pages(write, /*replacing=*/true);
    if (rows) rows = std::move(paged);
    if (!rows) return rows;
    ++disk_writes_;
    if (is_waited_for) {
        const auto took = std::chrono::steady_clock::now() - started;
        disk_microseconds_ += static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::microseconds>(took).count());
    }
    return {};
}

base::Result<void> Runtime::write_pages(const effect::Write& write, bool replacing) {
    for (const consensus::JournalPage& page : write.pages) {
        // A write that failed comes again as a whole; its page may be there already, and a second
        // one would break the chain of records.
        base::Bytes& last = last_pages_[page.key];
        if (page.replaces != replacing || page.bytes == last) continue;
        base::AppendLog& log = *environment_.journals.at(page.key);
        auto done = replacing ? log.compact(page.bytes) : log.append_page(page.bytes);
        if (!done) return done;
        last = page.bytes;
    }
    return {};
}

RuntimeCounters Runtime::counters() const {
    RuntimeCounters counters;
    counters.submitted = submitted_;
    counters.accepted = accepted_;
    counters.refused = refused_;
    counters.worker_queue = workers_.queued();
    counters.disk_writes = disk_writes_;
    counters.disk_errors = disk_errors_;
    counters.disk_microseconds = disk_microseconds_;
    {
        const std::scoped_lock lock(answer_mutex_);
        counters.in_flight = answered_.size();
    }
    const std::scoped_lock lock(disk_mutex_);
    counters.disk_queue = writes_.size();
    return counters;
}

}  // namespace node
