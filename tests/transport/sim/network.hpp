#pragma once

#include "base/pinned.hpp"
#include "base/time.hpp"
#include "transport/io_thread.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace transport::sim {

// One message on its way, for who decides its fate.
struct Passage {
    PeerKey from{};
    PeerKey to{};
    Lane lane = Lane::control;
    Priority priority = 0;
    std::size_t bytes = 0;
};

// What becomes of a message.
struct Fate {
    base::Duration delay{};  // Never overtakes an earlier one of its lane and priority.
    bool breaks = false;     // The channel is reset in the middle of it, and it is lost.
};

// The faults and delays of the network: the simulator's, drawn from its seed. No message of a
// channel is lost alone, doubled or disordered: what the real kinds promise holds here too, and
// a loss is a channel that breaks.
class Weather {
  public:
    virtual ~Weather() = default;

    [[nodiscard]] virtual Fate fate_of(const Passage& passage) = 0;
    // How long a connection takes; empty: there is no way between the two now.
    [[nodiscard]] virtual std::optional<base::Duration> time_to_connect(const PeerKey& from,
                                                                        const PeerKey& to) = 0;
    // How long an end takes to notice that a channel broke.
    [[nodiscard]] virtual base::Duration time_to_notice(const PeerKey& who) = 0;
};

class Network;

// The I/O thread of one simulated node; commands are taken at the network's present time.
class Endpoint final : public IoThread {
  public:
    void post(std::vector<Command>& commands) override;

  private:
    friend class Network;
    Endpoint(Network& network, PeerKey key, std::string address, Host& host)
        : network_(network), key_(std::move(key)), address_(std::move(address)), host_(host) {}

    Network& network_;
    PeerKey key_;
    std::string address_;
    Host& host_;
};

// Channels between the nodes of one process, in virtual time and in an order that only the inputs
// decide. Hosts hear of everything in advance(), never from within post().
//
// Thread: one. Outlives its endpoints' use; every message is given back before it.
class Network : base::Pinned {
  public:
    // Of a lane in one direction, sent and not arrived; over it Send is refused.
    static constexpr std::size_t kQueuedBytesMax = std::size_t{8} << 20;

    Network(Weather& weather, BufferPool& pool) : weather_(weather), pool_(pool) {}

    // A node that listens at `address`. The host outlives its removal.
    Endpoint& add(const PeerKey& key, const std::string& address, Host& host);
    // The process dies: its channels break and it hears nothing more.
    void remove(Endpoint& endpoint);
    // Breaks every channel between two nodes.
    void cut(const PeerKey& one, const PeerKey& other);

    // When something happens next.
    [[nodiscard]] std::optional<base::Timestamp> next_at() const;
    // Lets happen what is due, one thing after the other, in the order of time.
    void advance(base::Timestamp now);
    [[nodiscard]] base::Timestamp now() const { return now_; }

  private:
    friend class Endpoint;
    // One end of a channel. The two have each other's number.
    struct End {
        Endpoint* owner = nullptr;
        ChannelId peer{};
        bool is_open = true;
        std::array<std::size_t, kLanes> queued{};  // On the way from here.
        std::array<bool, kLanes> was_full{};
        std::map<std::pair<Lane, Priority>, base::Timestamp> last_arrival{};
    };
    struct Arrival {
        Endpoint* to = nullptr;
        Event event;
        ChannelId sender{};  // For Received: whose queue it leaves.
    };
    struct Attempt {
        Endpoint* from = nullptr;
        command::Connect connect{};
    };
    // Ordered by time, then by the order of being planned.
    using Moment = std::pair<base::Timestamp, std::uint64_t>;

    void carry_out(Endpoint& from, command::Send& send);
    void carry_out(Endpoint& from, const command::Close& close);
    void carry_out(Endpoint& from, const command::Connect& connect);
    void connect(const Attempt& attempt);
    void break_channel(ChannelId id);
    void end_later(ChannelId id, base::Duration delay, CloseInfo info);
    void arrive(Arrival& arrival);
    void plan(base::Timestamp at, Arrival arrival);
    void tell(Endpoint& endpoint, Event event);
    [[nodiscard]] Moment moment(base::Timestamp at) { return {at, ++planned_}; }

    Weather& weather_;
    BufferPool& pool_;
    base::Timestamp now_{};
    std::uint64_t planned_ = 0;
    ChannelId last_id_{};
    std::vector<std::unique_ptr<Endpoint>> endpoints_;
    std::map<ChannelId, End> ends_;
    std::map<Moment, Arrival> arrivals_;
    std::map<Moment, Attempt> attempts_;
};

}  // namespace transport::sim
