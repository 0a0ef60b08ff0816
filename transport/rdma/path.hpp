#pragma once

#include "base/time.hpp"
#include "transport/link/fast_path.hpp"
#include "transport/link/schedule.hpp"
#include "transport/rdma/landing.hpp"
#include "transport/rdma/memory.hpp"
#include "transport/rdma/neighbour.hpp"
#include "transport/rdma/parameters.hpp"
#include "transport/rdma/queue_pair.hpp"
#include "transport/ring/consumer.hpp"
#include "transport/ring/producer.hpp"
#include "transport/ring/seal.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace transport::rdma {

// What a path holds of its device; lives on for a moment when the path is gone, until the device
// has let go of it. Torn down in the reverse order.
struct Holdings {
    DomainPtr domain;                 // Of this peer alone: its key opens nothing else.
    std::unique_ptr<Memory> inbound;  // Cell of credit, rings, landings, which the peer writes.
    std::unique_ptr<Memory> mirror;   // What we write to the peer's, at the same places.
    std::unique_ptr<QueuePair> pair;
};

// Who gave a path what it holds. Calls nobody back from within.
class Lender {
  public:
    virtual ~Lender() = default;

    // Memory of so many bytes in the domain of `holdings`, within this node's bounds.
    [[nodiscard]] virtual base::Result<std::unique_ptr<Memory>> lend(Holdings& holdings,
                                                                     std::size_t bytes,
                                                                     Memory::Use use) = 0;
    // Runs the path when the descriptor, which it closes itself, can be read. False: it can't be.
    [[nodiscard]] virtual bool watch(int fd) = 0;
    // How many landings each peer may have under way now.
    [[nodiscard]] virtual std::size_t landings_now() const = 0;
    // The path is gone. `says_goodbye`: the peer may still be told.
    virtual void take_back(std::uint32_t pair, bool says_goodbye) = 0;
};

// A path by writes with immediate: each record of a ring is one, and lies there when its immediate
// has come, which takes a receive of the peer's; so there are two credits, of bytes and of
// receives. Both come back in one plain write, that nothing has to be waiting for: when half is
// used up or the peer asks; before that with what is sent anyway; and in the end by itself.
//
// What is lost is a wake-up at most: a side that is owed looks after 1 ms, then later and later.
//
// Thread: one.
class RdmaPath final : public link::FastPath, public link::Scheduled {
  public:
    struct Setting {
        const Device* device = nullptr;
        QueuePair::Patience patience{};
        Address peer{};
        Parameters ours{};
        bool leads = false;
    };

    // All outlive the path.
    RdmaPath(Lender& lender,
             Holdings& holdings,
             const Setting& setting,
             const link::PathSecrets& secrets,
             link::Schedule& schedule,
             link::FastUser& user);
    ~RdmaPath() override;

    [[nodiscard]] base::Bytes parameters() const override { return encode(setting_.ours); }
    [[nodiscard]] base::Result<void> bring_up(base::ByteView peer_parameters) override;

    [[nodiscard]] base::Result<std::optional<Received>> peek() override;
    void consume(Lane lane) override;
    void call_again() override { schedule_.mark_ready(*this); }

    [[nodiscard]] bool has_room(Lane lane) override;
    void send(Lane lane, base::ByteView record) override;
    [[nodiscard]] bool has_landings() const override;
    [[nodiscard]] std::size_t landing_room() override;
    void land(std::span<const link::Part> parts) override;
    [[nodiscard]] base::Result<void> take_landing(const link::Landing& landing,
                                                  std::span<std::byte> out) override;
    [[nodiscard]] std::uint64_t sent(Lane lane) const override;
    [[nodiscard]] std::uint64_t taken(Lane lane) const override;

    [[nodiscard]] base::Result<void> begin_turn() override;
    void end_turn(base::Timestamp now) override;
    [[nodiscard]] base::Result<void> tick(base::Timestamp now) override;

    void run() override { user_.on_fast_ready(); }
    [[nodiscard]] bool arm() override { return true; }

    // Something was heard of the network. Taken at once, whether the user reads now or not: else
    // the thread would be woken by it again and again.
    void on_network();
    // What the completion queue tells.
    void on_receive(std::uint32_t immediate, std::uint32_t bytes);
    void on_sent(std::uint64_t id);
    void fail(std::string why);

  private:
    // One direction of a lane each.
    struct Out {
        std::unique_ptr<ring::Seal> seal;
        std::unique_ptr<ring::RecordPlacer> placer;
    };
    struct In {
        std::unique_ptr<ring::Seal> seal;
        std::unique_ptr<ring::Consumer> consumer;
        std::uint64_t announced = 0;  // As far as immediates have said.
    };

    [[nodiscard]] static std::size_t index(Lane lane) { return static_cast<std::size_t>(lane); }
    // Goes on when the peer is found.
    [[nodiscard]] base::Result<void> come_up();
    [[nodiscard]] base::Result<void> connect();
    void open_rings();
    void open_landings();
    void send(const Immediate& announcement, base::ByteView frames);
    void add_landed(const LandingWriter::Written& written);
    void on_record(const Immediate& immediate, std::uint32_t bytes);
    [[nodiscard]] base::Result<std::optional<Received>> peek(Lane lane);
    // Whether we may write at all: the peer is known to be ready.
    [[nodiscard]] bool is_open() const { return peers_ && has_heard_ && failure_.empty(); }
    [[nodiscard]] std::size_t free_immediates() const;
    [[nodiscard]] base::ByteView place(Lane lane, const ring::StoredRecord& record);
    void add(const QueuePair::Write& write);
    // What we took so far, and whether one of its numbers went on by a part of all that there is.
    [[nodiscard]] Credit taken() const;
    [[nodiscard]] bool has_taken(const Credit& now, std::size_t part) const;
    [[nodiscard]] bool is_asked() const;
    void return_credit(base::Timestamp now);
    void add_credit(const Credit& now, bool wakes);
    void look_again(base::Timestamp now);

    Lender& lender_;
    Holdings& holdings_;
    Setting setting_;
    link::PathSecrets secrets_;
    link::Schedule& schedule_;
    link::FastUser& user_;

    std::optional<Parameters> promised_;    // The peer's, until we are connected.
    std::unique_ptr<Neighbour> neighbour_;  // While it is looked for,
    bool is_found_ = false;                 // and then until we are connected.
    std::optional<Parameters> peers_;
    bool has_heard_ = false;  // Of the peer, or we lead and know that it is ready.
    std::string failure_;
    std::array<Out, kLanes> out_;
    std::array<In, kLanes> in_;
    std::unique_ptr<LandingWriter> landings_out_;
    std::unique_ptr<LandingReader> landings_in_;

    Credit credit_{};                            // What the peer has said.
    Credit told_{};                              // What we have,
    std::optional<base::Timestamp> tells_at_{};  // and when we tell the rest, at the latest.
    std::uint64_t received_ = 0;                 // Immediates.
    std::uint64_t announced_ = 0;                // Immediates that we sent.
    bool waits_for_room_ = false;
    base::Duration again_{};
    std::uint64_t moved_ = 0;  // Grows with whatever is sent or taken.
    base::Timestamp posted_at_{};
    bool has_posted_ = false;  // Since the last turn ended.
};

}  // namespace transport::rdma
