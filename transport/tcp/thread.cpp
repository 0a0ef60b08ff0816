#include "transport/tcp/thread.hpp"

#include "base/check.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/post.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace transport::tcp {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t kScratchBytes = std::size_t{32} << 10;
constexpr std::chrono::milliseconds kTick{50};
constexpr std::chrono::seconds kPublishEvery{1};
// Bytes that the kernel may hold unsent: what is urgent stands behind no more than these.
constexpr int kUnsentBytesMax = 16 << 10;
constexpr std::chrono::seconds kUpForLong{5};

std::string text_of(const tcp::endpoint& endpoint) {
    const std::string host = endpoint.address().to_string();
    const std::string port = std::to_string(endpoint.port());
    return endpoint.address().is_v6() ? "[" + host + "]:" + port : host + ":" + port;
}

struct HostPort {
    std::string host;
    std::string port;
};

// "host:port", "[host]:port". Empty: neither.
std::optional<HostPort> split(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) return {};
    HostPort out{address.substr(0, colon), address.substr(colon + 1)};
    if (out.host.front() == '[' && out.host.back() == ']') {
        out.host = out.host.substr(1, out.host.size() - 2);
    }
    return out;
}

void set_up(tcp::socket& socket, std::chrono::milliseconds stall_max) {
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.set_option(tcp::no_delay(true), ignored);
    const int fd = socket.native_handle();
    const auto timeout = static_cast<unsigned>(stall_max.count());
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytesMax, sizeof kUnsentBytesMax);
}

}  // namespace

struct Thread::Dialing {
    Dialing(asio::io_context& context, command::Connect what)
        : connect(std::move(what)), socket(context), timeout(context) {}

    command::Connect connect;
    tcp::socket socket;
    asio::steady_timer timeout;
    bool is_late = false;
};

Thread::Thread(Options options, const base::crypto::PrivateKey& node_key, Host& host, base::Log log)
    : options_(std::move(options)),
      tls_(node_key),
      host_(host),
      log_(log),
      scratch_(kScratchBytes),
      timer_(context_),
      resolver_(context_),
      handshakes_(options_.handshakes_max, options_.handshakes_per_address_max),
      known_handshakes_(options_.handshakes_max, options_.handshakes_max),
      callers_(options_.callers, options_.handshakes_max, options_.handshakes_per_address_max) {}

// NOLINTNEXTLINE(bugprone-exception-escape): no memory to stop ends the process.
Thread::~Thread() {
    stop();
}

base::Result<void> Thread::start() {
    auto pool = BufferPool::create(options_.pool);
    if (!pool) return base::fail(pool.error());
    pool_ = std::move(*pool);
    pool_->set_wake([this] {
        asio::post(context_, [this] {
            resume_paused();
            end_turn();
        });
    });
    for (const std::string& address : options_.listen) {
        if (auto bound = bind(address); !bound) return bound;
    }
    for (const auto& kind : kinds_) {
        loops_.push_back(
            std::make_unique<DriverLoop>(context_, kind->driver(), [this] { end_turn(); }));
    }
    for (const auto& acceptor : acceptors_)
        accept(*acceptor);
    tick();
    thread_ = std::thread([this] { context_.run(); });
    return {};
}

base::Result<void> Thread::bind(const std::string& address) {
    const auto split_address = split(address);
    if (!split_address) {
        return base::fail(base::Errc::unavailable, "'" + address + "' is not host:port");
    }
    error_code error;
    const auto found =
        resolver_.resolve(split_address->host, split_address->port, Resolver::passive, error);
    if (!error && found.empty()) error = asio::error::host_not_found;
    auto acceptor = std::make_unique<Acceptor>(context_);
    if (!error) {
        const tcp::endpoint endpoint = found.begin()->endpoint();
        acceptor->open(endpoint.protocol(), error);
        if (!error) acceptor->set_option(Acceptor::reuse_address(true), error);
        if (!error) acceptor->bind(endpoint, error);
        if (!error) acceptor->listen(asio::socket_base::max_listen_connections, error);
    }
    if (error) {
        return base::fail(base::Errc::unavailable,
                          "can't listen for peers on " + address + ": " + error.message());
    }
    addresses_.push_back(text_of(acceptor->local_endpoint(error)));
    acceptors_.push_back(std::move(acceptor));
    return {};
}

void Thread::stop() {
    if (!thread_.joinable()) return;
    asio::post(context_, [this] { begin_stop(); });
    thread_.join();
}

void Thread::begin_stop() {
    is_stopping_ = true;
    stop_deadline_ = std::chrono::steady_clock::now() + options_.goodbye_max + 2 * kTick;
    error_code ignored;
    for (const auto& acceptor : acceptors_)
        acceptor->close(ignored);
    for (const auto& [id, caller] : waiting_)
        callers_.remove(id);
    waiting_.clear();
    for (auto& [id, connection] : connections_)
        connection->close(CloseReason::local, "the node stops");
    end_turn();
}

