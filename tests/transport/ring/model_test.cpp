// The ring against a queue, under random schedules, over plain memory and over a window that
// writes lines in any order; and rings that are wrong in a known way, which must be caught.
#include "ends.hpp"
#include "sim_window.hpp"
#include "transport/ring/mapped_store.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace tests {

namespace {

constexpr std::size_t kBytes = ring::kRingBytesMin;

// Stores in the order of a ring that is wrong.
class WrongWindow {
  public:
    enum class Mutant : std::uint8_t { none, no_fence, header_first, no_word_behind };

    WrongWindow(std::span<std::byte> memory, std::uint64_t seed, Mutant mutant)
        : window_(memory, seed), mutant_(mutant) {}

    void put(std::size_t offset, base::ByteView bytes) {
        if (mutant_ == Mutant::header_first) {
            late_.push_back({offset, base::to_bytes(bytes)});
        } else {
            window_.put(offset, bytes);
        }
    }
    void put_word(std::size_t offset, std::uint64_t word) {
        if (mutant_ == Mutant::no_word_behind && word == 0) return;
        window_.put_word(offset, word);
        if (mutant_ != Mutant::header_first || word == 0) return;
        for (const auto& [at, bytes] : late_)
            window_.put(at, bytes);
        late_.clear();
    }
    void fence() {
        if (mutant_ != Mutant::no_fence) window_.fence();
    }
    void evict_some() { window_.evict_some(); }

  private:
    SimWindow window_;
    Mutant mutant_;
    std::vector<std::pair<std::size_t, base::Bytes>> late_;
};
using Mutant = WrongWindow::Mutant;

// A consumer on another processor: it looks between any two of the producer's stores.
class Reader {
  public:
    explicit Reader(ring::Consumer& consumer) : consumer_(consumer) {}

    // False: the ring gave something that was not put in, or broke.
    bool look(std::deque<base::Bytes>& expected) {
        const auto payload = consumer_.peek();
        if (!payload) return false;
        if (!*payload) return true;
        if (expected.empty() || !base::equal(**payload, expected.front())) return false;
        expected.pop_front();
        consumer_.consume();
        return true;
    }

  private:
    ring::Consumer& consumer_;
};

// Looks at the ring whenever a store may have become visible.
template <class S>
class WatchedStore {
  public:
    template <class... Args>
    explicit WatchedStore(std::span<std::byte> memory, Args... args) : store_(memory, args...) {}

    void put(std::size_t offset, base::ByteView bytes) {
        // Line after line, as a processor would store them.
        while (!bytes.empty()) {
            const std::size_t count =
                std::min(bytes.size(), ring::kLineBytes - offset % ring::kLineBytes);
            store_.put(offset, bytes.first(count));
            look();
            bytes = bytes.subspan(count);
            offset += count;
        }
    }
    void put_word(std::size_t offset, std::uint64_t word) {
        store_.put_word(offset, word);
        look();
    }
    void fence() {
        store_.fence();
        look();
    }
    void evict_some() { store_.evict_some(); }

    std::function<void()> on_look;

  private:
    void look() {
        if (on_look) on_look();
    }
    S store_;
};

struct Outcome {
    bool is_good = true;
    std::uint64_t records = 0;
};

// Sends `records` of random sizes; the reader looks in between at random moments.
template <class S, class... Args>
Outcome run(std::uint64_t seed, std::size_t records, bool is_sealed, Args... args) {
    base::Rng rng(seed);
    Ends<WatchedStore<S>> ends(kBytes, is_sealed, args...);
    std::deque<base::Bytes> expected;
    Reader reader(*ends.consumer);
    Outcome outcome;
    ends.store.on_look = [&] {
        if (outcome.is_good && rng.below(4) == 0) outcome.is_good = reader.look(expected);
    };
    std::size_t sent = 0;
    while (outcome.is_good && (sent < records || !expected.empty())) {
        if (sent < records && rng.below(2) == 0) {
            const std::size_t max = rng.below(8) == 0 ? ring::kPayloadBytesMax : 300;
            base::Bytes payload = pattern(1 + rng.below(max), seed + sent);
            // Before it is written: the reader may see it as soon as its word is stored.
            expected.push_back(payload);
            if (ends.producer->push(payload)) {
                ++sent;
            } else {
                expected.pop_back();
            }
        } else {
            ends.store.evict_some();
            outcome.is_good = outcome.is_good && reader.look(expected);
        }
        if (rng.below(3) == 0) ends.return_credit();
    }
    outcome.records = sent;
    return outcome;
}

struct PlainStore : ring::MappedStore {
    explicit PlainStore(std::span<std::byte> memory)
        : MappedStore(memory, Mapping::write_combining) {}
    void evict_some() {}
};

}  // namespace

TEST_CASE("over plain memory the ring is a queue, whatever the schedule") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        const Outcome outcome = run<PlainStore>(seed, 400, seed % 2 == 0);
        CHECK(outcome.is_good);
        CHECK(outcome.records == 400);
    }
}

TEST_CASE("over a window that writes lines in any order the ring is a queue") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        const Outcome outcome = run<WrongWindow>(seed, 300, seed % 2 == 0, seed, Mutant::none);
        CHECK(outcome.is_good);
        CHECK(outcome.records == 300);
    }
}

TEST_CASE("a ring that is wrong is caught") {
    const Mutant mutant = GENERATE(Mutant::no_fence, Mutant::header_first);
    const bool is_sealed = GENERATE(false, true);
    CAPTURE(static_cast<int>(mutant), is_sealed);
    std::size_t caught = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        caught += run<WrongWindow>(seed, 300, is_sealed, seed, mutant).is_good ? 0U : 1U;
    CHECK(caught == 20);
}

TEST_CASE("old payload that looks like a record is taken for one only without the word behind") {
    const Mutant mutant = GENERATE(Mutant::none, Mutant::no_word_behind);
    Ends<WrongWindow> ends(kBytes, false, std::uint64_t{1}, mutant);
    // A lap of payload that consists of words of the next lap.
    const std::uint64_t word = ring::encode({.lap = 2, .length = 40});
    base::Bytes payload(ring::kPayloadBytesMax);
    for (std::size_t i = 0; i + sizeof word <= payload.size(); i += sizeof word)
        std::memcpy(payload.data() + i, &word, sizeof word);
    for (int i = 0; i < 4; ++i) {
        REQUIRE(ends.producer->push(payload));
        REQUIRE(ends.pop());
        ends.return_credit();
    }
    // In the next lap, whose first record is here, or after it:
    REQUIRE(ends.producer->push(pattern(10, 1)));
    while (const auto received = ends.pop()) {
        if (*received == pattern(10, 1)) break;
    }
    CHECK(ends.pop().has_value() == (mutant == Mutant::no_word_behind));
}

}  // namespace tests
