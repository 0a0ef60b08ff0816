// The sync manager by itself: what it asks for, and what it takes.
#include "p2p/sync.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <optional>

namespace p2p {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr PeerSlot kPeer = 1;

SyncManager::Source source(chain::Height first, chain::Height last) {
    return {.slot = kPeer, .first = first, .last = last, .round_trip = milliseconds(1)};
}

}  // namespace

// Whoever is registered may say that far more is final. It leaves the first range unanswered, so
// that nothing of the second is looked at, and fills that: an answer has no bound in bytes.
TEST_CASE("the answer to a range takes no more memory than was asked for", "[sync]") {
    constexpr chain::Height kFinal = 10;
    constexpr chain::Height kClaimed = 1'000'000;
    constexpr std::uint32_t kMessage = 8U << 20U;  // With one block of junk.
    const base::Timestamp now(seconds(1'000));
    SyncManager sync{std::optional<Checkpoint>()};
    sync.start(now, {kFinal, {}});
    const auto asks = sync.plan(now, {source(1, kClaimed)}, kClaimed);
    REQUIRE(asks.size() == 2);
    const SyncManager::Ask& second = asks[1];
    chain::BlockHeader header;
    header.height = second.request.from;
    std::uint64_t taken = 0;
    for (; header.height <= second.request.to; ++header.height) {
        if (!sync.is_asked(kPeer, second.correlation)) break;
        const auto block = chain::make_block({header, {}}, {}, {});
        const Envelope envelope{
            .type = MessageType::blocks, .length = kMessage, .correlation = second.correlation};
        if (sync.on_blocks(now, kPeer, envelope, Blocks{{block}})) break;
        taken += kMessage;
        header.previous = block->id;
    }
    INFO((taken >> 20U) << " MiB were taken");
    CHECK(taken <= kRangeBytesMax + kMessage);
}

// It began anew below blocks that had come before: they became final, and all peers have pruned.
TEST_CASE("sync goes on from what became final meanwhile", "[sync]") {
    const base::Timestamp now(seconds(1'000));
    SyncManager sync{std::optional<Checkpoint>()};
    sync.start(now, {23, {}});
    CHECK(sync.plan(now, {source(30, 44)}, 44).empty());
    sync.on_final(now, {35, {}});
    const auto asks = sync.plan(now + seconds(1), {source(30, 44)}, 44);
    REQUIRE(asks.size() == 1);
    CHECK(asks[0].request.from == 36);
    CHECK(asks[0].request.to == 44);
    // What is on its way is not asked for again.
    sync.on_final(now + seconds(1), {35, {}});
    CHECK(sync.is_asked(kPeer, asks[0].correlation));
}

}  // namespace p2p
