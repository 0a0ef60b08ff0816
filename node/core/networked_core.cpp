#include "node/core/networked_core.hpp"

#include <algorithm>
#include <utility>

namespace node {

namespace {

constexpr base::Duration kStatusEvery = std::chrono::seconds(1);
constexpr base::Duration kNewsEvery = std::chrono::milliseconds(50);

bool is_for_transport(const p2p::Effect& effect) {
    return std::holds_alternative<p2p::effect::Send>(effect) ||
           std::holds_alternative<p2p::effect::Close>(effect) ||
           std::holds_alternative<p2p::effect::Connect>(effect);
}

bool is_of_snapshots(const p2p::Effect& effect) {
    return std::holds_alternative<p2p::effect::ReadSnapshot>(effect) ||
           std::holds_alternative<p2p::effect::KeepSnapshot>(effect) ||
           std::holds_alternative<p2p::effect::CheckSnapshot>(effect) ||
           std::holds_alternative<p2p::effect::LoadSnapshot>(effect);
}

}  // namespace

NetworkedCore::NetworkedCore(std::unique_ptr<Core> core,
                             std::optional<p2p::Options> options,
                             Signer& signer,
                             base::Log log)
    : core_(std::move(core)), options_(std::move(options)), signer_(signer), log_(log) {
    if (options_) network_ = std::make_unique<p2p::Network>(*options_, log_);
}

void NetworkedCore::begin(base::Timestamp now, Effects first, Effects& out) {
    if (options_) {
        start_slot_ = options_->times.slot_at(chain::TimePoint::from_timestamp(now));
    }
    sort(first, out);
    work_off(now, out);
    publish_status(now, out);
}

void NetworkedCore::step(base::Timestamp now, const Input& input, Effects& out) {
    work_.push(input);
    if (const auto* set = std::get_if<input::ClockSet>(&input); set != nullptr && network_) {
        work_.push(p2p::Input(p2p::input::ClockSet{set->ahead}));
    }
    const bool is_tick = std::holds_alternative<input::Tick>(input);
    if (is_tick && network_) work_.push(p2p::Input(p2p::input::Tick{}));
    work_off(now, out);
    publish_status(now, out);
}

void NetworkedCore::step(base::Timestamp now, p2p::Input input, Effects& out) {
    if (!network_) return;
    auto* up = std::get_if<p2p::input::ChannelUp>(&input);
    if (up != nullptr && network_->lets_in(now, up->key, up->outbound)) {
        up->statements = statements(up->exporter);
    }
    is_news_ = is_news_ || std::holds_alternative<p2p::input::ChannelDown>(input);
    work_.push(std::move(input));
    work_off(now, out);
    publish_status(now, out);
}

void NetworkedCore::work_off(base::Timestamp now, Effects& out) {
    while (!work_.empty()) {
        const Work next = work_.take();
        if (const auto* input = std::get_if<Input>(&next)) {
            core_->step(now, *input, asked_);
            sort(asked_, out);
        } else {
            const auto& said = std::get<p2p::Input>(next);
            // Who may come is said at once.
            if (std::holds_alternative<p2p::input::RegistryChanged>(said) ||
                std::holds_alternative<p2p::input::ListsChanged>(said)) {
                published_at_ = {};
            }
            network_->step(now, said, said_);
            sort(said_, out);
        }
    }
}

void NetworkedCore::sort(Effects& asked, Effects& out) {
    for (Effect& effect : asked) {
        auto* said = std::get_if<effect::ToPeers>(&effect);
        if (said == nullptr || !network_) {
            out.push_back(std::move(effect));
        } else {
            work_.push(std::move(said->said));
        }
    }
    asked.clear();
}

void NetworkedCore::sort(p2p::Effects& asked, Effects& out) {
    for (p2p::Effect& effect : asked) {
        is_news_ = is_news_ || std::holds_alternative<p2p::effect::PeerReady>(effect) ||
                   std::holds_alternative<p2p::effect::Close>(effect);
        if (const auto* wake = std::get_if<p2p::effect::WakeAt>(&effect)) {
            out.push_back(effect::WakeAt{wake->time});
        } else if (is_for_transport(effect)) {
            out.push_back(effect::ToTransport{std::move(effect)});
        } else if (is_of_snapshots(effect)) {
            out.push_back(effect::ToSnapshots{std::move(effect)});
        } else {
            work_.push(Input(input::FromPeers{std::move(effect)}));
        }
    }
    asked.clear();
}

// Signed for this channel, so that nobody else can say it (spec 04, the same key on two machines).
std::vector<p2p::VoteKeyStatement> NetworkedCore::statements(const base::Hash256& exporter) {
    const p2p::StatementContext context{options_->chain_id, options_->node_key, exporter};
    std::vector<p2p::VoteKeyStatement> made;
    for (const p2p::PublicKey& key : options_->vote_keys) {
        p2p::VoteKeyStatement statement;
        statement.key = key;
        statement.boot_id = options_->boot_id;
        statement.start_slot = start_slot_;
        auto signature = signer_.sign_statement(key, statement, context);
        if (!signature) {
            log_.warn("cannot show a peer that key {} is here: {}",
                      key.to_string(),
                      signature.error().detail);
            continue;
        }
        statement.signature = *std::move(signature);
        made.push_back(std::move(statement));
    }
    return made;
}

void NetworkedCore::publish_status(base::Timestamp now, Effects& out) {
    if (!network_) return;
    if (now < published_at_ + (is_news_ ? kNewsEvery : kStatusEvery)) return;
    published_at_ = now;
    is_news_ = false;
    auto status = std::make_shared<const p2p::Status>(network_->status());
    base::Duration delay{};
    for (const p2p::PeerStatus& peer : status->peers) {
        if (peer.round_trip) delay = std::max(delay, *peer.round_trip / 2);
    }
    work_.push(Input(input::SetDelay{delay}));
    work_off(now, out);
    out.push_back(effect::PublishPeers{std::move(status)});
}

}  // namespace node
