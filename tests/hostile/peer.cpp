#include "tests/hostile/peer.hpp"

#include <utility>

namespace hostile {

namespace command = transport::command;
namespace event = transport::event;

Peer::Peer(const base::crypto::PrivateKey& key, chain::ChainId chain_id)
    : chain_id_(chain_id),
      thread_({.listen = {"127.0.0.1:0"}}, key, *this, base::Log(no_log_, "hostile")) {
    if (auto started = thread_.start(); !started) {
        fmt::print(stderr, "bor-hostile: {}\n", started.error().detail);
        std::exit(EXIT_FAILURE);
    }
}

Peer::~Peer() {
    thread_.stop();
    const std::scoped_lock lock(mutex_);
    events_.clear();
}

void Peer::post(transport::Command command) {
    std::vector<transport::Command> commands;
    commands.push_back(std::move(command));
    thread_.post(commands);
}

void Peer::connect(const Target& target) {
    post(command::Connect{target.address, target.key});
}

void Peer::say(transport::ChannelId channel, const p2p::Body& body) {
    const p2p::Carriage carriage = p2p::carriage_of(p2p::type_of(body));
    post(command::Send{channel, carriage.lane, carriage.priority, p2p::pack_message(body)});
}

void Peer::hang_up(transport::ChannelId channel) {
    post(command::Close{channel, "enough"});
}

void Peer::on_events(std::vector<transport::Event>& events) {
    const std::scoped_lock lock(mutex_);
    for (transport::Event& each : events)
        events_.push_back(std::move(each));
    events.clear();
    changed_.notify_all();
}

std::optional<transport::Event> Peer::next(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return !events_.empty(); });
    if (events_.empty()) return {};
    transport::Event first = std::move(events_.front());
    events_.erase(events_.begin());
    return first;
}

// As an honest node: it stands where the target stands, and is no validator.
void Peer::answer(transport::ChannelId channel, const p2p::Body& body) {
    if (const auto* theirs = std::get_if<p2p::Hello>(&body)) {
        p2p::Hello ours;
        ours.chain_id = chain_id_;
        ours.roles = p2p::kObserver;
        ours.agent = "hostile";
        ours.finalized = ours.head = claim_.value_or(theirs->finalized);
        say(channel, ours);
        say(channel, p2p::Notice{.finalized = ours.finalized, .head = ours.head});
    } else if (const auto* stamps = std::get_if<p2p::TimeStamps>(&body)) {
        if (stamps->origin == 0) {
            say(channel,
                p2p::TimeStamps{.origin = stamps->transmit,
                                .receive = stamps->transmit,
                                .transmit = stamps->transmit});
        }
    } else if (const auto* away = std::get_if<p2p::GoAway>(&body)) {
        closed_.push_back(std::string(p2p::to_string(away->reason)) + ": " + away->text);
    }
}

std::optional<Peer::Heard> Peer::hear(std::chrono::milliseconds patience) {
    const auto event = next(patience);
    if (!event) return {};
    if (const auto* up = std::get_if<event::Up>(&*event)) return Heard{up->channel, {}};
    const auto* received = std::get_if<event::Received>(&*event);
    if (received == nullptr) return Heard{};
    base::Bytes scratch;
    const base::ByteView bytes = received->message.bytes.contiguous(scratch);
    const auto envelope = p2p::read_envelope(bytes);
    if (!envelope) return Heard{};
    auto body = p2p::read_body(*envelope, bytes);
    if (!body) return Heard{};
    answer(received->channel, *body);
    return Heard{received->channel, *std::move(body)};
}

}  // namespace hostile
