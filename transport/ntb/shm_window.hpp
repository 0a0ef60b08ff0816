#pragma once

#include "transport/descriptor.hpp"
#include "transport/ntb/shm_memory.hpp"
#include "transport/ntb/shm_socket.hpp"
#include "transport/ntb/window.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace transport::ntb {

// Waits on the sockets of windows. Calls nobody back from within.
class ShmWatch {
  public:
    virtual ~ShmWatch() = default;

    // False: it can't be waited on.
    [[nodiscard]] virtual bool watch(int socket, std::uint64_t window) = 0;
    virtual void unwatch(int socket) = 0;
    virtual void forget(std::uint64_t window) = 0;
};

// A window between two processes of one host: each makes its own inbound memory and hands it to
// the other over a Unix socket, to which the follower connects and on which both ring afterwards.
// The socket also tells when the other process has ended.
//
// Thread: one.
class ShmWindow final : public MemoryWindow {
  public:
    struct Identity {
        std::uint64_t id = 0;
        bool leads = false;
        Token token{};        // Leader: which connection is for this window.
        Token peer_socket{};  // Follower: where to connect.
    };

    ShmWindow(ShmWatch& watch, Identity identity, std::unique_ptr<SharedMemory> own);
    ~ShmWindow() override;

    [[nodiscard]] base::Bytes place() const override;
    [[nodiscard]] base::Result<void> connect(base::ByteView peer_place,
                                             std::size_t peer_bytes) override;
    [[nodiscard]] Link link() const override { return link_; }
    [[nodiscard]] const std::string& failure() const override { return failure_; }

    [[nodiscard]] std::span<std::byte> inbound() override;
    [[nodiscard]] std::span<std::byte> outbound() override;
    [[nodiscard]] ring::MappedStore::Mapping mapping() const override {
        return ring::MappedStore::Mapping::of_two;
    }
    [[nodiscard]] std::uint32_t read_scratchpad(unsigned number) const override;
    void write_scratchpad(unsigned number, std::uint32_t value) override;
    void ring_doorbell() override;

    // Leader: whether a connection with this token is for us, and still wanted.
    [[nodiscard]] bool awaits(const Token& token) const;
    void attach(Descriptor socket, Descriptor memory);
    // Something can be read from the socket.
    void on_socket();

  private:
    [[nodiscard]] base::Result<void> connect_to_leader(base::ByteView leader_place);
    void receive_memory();
    // Maps what the peer gave, once its size is known.
    void open_peer();
    void fail(std::string why);

    ShmWatch& watch_;
    Identity identity_;
    std::unique_ptr<SharedMemory> own_;
    std::unique_ptr<SharedMemory> peer_;
    Descriptor socket_;
    Descriptor offered_;                     // The peer's memory, not mapped yet.
    std::optional<std::size_t> peer_bytes_;  // As promised.
    Link link_ = Link::down;
    std::string failure_;
};

}  // namespace transport::ntb
