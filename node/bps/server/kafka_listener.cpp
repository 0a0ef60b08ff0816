#include "node/bps/server/kafka_listener.hpp"

#include "node/http/listener.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bps {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kTick{100};
// Of ticks: after a longer time this thread was away, and clients may have sent what was not read.
constexpr std::chrono::milliseconds kAway{1'000};
constexpr std::chrono::milliseconds kWriteTurn{2};
// Lines of the log for a cause,
constexpr std::uint64_t kComplaintsMax = 10;
// in so long.
constexpr auto kComplaintsEvery = std::chrono::seconds(10);

}  // namespace

KafkaListener::KafkaListener(asio::io_context& context,
                             ListenerOptions options,
                             RecordFiles& files,
                             base::Log log)
    : options_(std::move(options)),
      files_(files),
      log_(log),
      memory_(options_.memory_bytes_max),
      context_(context),
      timer_(context) {}

base::Result<void> KafkaListener::start() {
    const auto& all = options_.listen;
    if (std::ranges::any_of(all, &ListenerOptions::Listen::is_tls)) {
        auto tls = ServerTls::load(options_.certificate_file, options_.key_file);
        if (!tls) return base::fail(tls.error());
        tls_ = std::move(*tls);
    }
    for (const ListenerOptions::Listen& listen : all) {
        if (auto bound = bind(listen); !bound) return bound;
    }
    for (const auto& listening : listening_)
        accept(*listening);
    tick();
    return {};
}

base::Result<void> KafkaListener::bind(const ListenerOptions::Listen& listen) {
    auto bound = node::http::bind_tcp(context_, listen.address);
    if (!bound) return base::fail(bound.error());
    error_code ignored;
    addresses_.push_back(node::http::text_of(bound->front().local_endpoint(ignored)));
    for (tcp::acceptor& acceptor : *bound) {
        if (!listen.is_tls && !acceptor.local_endpoint(ignored).address().is_loopback()) {
            return base::fail(base::Errc::invalid,
                              fmt::format("Kafka clients on {} would send tokens in clear: give "
                                          "bps-tls-cert and bps-tls-key, or listen on 127.0.0.1",
                                          listen.address));
        }
        listening_.push_back(std::make_unique<Listening>(
            Listening{std::move(acceptor), listen.address, listen.is_tls}));
    }
    return {};
}

void KafkaListener::stop(std::chrono::milliseconds grace) {
    is_stopping_ = true;
    stop_deadline_ = Clock::now() + grace;
    error_code ignored;
    for (const auto& listening : listening_)
        listening->acceptor.close(ignored);
    for (auto& [id, connection] : connections_)
        connection->drain();
    end_turn();
}

// --- The broker's side ----------------------------------------------------------------------

void KafkaListener::deliver(Handler& handler) {
    for (Event& event : std::exchange(events_, {})) {
        if (auto* opened = std::get_if<Opened>(&event)) {
            handler.on_open(opened->connection, opened->peer);
        } else if (auto* asked = std::get_if<Asked>(&event)) {
            handler.on_request(asked->id, std::move(asked->frame));
        } else {
            handler.on_closed(std::get<Closed>(event).connection);
        }
    }
}

void KafkaListener::send(Reply reply) {
    Connection* connection = find(reply.id.connection);
    if (connection == nullptr) return;
    Answer answer{.response = std::move(reply.response),
                  .files = {},
                  .hold = {},
                  .close_reason = std::move(reply.close_reason),
                  .refusal = std::move(reply.refusal)};
    if (answer.response) {
        for (const Splice& splice : answer.response->splices) {
            auto file = files_.open(splice.records);
            if (!file) {
                // Its length is promised already, so that there is no other way to say it.
                answer = Answer{.close_reason = "records of an answer: " + file.error().detail};
                break;
            }
            answer.files.push_back(std::move(*file));
        }
    }
    connection->answer(reply.id.number, std::move(answer));
}

void KafkaListener::admit(std::uint64_t id, Tenant tenant) {
    Connection* connection = find(id);
    if (connection == nullptr) return;
    logins_.erase(id);
    connection->admit(tenant);
}

void KafkaListener::mute(std::uint64_t id, std::chrono::milliseconds duration) {
    if (Connection* connection = find(id)) connection->mute(duration);
}

void KafkaListener::close(std::uint64_t id, const std::string& reason) {
    if (Connection* connection = find(id)) connection->write_answers();
    if (Connection* connection = find(id)) connection->end(reason);
}

void KafkaListener::write_answers() {
    const Clock::time_point end = Clock::now() + kWriteTurn;
    while (!answered_.empty() && Clock::now() < end) {
        Connection* connection = find(answered_.front());
        answered_.pop_front();
        if (connection != nullptr) connection->write_answers();
    }
    resume_starved();
    end_turn();
}

// --- Turns of the loop ----------------------------------------------------------------------

Connection* KafkaListener::find(std::uint64_t id) {
    const auto found = connections_.find(id);
    if (found == connections_.end() || found->second->has_ended()) return nullptr;
    return found->second.get();
}

