#pragma once

#include "base/pinned.hpp"
#include "node/bps/core/broker.hpp"
#include "node/bps/core/login.hpp"
#include "node/bps/core/token.hpp"
#include "node/bps/server/kafka_listener.hpp"
#include "node/bps/service/fair_queue.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace bps {

// Clients' requests from frames to the broker, and the answers back: who asks is known here, and is
// asked again before an answer leaves (spec 08, "authorisation").
//
// Thread: that of the broker.
class Gateway final : public KafkaListener::Handler {
  public:
    struct Settings {
        // As the listeners' rows in `brokers` have them.
        std::string protocol_of_tls;
        std::string protocol_of_plain;
    };
    // All of it outlives this.
    struct World {
        Broker& broker;
        KafkaListener& listener;
        const TokenJudge& judge;
        Quotas& quotas;
    };
    Gateway(Settings settings, const World& world)
        : settings_(std::move(settings)), world_(world) {}

    // Takes what the listener has, and asks the broker for a turn's time; what that wants done is
    // added to `out`. True: more waits.
    [[nodiscard]] bool deliver(std::int64_t now, Effects& out);
    // When deliver() has something to do again, whatever comes meanwhile.
    [[nodiscard]] std::optional<std::int64_t> next_time() const { return waiting_.next_release(); }
    // Gives answers to their connections. One whose session has ended is closed instead.
    void send(std::int64_t now, std::vector<Reply>& replies);
    // Closes connections whose session has ended, also where nothing is asked on them: a bounded
    // number, from where the last call ended.
    void end_sessions(std::int64_t now);
    [[nodiscard]] const LoginCounts& logins() const { return counts_; }
    // What was answered: by key, and the first error that the answer tells.
    using Answered = std::map<std::pair<std::int16_t, ErrorCode>, std::uint64_t>;
    [[nodiscard]] const Answered& answered() const { return answered_; }
    // Of batches, to consumers.
    [[nodiscard]] std::uint64_t sent_bytes() const { return sent_bytes_; }
    [[nodiscard]] std::size_t connections() const { return sessions_.size(); }
    // Answers after which the client was not read for a while, by its tenant's quota.
    [[nodiscard]] std::uint64_t throttled() const { return throttled_; }

    void on_open(std::uint64_t connection, const ClientPeer& peer) override;
    void on_request(const RequestId& id, Frame frame) override;
    void on_closed(std::uint64_t connection) override;

  private:
    struct Session {
        Session(const TokenJudge& judge, LoginCounts& counts, ClientPeer who)
            : peer(std::move(who)),
              login(judge,
                    counts,
                    {.is_loopback = peer.is_loopback, .certificate = peer.certificate}) {}

        ClientPeer peer;
        Login login;
        bool is_admitted = false;
        bool has_closed = false;  // What it asked before may wait yet.
    };

    [[nodiscard]] Tenant tenant_of(std::uint64_t connection) const;
    // Until when nothing of this tenant is carried out; nothing: it is now.
    [[nodiscard]] std::optional<std::int64_t> held_until(Tenant tenant) const;
    void serve(FairQueue::Item& item);
    void end_session(std::uint64_t connection);
    void answer(const RequestId& id, Session& session, Frame& frame);
    // Bytes that Produce and Fetch do not count by themselves. For how long the tenant is not read.
    [[nodiscard]] std::int32_t charge(const Reply& reply);
    void ask_broker(const RequestId& id,
                    Session& session,
                    const RequestHeader& header,
                    const Request& request,
                    Frame& frame);
    void close(const RequestId& id, std::string reason);
    void give(Reply reply);
    void mute(chain::Name tenant, std::int32_t milliseconds);
    // Reads nothing of tenants that are over their quota: of all connections of each, lest it goes
    // on by another one.
    void mute_tenants();
    // False: its tenant has as many connections as its quota says, and it is closed.
    [[nodiscard]] bool admit(std::uint64_t connection, Session& session);

    const Settings settings_;
    const World world_;
    LoginCounts counts_;
    Answered answered_;
    std::uint64_t sent_bytes_ = 0;
    std::uint64_t throttled_ = 0;
    std::map<std::uint64_t, std::unique_ptr<Session>> sessions_;  // By connection.
    std::uint64_t next_looked_at_ = 0;                            // By end_sessions().
    FairQueue waiting_;
    // Milliseconds for which nothing is to be read of a tenant, after this turn.
    std::map<chain::Name, std::int32_t> to_mute_;
    // Of the call of deliver() that is under way.
    std::int64_t now_ = 0;
    Effects* out_ = nullptr;
};

}  // namespace bps
