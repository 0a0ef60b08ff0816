// The ring over plain memory: the format, wraps, credit, and words that a peer must not write.
#include "ends.hpp"
#include "transport/ring/mapped_store.hpp"

namespace tests {

namespace {

using ring::MappedStore;
using ring::RecordKind;
constexpr std::size_t kBytes = ring::kRingBytesMin;

struct PlainEnds : Ends<MappedStore> {
    explicit PlainEnds(bool is_sealed, std::size_t bytes = kBytes)
        : Ends(bytes, is_sealed, MappedStore::Mapping::of_two) {}
};

// A ring into which a test writes words itself.
struct Hostile {
    Hostile() : memory(kBytes), consumer(memory.bytes(), nullptr) {}

    void write(std::size_t at, std::uint64_t word) {
        std::memcpy(memory.bytes().data() + at, &word, sizeof word);
    }
    std::string refusal() {
        const auto payload = consumer.peek();
        REQUIRE_FALSE(payload);
        CHECK(payload.error().code == base::Errc::invalid);
        return payload.error().detail;
    }

    Memory memory;
    ring::Consumer consumer;
};

}  // namespace

TEST_CASE("a record's word says what it said, and nothing else is one") {
    for (const std::uint32_t length : {1U, 4096U, 16384U}) {
        for (const bool sync : {false, true}) {
            const ring::RecordWord word{
                .lap = 0xFEDCBA98, .length = length, .kind = RecordKind::frame, .sync_req = sync};
            CHECK(ring::decode_word(ring::encode(word)) == word);
        }
    }
    const std::uint64_t good = ring::encode({.lap = 1, .length = 5});
    for (const unsigned bit : {59U, 60U, 61U, 63U, 58U, 55U})
        CHECK_FALSE(ring::decode_word(good | std::uint64_t{1} << bit));
    CHECK_FALSE(ring::decode_word(0));
    CHECK_FALSE(ring::decode_word(1));
    CHECK_FALSE(ring::decode_word(ring::encode({.lap = 1, .length = 0})));
    CHECK_FALSE(ring::decode_word(ring::encode({.lap = 1, .length = 16385})));
    CHECK_FALSE(ring::decode_word(ring::encode({.lap = 1, .length = 1, .kind = RecordKind::skip})));
}

TEST_CASE("records of every length go through, over many laps") {
    const bool is_sealed = GENERATE(false, true);
    PlainEnds ends(is_sealed);
    for (std::size_t size = 1; size <= ring::kPayloadBytesMax; size += size < 200 ? 1 : 997) {
        REQUIRE(ends.producer->push(pattern(size, size)));
        CHECK((ends.pop() == pattern(size, size)));
        CHECK_FALSE(ends.pop());
        ends.return_credit();
        CHECK(ends.producer->placer().is_drained());
    }
    CHECK(ends.producer->placer().consumed() > 2 * kBytes);
}

TEST_CASE("an empty ring takes any record, wherever it stands") {
    for (std::size_t start = 0; start < kBytes; start += ring::kLineBytes) {
        PlainEnds ends(false);
        std::size_t at = 0;
        while (at < start) {
            const std::size_t size = std::min<std::size_t>(start - at, 1024);
            REQUIRE(ends.producer->push(base::Bytes(size - ring::kWordBytes - ring::kTagBytes)));
            REQUIRE(ends.pop());
            ends.return_credit();
            at += size;
        }
        REQUIRE(ends.producer->push(pattern(ring::kPayloadBytesMax, start)));
        CHECK((ends.pop() == pattern(ring::kPayloadBytesMax, start)));
    }
}

TEST_CASE("a full ring refuses, asks for credit, and goes on when it gets some") {
    PlainEnds ends(true);
    std::size_t count = 0;
    while (ends.producer->push(pattern(1000, count)))
        ++count;
    CHECK(count == (kBytes - ring::kLineBytes) / ring::record_bytes(1000));
    CHECK_FALSE(ends.producer->push(pattern(1000, 0)));
    // Up to the request nothing is returned, there it is.
    std::size_t read = 0;
    std::optional<std::uint64_t> credit;
    while (!credit) {
        CHECK((ends.pop() == pattern(1000, read++)));
        credit = ends.consumer->take_due_credit();
    }
    CHECK(read > count / 3);
    CHECK(read < count * 3 / 4);
    REQUIRE(ends.producer->take_credit(*credit));
    CHECK(ends.producer->push(pattern(1000, count++)));
    while (read < count)
        CHECK((ends.pop() == pattern(1000, read++)));
}

TEST_CASE("room that was promised is there, though a skip uses up the last lap") {
    constexpr std::size_t kSize = 16'000;  // Four in a lap, and no place for a fifth.
    Memory memory(kBytes);
    MappedStore store(memory.bytes(), MappedStore::Mapping::of_two);
    ring::Seal seal(test_secret(), ring::Seal::Use::seal);
    ring::Seal opener(test_secret(), ring::Seal::Use::open);
    ring::Producer<MappedStore> producer(store, 0, kBytes, &seal, 2);
    ring::Consumer consumer(memory.bytes(), &opener);
    unsigned count = 0;
    for (; producer.placer().fits(kSize); ++count) {
        CHECK_FALSE(producer.placer().is_worn_out());
        REQUIRE(producer.push(pattern(kSize, count)));
        const auto payload = consumer.peek();
        REQUIRE(payload);
        REQUIRE(*payload);
        CHECK(base::equal(**payload, pattern(kSize, count)));
        consumer.consume();
        REQUIRE(producer.take_credit(consumer.position()));
    }
    // The last stands at the begin of a third lap, behind the skip that ended the second.
    CHECK(count == 9);
    CHECK(producer.placer().is_worn_out());
    CHECK_FALSE(producer.placer().fits(1));
    CHECK_FALSE(producer.push(pattern(1, 1)));
    CHECK(producer.placer().produced() == 2 * kBytes + ring::record_bytes(kSize));
}

TEST_CASE("credit that cannot be is refused") {
    PlainEnds ends(false);
    REQUIRE(ends.producer->push(pattern(500, 1)));
    REQUIRE(ends.producer->push(pattern(500, 2)));
    const std::uint64_t one = ring::record_bytes(500);
    CHECK(ends.producer->take_credit(0));
    CHECK(ends.producer->take_credit(one));
    for (const std::uint64_t wrong : {std::uint64_t{0},
                                      one - 64,
                                      one + 1,
                                      2 * one + 64,
                                      std::uint64_t{1} << 63,
                                      ~std::uint64_t{0}}) {
        const auto taken = ends.producer->take_credit(wrong);
        REQUIRE_FALSE(taken);
        CHECK(taken.error().code == base::Errc::invalid);
    }
    CHECK(ends.producer->take_credit(2 * one));
    CHECK(ends.producer->placer().is_drained());
}

TEST_CASE("words that break the ring are refused, older ones are not seen") {
    Hostile peer;
    SECTION("another lap is no record") {
        for (const std::uint32_t lap : {0U, 2U, 3U, 0xFFFFFFFFU}) {
            peer.write(0, ring::encode({.lap = lap, .length = 8}));
            const auto payload = peer.consumer.peek();
            REQUIRE(payload);
            CHECK_FALSE(*payload);
            CHECK_FALSE(peer.consumer.has_record());
        }
    }
    SECTION("a meaningless word") {
        peer.write(0, 1);
        CHECK_THAT(peer.refusal(), Catch::Contains("a word that means nothing"));
    }
    SECTION("a skip where a record fits") {
        peer.write(0, ring::encode({.lap = 1, .length = 0, .kind = RecordKind::skip}));
        CHECK_THAT(peer.refusal(), Catch::Contains("a skip where every record fits"));
    }
    SECTION("a record that goes beyond the end") {
        std::size_t at = 0;
        const std::size_t full = ring::kRecordBytesMax;
        for (; at + full <= kBytes; at += full) {
            peer.write(at, ring::encode({.lap = 1, .length = ring::kPayloadBytesMax}));
            REQUIRE(peer.consumer.peek());
            peer.consumer.consume();
        }
        peer.write(at, ring::encode({.lap = 1, .length = ring::kPayloadBytesMax}));
        CHECK_THAT(peer.refusal(), Catch::Contains("a record that goes beyond its end"));
    }
}

TEST_CASE("a sealed ring refuses what its peer did not seal") {
    PlainEnds ends(true);
    REQUIRE(ends.producer->push(pattern(100, 1)));
    SECTION("changed payload") {
        ends.memory.bytes()[20] ^= std::byte{1};
    }
    SECTION("changed word") {
        ends.memory.bytes()[7] ^= std::byte{0x40};
    }  // sync_req
    SECTION("a word without a record") {
        REQUIRE(ends.pop());
        const std::uint64_t word = ring::encode({.lap = 1, .length = 3});
        std::memcpy(ends.memory.bytes().data() + ring::record_bytes(100), &word, sizeof word);
    }
    const auto payload = ends.consumer->peek();
    REQUIRE_FALSE(payload);
    CHECK_THAT(payload.error().detail, Catch::Contains("that its peer did not seal"));
}

// Whoever can write the ring and has no key, with what was sealed for it or for another.
TEST_CASE("a sealed ring is not fooled with records that its peer sealed") {
    PlainEnds ends(true);
    const auto memory = [&](std::size_t at) { return ends.memory.bytes().subspan(at, 128); };
    constexpr std::size_t kRecord = ring::record_bytes(100);
    static_assert(kRecord == 128);
    for (unsigned i = 0; i < 4; ++i)
        REQUIRE(ends.producer->push(pattern(100, i)));
    std::string refusal;
    const auto next_is_refused = [&] {
        const auto payload = ends.consumer->peek();
        REQUIRE_FALSE(payload);
        CHECK(payload.error().code == base::Errc::invalid);
        refusal = payload.error().detail;
    };
    SECTION("replayed: the first once more in place of the second") {
        REQUIRE(ends.pop());
        std::ranges::copy(memory(0), memory(kRecord).begin());
        next_is_refused();
    }
    SECTION("reordered: the first two change places") {
        std::ranges::swap_ranges(memory(0), memory(kRecord));
        next_is_refused();
    }
    SECTION("left out: all move up by one") {
        for (std::size_t i = 0; i < 3; ++i)
            std::ranges::copy(memory((i + 1) * kRecord), memory(i * kRecord).begin());
        next_is_refused();
    }
    SECTION("truncated: a word that says less, with the tag moved up") {
        const std::uint64_t word = ring::encode({.lap = 1, .length = 50});
        std::memcpy(memory(0).data(), &word, sizeof word);
        std::ranges::copy(memory(0).subspan(8 + 100, ring::kTagBytes), memory(0).begin() + 8 + 50);
        next_is_refused();
    }
    SECTION("prolonged: a word that says more") {
        const std::uint64_t word = ring::encode({.lap = 1, .length = 101});
        std::memcpy(memory(0).data(), &word, sizeof word);
        next_is_refused();
    }
    SECTION("of another ring, with another key") {
        ring::Seal foreign(base::Hash256{}, ring::Seal::Use::seal);
        std::uint64_t word = 0;
        std::memcpy(&word, memory(0).data(), sizeof word);
        foreign.seal(0, word, pattern(100, 0), memory(0).subspan(8));
        next_is_refused();
    }
    CHECK_THAT(refusal, Catch::Contains("that its peer did not seal"));
}

TEST_CASE("any bit of a sealed record that is flipped ends the ring or hides the record") {
    constexpr std::size_t kBits = 8 * (ring::kWordBytes + 40 + ring::kTagBytes);
    std::size_t refused = 0;
    for (std::size_t bit = 0; bit < kBits; ++bit) {
        Memory memory(kBytes);
        MappedStore store(memory.bytes(), MappedStore::Mapping::of_two);
        ring::Seal seal(test_secret(), ring::Seal::Use::seal);
        ring::Seal opener(test_secret(), ring::Seal::Use::open);
        ring::Producer<MappedStore> producer(store, 0, kBytes, &seal);
        ring::Consumer consumer(memory.bytes(), &opener);
        REQUIRE(producer.push(pattern(40, 1)));
        memory.bytes()[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        const auto payload = consumer.peek();
        if (payload) CHECK_FALSE(*payload);
        refused += payload ? 0U : 1U;
    }
    // But in the lap, where it is no record yet.
    CHECK(refused == kBits - 32);
}

TEST_CASE("a record of the lap before, brought back, is not a record") {
    PlainEnds ends(true);
    const base::Bytes old = base::to_bytes(ends.memory.bytes().first(256));
    REQUIRE(ends.producer->push(pattern(100, 1)));
    const base::Bytes first = base::to_bytes(ends.memory.bytes().first(256));
    while (ends.producer->placer().consumed() < kBytes) {
        REQUIRE(ends.pop());
        ends.return_credit();
        REQUIRE(ends.producer->push(pattern(16000, 1)));
    }
    REQUIRE(ends.pop());
    std::copy(first.begin(), first.end(), ends.memory.bytes().begin());
    const auto payload = ends.consumer->peek();
    // The lap is another; whatever stands where the consumer looks, it is not taken.
    CHECK((!payload || !*payload));
}

TEST_CASE("what is handed out does not change with the ring") {
    PlainEnds ends(true);
    REQUIRE(ends.producer->push(pattern(2000, 3)));
    const auto payload = ends.consumer->peek();
    REQUIRE(payload);
    std::ranges::fill(ends.memory.bytes(), std::byte{0xEE});
    CHECK((base::to_bytes(**payload) == pattern(2000, 3)));
    const auto again = ends.consumer->peek();
    REQUIRE(again);
    CHECK((base::to_bytes(**again) == pattern(2000, 3)));
}

}  // namespace tests
