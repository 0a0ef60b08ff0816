#include "p2p/budget.hpp"

namespace p2p {

namespace {

using Rate = TokenBucket::Rate;

constexpr Rate kAcceptedBytes{64U << 20U, 64U << 20U};
constexpr std::uint64_t kKeys = 2 * chain::kProducersMax;  // Of two schedules.

constexpr Rate accepted_headers(std::uint64_t slots) {
    return {8 * slots, 64 + 16 * slots};
}
constexpr Rate accepted_votes(std::uint64_t slots) {
    return {16 * chain::kProducersMax * slots, 32 * chain::kProducersMax * slots};
}
constexpr Rate accepted_blocks(std::uint64_t slots) {
    return {8 * slots, 64 + 8 * slots};
}
constexpr Rate accepted_notices(std::uint64_t slots) {
    return {20 + 2 * slots, 100 + 2 * slots};
}
constexpr Rate accepted_requests(std::uint64_t slots) {
    return {64 + 16 * slots, 320 + 32 * slots};
}
constexpr Rate kClocksAtReady{1, 2 * kVoteKeysMax};
constexpr Rate kAcceptedClocks{2 * kKeys + 1, 10 * kKeys + 64};

// No honest node is charged for what it passes on. With s slots a second, in any time t it sends at
// most rate * t + burst, and of a bucket of a greater rate and burst nothing is missing. At most
// two schedules are in force at once, each of at most n = kProducersMax members, with a key each.
//
// Headers: own ones, of which a slot has one for each schedule: 2 s t + 2; others' by
// relayed_headers(). Votes: own keys, at most one in each schedule, say two of a slot: 4 s t + 4;
// others' are of at most 2 n keys: 2 n * relayed_votes_of_key(). Blocks: own ones as own headers;
// others' by relayed_blocks(), and in bytes a quarter of what may come, as much again being left
// for own ones, and counted at both ends as if they named no transaction; what is asked for by id
// is not counted. Clocks: those of 2 n keys, our own among them, and to who has just come the
// newest of its own keys, at most kVoteKeysMax, and of ours.
// Requests: for blocks by asked_blocks(); for transactions as many as a peer offers some, and as
// it pushes blocks that name some, and kAskedAgain for what another did not send.
// That holds for any senders, and so for f of n. What the burst is greater by lets pass what a slow
// line holds up for a second or two.
//
// And it is enough: good headers and blocks of a slot are at most four, two of a producer in each
// schedule; good votes of a key and slot at most four, two of a kind; a node says its clock once a
// second, and once more when a peer comes. All come slower than they may go on.
constexpr bool is_above(const Rate& accepted, const Rate& relayed, const Rate& own) {
    return accepted.per_second >= relayed.per_second + own.per_second &&
           accepted.burst >= relayed.burst + own.burst + (relayed.per_second + own.per_second);
}
constexpr Rate sum(const Rate& a, const Rate& b) {
    return {a.per_second + b.per_second, a.burst + b.burst};
}
constexpr Rate times(std::uint64_t count, const Rate& rate) {
    return {count * rate.per_second, count * rate.burst};
}
constexpr bool is_any_relay_accepted(std::uint64_t slots) {
    return is_above(accepted_headers(slots), relayed_headers(slots), {2 * slots, 2}) &&
           is_above(accepted_blocks(slots), relayed_blocks(slots), {2 * slots, 2}) &&
           is_above(accepted_requests(slots),
                    sum(asked_blocks(slots), kAskedAgain),
                    sum(accepted_notices(slots), accepted_blocks(slots))) &&
           is_above(
               accepted_votes(slots), times(kKeys, relayed_votes_of_key(slots)), {4 * slots, 4});
}
constexpr bool is_relay_enough(std::uint64_t slots) {
    return relayed_headers(slots).per_second > 4 * slots &&
           relayed_blocks(slots).per_second > 4 * slots &&
           relayed_votes_of_key(slots).per_second > 4 * slots;
}
static_assert(is_above(kAcceptedBytes, kRelayedBlockBytes, kRelayedBlockBytes));
static_assert(is_above(kAcceptedClocks, times(kKeys, kRelayedClocksOfKey), kClocksAtReady));
// The least and the greatest number of slots, and what is usual; all else is linear in between.
static_assert(is_any_relay_accepted(1) && is_any_relay_accepted(2) && is_any_relay_accepted(100));
static_assert(is_relay_enough(1) && is_relay_enough(2) && is_relay_enough(100));

std::array<TokenBucket, kMessageTypes> make_buckets(std::uint64_t slots) {
    const std::array<Rate, kMessageTypes> rates = {{
        {1, 1},
        {1, 1},                              // hello
        accepted_notices(slots),             // notice
        {1, 1},                              // go_away
        {10, 20},                            // time
        accepted_requests(slots),            // request
        {100, 200},                          // sync_request
        accepted_headers(slots),             // header
        accepted_blocks(slots),              // blocks
        {20'000, 40'000},                    // transaction
        accepted_votes(slots),               // vote
        {16 * slots + 16, 64 + 16 * slots},  // certificate
        {1'000, 1'000},                      // snapshot_request
        {10, 100},                           // snapshot_chunk
        {1'000, 1'000},                      // ack
        kAcceptedClocks,                     // clock
        {1, 1},                              // range_proof: as asked
    }};
    return [&rates]<std::size_t... I>(std::index_sequence<I...>) {
        return std::array<TokenBucket, kMessageTypes>{TokenBucket(rates[I])...};
    }(std::make_index_sequence<kMessageTypes>());
}

}  // namespace

Budget::Budget(std::uint32_t interval_milliseconds)
    : messages_(make_buckets(slots_of_second(interval_milliseconds))), bytes_(kAcceptedBytes) {}

}  // namespace p2p
