#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "base/rng.hpp"
#include "base/time.hpp"
#include "transport/link/prelude.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace transport::link {

// What Detection asks of the connection that it serves: TCP's side and the fast kinds' side.
// Called from within Detection's functions; must not call those that change it.
class PathOwner {
  public:
    virtual ~PathOwner() = default;

    // Sends a frame by TCP, in order with messages.
    virtual void send_prelude(base::Bytes payload) = 0;
    // What we have for this peer now.
    virtual std::vector<Offer> offers() = 0;
    // Takes resources for a path to the peer's address; our parameters.
    virtual base::Result<base::Bytes> prepare(Kind kind, base::ByteView peer_address) = 0;
    // Connects what was prepared to the peer's parameters.
    virtual base::Result<void> bring_up(base::ByteView peer_parameters) = 0;
    // Writes the number through the new path; may be lost.
    virtual void write_probe(std::uint64_t nonce) = 0;
    // Finish the messages that are begun on TCP, begin none, and call tcp_finished().
    virtual void finish_tcp() = 0;
    // The peer's messages come by the fast path from now on; not one was taken from it before.
    virtual void receive_fast() = 0;
    // Takes nothing more from the fast path and gives back its resources; what has arrived. If
    // messages went by it, none is sent until replay().
    virtual NextNumbers stop_fast() = 0;
    // Send by TCP what the peer lacks of the messages that went by the fast path, then others.
    virtual void replay(const NextNumbers& peer_next) = 0;
};

// Finds out whether two connected nodes have a faster path, changes to it, and back when it
// fails: "context detection" of the thesis, section 3.4.1, with proof instead of belief. Both ends
// must see the other's number through the path before either uses it; TCP stays open and carries
// everything until then and again afterwards.
//
// Pure: time comes as an argument. The end that opened the TCP connection leads: it chooses the
// kind and decides when to try again (30 s, doubling up to 10 minutes, for each kind). The other
// takes part in no attempt that comes much too early.
class Detection : base::Pinned {
  public:
    enum class State : std::uint8_t {
        offering,   // Our offer is sent, the peer's is not here.
        tcp,        // Established on TCP.
        preparing,  // Leader: our parameters are sent, the peer's are not here.
        probing,    // The path is up; numbers are written through it.
        switching,  // Proved both ways; one of the ends still sends by TCP.
        fast,       // Established on the fast path.
        resuming,   // Given up; the peer has not confirmed it.
    };
    struct Options {
        bool leads = false;
        base::Duration answer_max = std::chrono::seconds(1);
        base::Duration probe_max = std::chrono::seconds(1);
        int probe_tries = 3;
        base::Duration backoff_first = std::chrono::seconds(30);
        base::Duration backoff_max = std::chrono::minutes(10);
        std::uint64_t nonce_seed = 0;
    };

    Detection(const Options& options, PathOwner& owner)
        : options_(options), owner_(owner), rng_(options_.nonce_seed) {}

    void start(base::Timestamp now);
    // invalid, malformed: the peer broke the protocol; the connection must end.
    [[nodiscard]] base::Result<void> on_prelude(base::Timestamp now, base::ByteView payload);
    void on_probe(base::Timestamp now, std::uint64_t nonce);  // Came through the new path.
    void tcp_finished(base::Timestamp now);                   // Answers finish_tcp().
    void on_fast_failed(base::Timestamp now, std::string why);
    void tick(base::Timestamp now);

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] Kind kind() const { return state_ == State::fast ? kind_ : Kind::tcp; }
    // The peer has answered our first offer: it has admitted us.
    [[nodiscard]] bool is_established() const { return is_established_; }
    // The same at both ends of an attempt; no other attempt of this connection has it.
    [[nodiscard]] std::uint32_t attempt() const { return attempt_; }
    // When tick() has something to do.
    [[nodiscard]] std::optional<base::Timestamp> wake_at() const;
    // Why no faster kind is used; for people. Empty: one is, or is being tried.
    [[nodiscard]] const std::string& why_not() const { return why_not_; }

  private:
    struct Backoff {
        int failures = 0;
        base::Duration delay{};
        base::Timestamp until{};
    };

    [[nodiscard]] base::Result<void> on(base::Timestamp now, const prelude::Offers& offers);
    [[nodiscard]] base::Result<void> on(base::Timestamp now, const prelude::Accept& accept);
    [[nodiscard]] base::Result<void> on(base::Timestamp now, const prelude::Probed& probed);
    [[nodiscard]] base::Result<void> on(base::Timestamp now, const prelude::Switch& change);
    [[nodiscard]] base::Result<void> on(base::Timestamp now, const prelude::Resume& resume);
    void send_offers();
    void lead(base::Timestamp now, const std::vector<Offer>& theirs);
    [[nodiscard]] base::Result<void> answer(base::Timestamp now, const prelude::Accept& accept);
    [[nodiscard]] bool has_common_kind() const;
    [[nodiscard]] std::string why_nothing_common() const;
    [[nodiscard]] const Offer* find_offer(const std::vector<Offer>& offers, Kind kind) const;
    void begin_probing(base::Timestamp now);
    void write_probe(base::Timestamp now);
    void switch_if_proved();
    void finish_switch();
    void give_up(base::Timestamp now, std::string why);
    void resume();
    [[nodiscard]] bool has_just_failed(base::Timestamp now, Kind kind) const;
    [[nodiscard]] base::Duration delay_after(int failures) const;
    void back_off(base::Timestamp now);
    void plan_retry(base::Timestamp now);

    Options options_;
    PathOwner& owner_;
    base::Rng rng_;
    State state_ = State::offering;
    bool is_established_ = false;
    std::uint32_t attempt_ = 0;
    std::vector<Offer> our_offers_;
    std::vector<Offer> peer_offers_;
    Kind kind_ = Kind::tcp;
    base::Timestamp deadline_{};
    base::Timestamp next_probe_{};
    std::uint64_t nonce_ = 0;
    std::optional<std::uint64_t> peer_nonce_;
    bool is_probed_ = false;  // The peer has seen our nonce.
    bool has_switched_ = false;
    bool peer_switched_ = false;
    base::Timestamp fast_since_{};
    std::map<Kind, Backoff> backoffs_;
    std::optional<base::Timestamp> retry_at_;
    int vain_offers_ = 0;  // For a kind that an end does not have.
    std::string why_not_;
};

}  // namespace transport::link