base::Timestamp Thread::now() const {
    return base::Timestamp(std::chrono::steady_clock::now().time_since_epoch());
}

// --- Turns of the loop ----------------------------------------------------------------------

void Thread::mark_dirty(Connection& connection) {
    dirty_.push_back(connection.id());
}

void Thread::mark_paused(Connection& connection) {
    ++counters_.pauses;
    paused_.push_back(connection.id());
    pool_->want();
}

void Thread::resume_paused() {
    std::vector<ChannelId> again;
    std::swap(again, paused_);
    for (const ChannelId id : again) {
        if (Connection* connection = find(id)) (void)connection->try_resume();
    }
}

void Thread::flush_dirty() {
    while (!dirty_.empty()) {
        std::swap(flushing_, dirty_);
        dirty_.clear();
        for (const ChannelId id : flushing_) {
            if (Connection* connection = find(id)) connection->flush();
        }
    }
}

void Thread::reap() {
    std::erase_if(ended_, [this](ChannelId id) {
        const auto found = connections_.find(id);
        if (found->second->has_pending()) return false;
        connections_.erase(found);
        return true;
    });
}

void Thread::end_turn() {
    flush_dirty();
    if (!events_.empty()) {
        host_.on_events(events_);
        events_.clear();
    }
    reap();
    for (const auto& loop : loops_)
        loop->settle();
    if (is_stopping_ && connections_.empty()) context_.stop();
}

void Thread::tick() {
    const auto now = std::chrono::steady_clock::now();
    for (auto& [id, connection] : connections_)
        connection->tick();
    if (is_status_old_ || now - published_ >= kPublishEvery) publish_channels();
    for (Acceptor* acceptor : std::exchange(failed_acceptors_, {}))
        accept(*acceptor);
    serve_callers();
    // A block may have come back between a failed try and the wish for one.
    resume_paused();
    if (is_stopping_ && now >= stop_deadline_) {
        for (auto& [id, connection] : connections_)
            connection->fail(CloseReason::local, "the node stops");
    }
    end_turn();
    timer_.expires_after(kTick);
    timer_.async_wait([this](const error_code& error) {
        if (!error) tick();
    });
}

void Thread::publish_channels() {
    is_status_old_ = false;
    published_ = std::chrono::steady_clock::now();
    auto statuses = std::make_shared<std::vector<ChannelStatus>>();
    for (const auto& [id, connection] : connections_) {
        if (connection->is_open()) statuses->push_back(connection->status());
    }
    note_known();
    const std::scoped_lock lock(status_mutex_);
    statuses_ = std::move(statuses);
}

void Thread::note_known() {
    for (const auto& [id, since] : up_since_) {
        const Connection& connection = *connections_.at(id);
        if (now() - since < kUpForLong || connection.is_closing()) continue;
        callers_.note_known(connection.identity().origin, now());
    }
}

bool Thread::is_up_for_long(ChannelId id) const {
    const auto since = up_since_.find(id);
    return since != up_since_.end() && now() - since->second >= kUpForLong;
}

ChannelStatuses Thread::channels() const {
    const std::scoped_lock lock(status_mutex_);
    return statuses_;
}

Connection* Thread::find(ChannelId id) {
    const auto found = connections_.find(id);
    if (found == connections_.end() || found->second->has_ended()) return nullptr;
    return found->second.get();
}

// --- Commands -------------------------------------------------------------------------------

void Thread::post(std::vector<Command>& commands) {
    if (commands.empty()) return;
    bool was_empty = false;
    {
        const std::scoped_lock lock(command_mutex_);
        was_empty = commands_.empty();
        if (was_empty) {
            std::swap(commands_, commands);
        } else {
            std::move(commands.begin(), commands.end(), std::back_inserter(commands_));
        }
    }
    commands.clear();
    if (was_empty) asio::post(context_, [this] { take_commands(); });
}

void Thread::take_commands() {
    {
        const std::scoped_lock lock(command_mutex_);
        std::swap(commands_, taken_commands_);
    }
    for (Command& command : taken_commands_) {
        std::visit([this](auto& each) { carry_out(each); }, command);
    }
    taken_commands_.clear();
    end_turn();
}

void Thread::carry_out(command::Send& send) {
    Connection* connection = find(send.channel);
    if (connection == nullptr) return;
    const std::size_t size = send.bytes->size();
    Payload payload(send.bytes);
    auto sent = connection->send(send.lane, send.priority, std::move(payload));
    if (sent) {
        ++counters_.messages_sent;
        counters_.bytes_sent += size;
    } else if (sent.error().code == base::Errc::would_block) {
        ++counters_.refused_sends;
        events_.emplace_back(
            event::Refused{send.channel, send.lane, send.priority, std::move(send.bytes)});
    }
}

