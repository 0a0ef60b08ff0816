#pragma once

#include "base/log.hpp"
#include "p2p/messages.hpp"
#include "transport/tcp/thread.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace hostile {

// Who is called, and the key that it must show.
struct Target {
    std::string address;
    base::crypto::PublicKey key;
};

class NoLog : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level /*level*/) const override { return false; }
    void write(base::Level, std::string_view, std::string_view) override {}
};

// A node that is registered and means harm: its real transport with a key of its own. It speaks
// to every target at once, as an honest node would at first. Thread: the owner's.
class Peer : public transport::Host {
  public:
    Peer(const base::crypto::PrivateKey& key, chain::ChainId chain_id);
    ~Peer() override;

    // What a target has said; its conversation was begun where `message` is nothing.
    struct Heard {
        transport::ChannelId channel;
        std::optional<p2p::Body> message;
    };

    void connect(const Target& target);
    // The next thing within this time; it answers hello and notice by itself.
    [[nodiscard]] std::optional<Heard> hear(std::chrono::milliseconds patience);
    void say(transport::ChannelId channel, const p2p::Body& body);
    void hang_up(transport::ChannelId channel);
    // From now on it says that it stands there, and has all blocks up to it.
    void claim(const p2p::BlockPoint& point) { claim_ = point; }
    // As said by the targets: why they closed.
    [[nodiscard]] const std::vector<std::string>& closed() const { return closed_; }

    [[nodiscard]] transport::Verdict admit(const transport::PeerKey&, bool) override {
        return {true, {}};
    }
    void on_events(std::vector<transport::Event>& events) override;

  private:
    [[nodiscard]] std::optional<transport::Event> next(std::chrono::milliseconds patience);
    void answer(transport::ChannelId channel, const p2p::Body& body);
    void post(transport::Command command);

    chain::ChainId chain_id_;
    NoLog no_log_;
    std::vector<std::string> closed_;
    std::optional<p2p::BlockPoint> claim_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<transport::Event> events_;  // The oldest first.
    transport::tcp::Thread thread_;         // The last: it calls on_events().
};

}  // namespace hostile
