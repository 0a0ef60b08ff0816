#include "node/bps/server/kafka_listener.hpp"

#include "node/http/listener.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

namespace bps {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kTick{100};
constexpr std::uint64_t kComplaintsMax = 10;  // Lines of the log in a second.

}  // namespace

KafkaListener::KafkaListener(ListenerOptions options,
                             RecordFiles& files,
                             std::function<void()> wake,
                             base::Log log)
    : options_(std::move(options)),
      files_(files),
      wake_(std::move(wake)),
      log_(log),
      memory_(options_.memory_bytes_max),
      timer_(context_) {}

// NOLINTNEXTLINE(bugprone-exception-escape): no memory to stop ends the process.
KafkaListener::~KafkaListener() {
    stop();
}

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
    thread_ = std::thread([this] { run(); });
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

// A socket whose client is gone says so by an error, also to sendfile and OpenSSL.
void KafkaListener::run() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    context_.run();
}

void KafkaListener::stop(std::chrono::milliseconds grace) {
    if (!thread_.joinable()) return;
    grace_ = grace;
    asio::post(context_, [this] { begin_stop(); });
    thread_.join();
}

void KafkaListener::begin_stop() {
    is_stopping_ = true;
    stop_deadline_ = Clock::now() + grace_;
    error_code ignored;
    for (const auto& listening : listening_)
        listening->acceptor.close(ignored);
    for (auto& [id, connection] : connections_)
        connection->drain();
    end_turn();
}

// --- The broker's side ----------------------------------------------------------------------

void KafkaListener::deliver(Handler& handler) {
    std::vector<Event> events;
    {
        const std::scoped_lock lock(mutex_);
        std::swap(events, events_);
    }
    for (Event& event : events) {
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
    post(Send{reply.id, std::move(answer)});
}

void KafkaListener::admit(std::uint64_t connection, Tenant tenant) {
    post(Admit{connection, tenant});
}

void KafkaListener::mute(std::uint64_t connection, std::chrono::milliseconds duration) {
    post(Mute{connection, duration});
}

void KafkaListener::close(std::uint64_t connection, std::string reason) {
    post(Close{connection, std::move(reason)});
}

void KafkaListener::post(Command command) {
    bool was_empty = false;
    {
        const std::scoped_lock lock(mutex_);
        was_empty = commands_.empty();
        commands_.push_back(std::move(command));
    }
    if (was_empty) asio::post(context_, [this] { take_commands(); });
}

// --- Turns of the loop ----------------------------------------------------------------------

void KafkaListener::take_commands() {
    {
        const std::scoped_lock lock(mutex_);
        std::swap(commands_, taken_);
    }
    for (Command& command : taken_) {
        std::visit([this](auto& each) { carry_out(each); }, command);
    }
    taken_.clear();
    resume_starved();
    end_turn();
}

void KafkaListener::carry_out(Send& send) {
    Connection* connection = find(send.id.connection);
    if (connection != nullptr) connection->answer(send.id.number, std::move(send.answer));
}

void KafkaListener::carry_out(const Admit& admit) {
    Connection* connection = find(admit.connection);
    if (connection == nullptr) return;
    if (!connection->is_admitted()) --logins_;
    connection->admit(admit.tenant);
}

void KafkaListener::carry_out(const Mute& mute) {
    if (Connection* connection = find(mute.connection)) connection->mute(mute.duration);
}

void KafkaListener::carry_out(const Close& close) {
    if (Connection* connection = find(close.connection)) connection->end(close.reason);
}

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

void KafkaListener::publish() {
    if (happened_.empty()) return;
    bool was_empty = false;
    {
        const std::scoped_lock lock(mutex_);
        was_empty = events_.empty();
        if (was_empty) {
            std::swap(events_, happened_);
        } else {
            std::ranges::move(happened_, std::back_inserter(events_));
        }
    }
    happened_.clear();
    if (was_empty) wake_();
}

void KafkaListener::end_turn() {
    publish();
    std::erase_if(ended_, [this](std::uint64_t id) {
        const auto found = connections_.find(id);
        if (found->second->has_pending()) return false;
        connections_.erase(found);
        return true;
    });
    if (is_stopping_ && connections_.empty()) context_.stop();
}

void KafkaListener::tick() {
    const Clock::time_point now = Clock::now();
    const bool is_over = is_stopping_ && now >= stop_deadline_;
    for (auto& [id, connection] : connections_) {
        if (is_over) connection->end("the broker stops");
        connection->tick(now);
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
                if (may_complain()) log_.warn("cannot accept clients error={}", error.message());
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
        if (may_complain()) {
            log_.warn("client refused address={} reason={}", peer.address, reason);
        }
        return;
    }
    make_room();
    ++counters_.connections;
    ++logins_;
    ++by_address_[peer.address];
    ConnectionOwner& owner = *this;
    auto made = std::make_unique<Connection>(
        owner,
        listening.is_tls ? tls_.get() : nullptr,
        std::move(socket),
        Connection::Identity{.id = ++last_id_, .peer = std::move(peer)});
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
    if (logins_ < options_.logins_max) return;
    const auto oldest = std::ranges::find_if(connections_, [](const auto& entry) {
        return !entry.second->has_ended() && !entry.second->is_admitted();
    });
    if (oldest == connections_.end()) return;
    ++counters_.refused;
    oldest->second->end(
        fmt::format("more than {} connections are not logged in", options_.logins_max));
}

void KafkaListener::on_open(Connection& connection) {
    happened_.emplace_back(Opened{connection.id(), connection.peer()});
}

void KafkaListener::on_frame(Connection& connection, std::uint64_t number, Frame frame) {
    ++counters_.requests;
    happened_.emplace_back(
        Asked{{.connection = connection.id(), .number = number}, std::move(frame)});
}

void KafkaListener::on_starved(Connection& connection) {
    starved_.push_back(connection.id());
}

void KafkaListener::on_ended(Connection& connection, const std::string& reason) {
    const ClientPeer& peer = connection.peer();
    ended_.push_back(connection.id());
    --counters_.connections;
    if (!connection.is_admitted()) --logins_;
    const auto found = by_address_.find(peer.address);
    if (--found->second == 0) by_address_.erase(found);
    if (connection.was_open()) happened_.emplace_back(Closed{connection.id()});
    if (may_complain()) {
        log_.info("client gone connection={} address={} listener={} reason={}",
                  connection.id(),
                  peer.address,
                  peer.listener,
                  reason);
    }
}

// Clients must not fill the log.
bool KafkaListener::may_complain() {
    const Clock::time_point now = Clock::now();
    if (now - complaints_since_ >= std::chrono::seconds(1)) {
        if (complaints_ > kComplaintsMax) {
            log_.warn("more clients are gone or refused skipped={}", complaints_ - kComplaintsMax);
        }
        complaints_ = 0;
        complaints_since_ = now;
    }
    return ++complaints_ <= kComplaintsMax;
}

}  // namespace bps