void Thread::carry_out(const command::Close& close) {
    if (Connection* connection = find(close.channel)) {
        connection->close(CloseReason::local, close.text);
    }
}

void Thread::carry_out(const command::Connect& connect) {
    if (is_stopping_) return fail_connect(connect.address, CloseReason::local, "the node stops");
    if (!has_room()) {
        return fail_connect(
            connect.address,
            CloseReason::limit,
            "all " + std::to_string(options_.channels_max) + " channels are in use");
    }
    dial(connect);
}

void Thread::fail_connect(const std::string& address, CloseReason reason, std::string text) {
    events_.emplace_back(
        event::ConnectFailed{address, {.reason = reason, .text = std::move(text)}});
}

// --- Connecting and accepting ---------------------------------------------------------------

void Thread::dial(const command::Connect& connect) {
    const auto address = split(connect.address);
    if (!address) {
        return fail_connect(connect.address, CloseReason::lost, "the address is not host:port");
    }
    ++dialing_;
    const auto dialing = std::make_shared<Dialing>(context_, connect);
    dialing->timeout.expires_after(options_.dial_max);
    dialing->timeout.async_wait([dialing](const error_code& error) {
        if (error) return;
        dialing->is_late = true;
        error_code ignored;
        dialing->socket.close(ignored);
    });
    const auto on_connected = [this, dialing](const error_code& error, const tcp::endpoint&) {
        dialed(dialing, error);
        end_turn();
    };
    resolver_.async_resolve(address->host,
                            address->port,
                            [this, dialing, on_connected](const error_code& error,
                                                          const Resolver::results_type& found) {
                                if (error || dialing->is_late) {
                                    dialed(dialing, error ? error : asio::error::timed_out);
                                    return end_turn();
                                }
                                note_dialed(found);
                                asio::async_connect(dialing->socket, found, on_connected);
                            });
}

void Thread::note_dialed(const Resolver::results_type& found) {
    for (const auto& each : found)
        callers_.note_known(origin_of(each.endpoint().address()), now());
}

void Thread::dialed(const std::shared_ptr<Dialing>& dialing, const error_code& error) {
    --dialing_;
    dialing->timeout.cancel();
    const command::Connect& connect = dialing->connect;
    if (dialing->is_late) {
        return fail_connect(connect.address, CloseReason::timed_out, "no answer in time");
    }
    if (error) return fail_connect(connect.address, CloseReason::lost, error.message());
    if (is_stopping_) return fail_connect(connect.address, CloseReason::local, "the node stops");
    error_code gone;
    const tcp::endpoint remote = dialing->socket.remote_endpoint(gone);
    if (gone) return fail_connect(connect.address, CloseReason::lost, gone.message());
    adopt(std::move(dialing->socket),
          {.id = next_id(),
           .address = connect.address,
           .is_outbound = true,
           .expected = connect.expected,
           .origin = origin_of(remote.address())});
}

void Thread::accept(Acceptor& acceptor) {
    acceptor.async_accept([this, &acceptor](const error_code& error, tcp::socket socket) {
        if (is_stopping_) return;
        if (error) {
            // Out of descriptors, most likely; at once again would be a busy loop.
            failed_acceptors_.push_back(&acceptor);
            return;
        }
        ++counters_.accepted;
        take_socket(std::move(socket));
        accept(acceptor);
        end_turn();
    });
}

void Thread::take_socket(Connection::Socket socket) {
    error_code error;
    const tcp::endpoint remote = socket.remote_endpoint(error);
    if (error) return;
    const ChannelId id = next_id();
    Caller caller{std::move(socket), text_of(remote), origin_of(remote.address())};
    const Callers::Arrival arrival = callers_.arrive(id, caller.origin, now());
    if (arrival.is_too_often) {
        ++counters_.refused;
        return complain(caller.address, "rate", "too many connections from " + caller.origin);
    }
    if (const auto& other = arrival.gives_way) {
        ++counters_.refused;
        complain(waiting_.at(other->channel).address, "unfinished", other->text);
        waiting_.erase(other->channel);
    }
    waiting_.emplace(id, std::move(caller));
    serve_callers();
}

void Thread::serve_callers() {
    while (const auto turn = callers_.next(now())) {
        auto caller = waiting_.extract(turn->channel);
        CHECK(!caller.empty());
        begin_handshake(std::move(caller.mapped()), turn->is_known);
    }
}

