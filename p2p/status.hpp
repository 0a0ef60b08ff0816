#pragma once

#include "base/time.hpp"
#include "chain/types/name.hpp"
#include "p2p/messages.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace p2p {

class Door;  // access.hpp

enum class PeerState : std::uint8_t {
    greeting,  // Its hello has not come, or is being checked.
    accepted,  // Its hello is good; its notice, which accepts ours, has not come.
    ready,
};
[[nodiscard]] std::string_view to_string(PeerState state);

// One peer, for /v1/net/connections, /v1/bor/peers and `doctor`.
struct PeerStatus {
    ChannelId channel;
    std::string address;
    std::string listen_address;  // As it says.
    std::string agent;
    PublicKey key;
    chain::Name organisation;  // Empty: in no list.
    std::uint8_t roles = 0;    // As registered.
    bool outbound = false;
    PeerState state = PeerState::greeting;
    SyncMode mode = SyncMode::none;  // Where we stand towards it.
    int score = 0;                   // 100 is best, 0 costs the connection.
    std::optional<base::Duration> round_trip;
    std::optional<base::Duration> clock_offset;  // Its clock minus ours.
    std::uint64_t bytes_received = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t messages_received = 0;
    std::uint64_t messages_dropped = 0;  // Beyond its budget.
    base::Timestamp connected_since{};
    base::Timestamp last_message{};
    BlockPoint finalized;
    BlockPoint head;
    Stored stored;
    std::uint32_t rules_version = 0;
    RecoveryPoint recovery;            // The newest that it follows; zeros: none.
    std::vector<PublicKey> vote_keys;  // Proved to be there.
};

// An address that we keep connected.
struct DialStatus {
    std::string address;
    std::optional<PublicKey> pinned;
    bool connected = false;
    std::uint32_t failures = 0;  // In a row.
    base::Timestamp next_try{};
    std::string last_error;
};

// How far a snapshot is that comes from peers.
struct SnapshotStatus {
    std::string stage;
    SnapshotPoint snapshot;
    std::uint32_t chunks = 0;  // Stored here, of
    std::uint32_t chunks_all = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t bytes_per_second = 0;
    std::uint32_t sources = 0;            // Peers that have it.
    std::optional<base::Duration> eta{};  // Until it is loaded; absent: not measured yet.
    std::string waiting_for;              // As in SyncStatus.
};

// How far this node is, for the log, /v1/bor/sync and progress bars.
struct SyncStatus {
    SyncMode mode = SyncMode::none;  // none: no peer yet.
    std::uint32_t peers = 0;         // That are ready.
    chain::Height height = 0;        // Of our head.
    chain::Height target = 0;        // What the best peer has.
    std::uint32_t blocks_per_second = 0;
    std::uint64_t bytes_per_second = 0;
    std::uint32_t ranges_in_flight = 0;
    std::uint64_t bytes_waiting = 0;      // Received, not taken by the ledger yet.
    std::optional<base::Duration> eta{};  // Absent: not known, or there.
    std::string waiting_for;              // Why nothing moves, in a sentence; empty: it does.
    // A node at genesis: whom it waits for before it believes any (Gate); empty: it does.
    std::string gate_waits_for{};
    std::optional<SnapshotStatus> snapshot{};  // While one is fetched.
};

struct Status {
    std::shared_ptr<const Door> door{};  // Null before the registry, or the genesis list, is known.
    std::vector<PeerStatus> peers;
    std::vector<DialStatus> dials;
    SyncStatus sync;
    std::uint64_t go_aways_sent = 0;
    std::uint64_t go_aways_received = 0;
    std::uint64_t duplicates_dropped = 0;
};

}  // namespace p2p
