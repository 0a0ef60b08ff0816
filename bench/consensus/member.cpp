#include "bench/consensus/member.hpp"

#include "bench/ledger/chain.hpp"
#include "p2p/messages.hpp"

#include <bit>
#include <cstdlib>

namespace bench {

void Moments::note_receipt(std::size_t member, const chain::BlockId& id) {
    const std::scoped_lock lock(mutex_);
    Times& times = blocks_[id];
    const std::uint32_t before = times.receipts;
    times.receipts |= std::uint32_t{1} << member;
    if (times.receipts != before) times.last_receipt = Clock::now();
}

void Moments::note_final(std::size_t member, const chain::BlockId& id) {
    const std::scoped_lock lock(mutex_);
    Times& times = blocks_[id];
    times.finals |= std::uint32_t{1} << member;
    times.last_final = Clock::now();
}

std::vector<double> Moments::to_final() const {
    const std::scoped_lock lock(mutex_);
    std::vector<double> all;
    for (const auto& [id, times] : blocks_) {
        const auto finals = static_cast<std::size_t>(std::popcount(times.finals));
        const auto receipts = static_cast<std::size_t>(std::popcount(times.receipts));
        if (finals != members_ || receipts + 1 != members_) continue;
        all.push_back(
            std::chrono::duration<double, std::milli>(times.last_final - times.last_receipt)
                .count());
    }
    return all;
}

std::size_t Moments::complete() const {
    return to_final().size();
}

Member::Member(const Parts& parts)
    : index_(parts.index),
      options_(parts.options),
      moments_(parts.moments),
      log_(parts.log),
      ledger_(must(node::open_ledger(options_, base::Log(log_, "node")))),
      storage_(*ledger_.storage, parts.sync_delay, parts.times),
      peers_(must(node::read_peers(options_))) {
    for (auto& [key, log] : ledger_.journals)
        log = std::make_unique<SlowLog>(std::move(log), parts.sync_delay, parts.times);
    node::Effects first;
    auto core = open_core(first);
    runtime_ = std::make_unique<node::Runtime>(
        node::Runtime::Options{},
        node::Runtime::Environment{storage_, ledger_.journals, base::Log(log_, "runtime")},
        ledger_.genesis.chain_id(),
        std::move(core),
        std::move(first));
    transport::tcp::Options tcp;
    tcp.listen = options_.p2p_listen_endpoints;
    tcp.pool.bytes = std::size_t{64} << 20U;
    transport_ = std::make_unique<transport::tcp::Thread>(
        tcp, *peers_.node_key, *this, base::Log(log_, "transport"));
    runtime_->set_transport(*transport_);
    runtime_->add_plugin(*this);
}

Member::~Member() {
    stop();
    // Messages of the transport may be in the runtime.
    runtime_.reset();
}

std::unique_ptr<node::NetworkedCore> Member::open_core(node::Effects& first) {
    node::Core::Options options;
    options.started = node::system_time();
    options.has_peers = true;
    options.genesis = ledger_.genesis;
    options.pool_bytes_max = options_.pool_bytes_max;
    chain::StateManager::Options state;
    state.on_fault = [](const base::Error&) { std::abort(); };
    const node::Core::Environment environment{storage_,
                                              execution_.executor(),
                                              *ledger_.signer,
                                              chain::ExecutionOptions{},
                                              state,
                                              base::Log(log_, "core")};
    auto core = must(node::Core::open(options, environment, std::move(ledger_.safety), first));
    return std::make_unique<node::NetworkedCore>(
        std::move(core),
        node::network_options(options_, peers_, ledger_, {}),
        *ledger_.signer,
        base::Log(log_, "p2p"));
}

void Member::start() {
    runtime_->start();
    if (auto started = transport_->start(); !started) give_up(started.error().detail);
    for (p2p::input::Dial& dial : peers_.dials)
        runtime_->tell_peers(std::move(dial));
}

void Member::stop() {
    runtime_->stop();
    transport_->stop();
}

void Member::on_events(std::vector<transport::Event>& events) {
    constexpr transport::Priority kLiveBlocks = 3;
    for (const transport::Event& event : events) {
        const auto* received = std::get_if<transport::event::Received>(&event);
        if (received == nullptr || received->message.lane != transport::Lane::data ||
            received->message.priority != kLiveBlocks) {
            continue;
        }
        const base::ByteView bytes = received->message.bytes.contiguous(scratch_);
        const auto envelope = p2p::read_envelope(bytes);
        if (!envelope || envelope->type != p2p::MessageType::blocks) continue;
        const auto body = p2p::read_body(*envelope, bytes);
        if (!body) continue;
        for (const chain::BlockPtr& block : std::get<p2p::Blocks>(*body).blocks)
            moments_.note_receipt(index_, block->id);
    }
    runtime_->on_events(events);
}

void Member::on_finalized(const node::effect::Finalized& finalized) {
    moments_.note_final(index_, finalized.block->block->id);
}

}  // namespace bench
