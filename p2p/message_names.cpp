#include "p2p/messages.hpp"

#include <array>

// How logs and errors call what messages are made of.

namespace p2p {

std::string_view to_string(MessageType type) {
    constexpr std::array<std::string_view, kMessageTypes> kNames = {"none",
                                                                    "hello",
                                                                    "notice",
                                                                    "go_away",
                                                                    "time",
                                                                    "request",
                                                                    "sync_request",
                                                                    "header",
                                                                    "blocks",
                                                                    "transaction",
                                                                    "vote",
                                                                    "certificate",
                                                                    "snapshot_request",
                                                                    "snapshot_chunk",
                                                                    "ack",
                                                                    "clock",
                                                                    "range_proof"};
    return kNames[static_cast<std::size_t>(type)];
}

std::string_view to_string(SnapshotPart part) {
    constexpr std::array<std::string_view, 4> kNames = {"links", "proof", "manifest", "chunk"};
    return kNames[static_cast<std::size_t>(part)];
}

std::string_view to_string(Reason reason) {
    constexpr std::array<std::string_view, 18> kNames = {"none",
                                                         "self",
                                                         "duplicate",
                                                         "wrong_chain",
                                                         "wrong_version",
                                                         "forked",
                                                         "unlinkable",
                                                         "bad_block",
                                                         "bad_transaction",
                                                         "bad_vote",
                                                         "not_permitted",
                                                         "revoked",
                                                         "twin_key",
                                                         "flooding",
                                                         "behind",
                                                         "shutting_down",
                                                         "internal",
                                                         "other_recovery"};
    return kNames[static_cast<std::size_t>(reason)];
}

std::string_view to_string(SyncMode mode) {
    constexpr std::array<std::string_view, 4> kNames = {
        "none", "catch_up", "last_irr_catch_up", "normal"};
    return kNames[static_cast<std::size_t>(mode)];
}

}  // namespace p2p