void KafkaListener::resume_starved() {
    std::vector<std::uint64_t> again;
    std::swap(again, starved_);
    for (const std::uint64_t id : again) {
        if (Connection* connection = find(id)) connection->try_resume();
    }
}

void KafkaListener::end_turn() {
    std::erase_if(ended_, [this](std::uint64_t id) {
        const auto found = connections_.find(id);
        if (found->second->has_pending()) return false;
        connections_.erase(found);
        return true;
    });
}

void KafkaListener::tick() {
    const Clock::time_point now = Clock::now();
    const bool is_over = is_stopping_ && now >= stop_deadline_;
    const bool was_away = now - std::exchange(ticked_, now) > kAway;
    for (auto& [id, connection] : connections_) {
        if (is_over) connection->end("the broker stops");
        if (!was_away) connection->tick(now);
    }
    for (Listening* listening : std::exchange(failed_, {}))
        accept(*listening);
    resume_starved();
    end_turn();
    timer_.expires_after(kTick);
    timer_.async_wait([this](const error_code& error) {
        if (!error) tick();
    });
}

// --- Connections ----------------------------------------------------------------------------

void KafkaListener::accept(Listening& listening) {
    listening.acceptor.async_accept(
        [this, &listening](const error_code& error, tcp::socket socket) {
            if (is_stopping_) return;
            if (error) {
                // Out of descriptors, most likely; at once again would be a busy loop.
                if (may_complain(Cause::refused))
                    log_.warn("cannot accept clients error={}", error.message());
                failed_.push_back(&listening);
                return;
            }
            ++counters_.accepted;
            take_socket(listening, std::move(socket));
            accept(listening);
            end_turn();
        });
}

void KafkaListener::take_socket(const Listening& listening, Connection::Socket socket) {
    error_code error;
    const tcp::endpoint remote = socket.remote_endpoint(error);
    if (error) return;
    ClientPeer peer{.address = remote.address().to_string(),
                    .listener = listening.address,
                    .is_loopback = remote.address().is_loopback(),
                    .is_tls = listening.is_tls};
    if (const std::string reason = why_not(peer.address); !reason.empty()) {
        ++counters_.refused;
        if (may_complain(Cause::refused)) {
            log_.warn("client refused address={} reason={}", peer.address, reason);
        }
        return;
    }
    make_room();
    ++counters_.connections;
    logins_.insert(++last_id_);
    ++by_address_[peer.address];
    ConnectionOwner& owner = *this;
    auto made =
        std::make_unique<Connection>(owner,
                                     listening.is_tls ? tls_.get() : nullptr,
                                     std::move(socket),
                                     Connection::Identity{.id = last_id_, .peer = std::move(peer)});
    connections_.emplace(last_id_, std::move(made)).first->second->start();
}

std::string KafkaListener::why_not(const std::string& address) const {
    if (connections_.size() >= options_.connections_max) {
        return fmt::format("there are {} connections", options_.connections_max);
    }
    const auto found = by_address_.find(address);
    const std::size_t has = found == by_address_.end() ? 0 : found->second;
    if (has < options_.connections_per_address_max) return {};
    return fmt::format("{} connections of one address", options_.connections_per_address_max);
}

void KafkaListener::make_room() {
    if (logins_.empty() || logins_.size() < options_.logins_max) return;
    ++counters_.refused;
    connections_.at(*logins_.begin())
        ->end(fmt::format("more than {} connections are not logged in", options_.logins_max));
}

void KafkaListener::on_open(Connection& connection) {
    events_.emplace_back(Opened{connection.id(), connection.peer()});
}

void KafkaListener::on_frame(Connection& connection, std::uint64_t number, Frame frame) {
    ++counters_.requests;
    events_.emplace_back(
        Asked{{.connection = connection.id(), .number = number}, std::move(frame)});
}

void KafkaListener::on_answered(Connection& connection) {
    answered_.push_back(connection.id());
}

void KafkaListener::on_starved(Connection& connection) {
    starved_.push_back(connection.id());
}

void KafkaListener::on_ended(Connection& connection, const std::string& reason) {
    const ClientPeer& peer = connection.peer();
    ended_.push_back(connection.id());
    --counters_.connections;
    const bool was_stranger = logins_.erase(connection.id()) != 0;
    const auto found = by_address_.find(peer.address);
    if (--found->second == 0) by_address_.erase(found);
    if (connection.was_open()) events_.emplace_back(Closed{connection.id()});
    if (may_complain(was_stranger ? Cause::gone_before_login : Cause::gone)) {
        log_.info("client gone connection={} address={} listener={} reason={}",
                  connection.id(),
                  peer.address,
                  peer.listener,
                  reason);
    }
}

// Clients must not fill the log.
bool KafkaListener::may_complain(Cause cause) {
    Complaints& complaints = complaints_.at(static_cast<std::size_t>(cause));
    const Clock::time_point now = Clock::now();
    if (now - complaints.since >= kComplaintsEvery) {
        if (complaints.count > kComplaintsMax) {
            log_.warn("more clients are gone or refused skipped={}",
                      complaints.count - kComplaintsMax);
        }
        complaints = {.count = 0, .since = now};
    }
    return ++complaints.count <= kComplaintsMax;
}

}  // namespace bps