void Thread::begin_handshake(Caller caller, bool is_known) {
    if (!has_room()) {
        ++counters_.refused;
        return complain(caller.address,
                        "full",
                        "all " + std::to_string(options_.channels_max) + " channels are in use");
    }
    Handshakes& handshakes = is_known ? known_handshakes_ : handshakes_;
    if (const auto victim = handshakes.make_room(caller.origin)) {
        ++counters_.refused;
        connections_.at(victim->channel)->fail(CloseReason::limit, victim->text);
    }
    const ChannelId id = next_id();
    handshakes.add(id, caller.origin);
    adopt(std::move(caller.socket),
          {.id = id, .address = std::move(caller.address), .origin = std::move(caller.origin)});
}

// For one more channel. Where there is none, the oldest that has but its goodbye to say ends now:
// peers that come, are turned away and stay must not keep others out.
bool Thread::has_room() {
    if (connections_.size() - ended_.size() + dialing_ < options_.channels_max) return true;
    const auto closing = std::ranges::find_if(
        connections_, [](const auto& item) { return item.second->is_closing(); });
    if (closing == connections_.end()) return false;
    closing->second->fail(CloseReason::limit, "");  // For the reason that it was closed for.
    return true;
}

void Thread::end_handshake(ChannelId id) {
    handshakes_.remove(id);
    known_handshakes_.remove(id);
}

void Thread::adopt(Connection::Socket socket, Connection::Identity identity) {
    set_up(socket, options_.stall_max);
    const ChannelId id = identity.id;
    ConnectionOwner& owner = *this;
    const auto added = connections_.emplace(
        id, std::make_unique<Connection>(owner, tls_, std::move(socket), std::move(identity)));
    added.first->second->start();
}

// --- What connections say -------------------------------------------------------------------

Verdict Thread::admit(const PeerKey& peer, bool outbound) {
    return host_.admit(peer, outbound);
}

void Thread::on_open(Connection& connection) {
    ++counters_.channels;
    is_status_old_ = true;
    const Connection::Identity& identity = connection.identity();
    end_handshake(identity.id);
    up_since_.emplace(identity.id, now());
    const auto others = identity.is_outbound ? "" : others_of("connected");
    if (others) {
        log_.info("peer connected channel={} key={} address={} outbound={}{}",
                  identity.id.value,
                  connection.peer().to_string(),
                  identity.address,
                  identity.is_outbound,
                  *others);
    }
    events_.emplace_back(event::Up{.channel = identity.id,
                                   .peer = connection.peer(),
                                   .address = identity.address,
                                   .outbound = identity.is_outbound,
                                   .binding = connection.binding()});
}

void Thread::on_kind(Connection& connection, Kind kind, const std::string& why) {
    if (kind == Kind::tcp) {
        --counters_.fast;
    } else {
        ++counters_.fast;
    }
    is_status_old_ = true;
    log_.info(
        "path changed channel={} kind={} reason={}", connection.id().value, to_string(kind), why);
}

void Thread::on_ended(Connection& connection, const CloseInfo& info) {
    const ChannelId id = connection.id();
    end_handshake(id);
    ended_.push_back(id);
    is_status_old_ = true;
    complain(connection, info);
    up_since_.erase(id);
    if (connection.was_open()) {
        --counters_.channels;
        events_.emplace_back(event::Down{id, info});
        return;
    }
    if (info.reason == CloseReason::refused) ++counters_.refused;
    if (connection.identity().is_outbound) {
        events_.emplace_back(event::ConnectFailed{connection.identity().address, info});
    }
}

std::optional<std::string> Thread::others_of(const std::string& cause) {
    const auto others = lines_.allow(now(), cause);
    if (!others) return {};
    return *others == 0 ? "" : " others=" + std::to_string(*others);
}

void Thread::complain(const std::string& address,
                      const std::string& cause,
                      const std::string& text) {
    const auto others = others_of(cause);
    if (others) log_.warn("connection refused address={} reason={}{}", address, text, *others);
}

void Thread::complain(const Connection& connection, const CloseInfo& info) {
    const bool is_ours = connection.identity().is_outbound || is_up_for_long(connection.id());
    const auto others = is_ours ? "" : others_of(std::string(to_string(info.reason)));
    if (!others) return;
    log_.info("connection ended channel={} address={} reason={} by_peer={} text={}{}",
              connection.id().value,
              connection.identity().address,
              to_string(info.reason),
              info.by_peer,
              info.text,
              *others);
}

void Thread::on_message(Connection& connection, Message message) {
    ++counters_.messages_received;
    counters_.bytes_received += message.bytes.size();
    events_.emplace_back(event::Received{connection.id(), std::move(message)});
}

void Thread::on_writable(Connection& connection, Lane lane) {
    events_.emplace_back(event::Writable{connection.id(), lane});
}

}  // namespace transport::tcp
