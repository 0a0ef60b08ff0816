#include "bench/transport/rings.hpp"

#include "base/check.hpp"
#include "transport/link/frame.hpp"
#include "transport/ring/mapped_store.hpp"
#include "transport/ring/path.hpp"

#include <array>
#include <atomic>
#include <immintrin.h>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <thread>

namespace rings {

namespace {

using transport::Lane;
using transport::ring::Geometry;
using transport::ring::kLineBytes;
using transport::ring::MappedStore;
using transport::ring::Secrets;
using Clock = std::chrono::steady_clock;
using Path = transport::ring::Path<MappedStore>;

constexpr int kBatch = 200;

void pin_to(unsigned core) {
    const unsigned cores = std::max(std::thread::hardware_concurrency(), 1U);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core % cores, &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

Secrets secrets_of(bool is_first) {
    Secrets out;
    const auto fill = [](std::array<base::Hash256, transport::kLanes>& secrets, std::byte value) {
        for (auto& each : secrets)
            each.bytes.fill(value);
    };
    fill(is_first ? out.out : out.in, std::byte{1});
    fill(is_first ? out.in : out.out, std::byte{2});
    return out;
}

class Memory {
  public:
    Memory() : lines_((Geometry().region_bytes() + kLineBytes - 1) / kLineBytes) {}
    [[nodiscard]] std::span<std::byte> bytes() {
        return {lines_.front().bytes.data(), lines_.size() * kLineBytes};
    }

  private:
    struct alignas(kLineBytes) Line {
        std::array<std::byte, kLineBytes> bytes{};
    };
    std::vector<Line> lines_;
};

// One end, and all that it does for a turn.
class End {
  public:
    End(Memory& inbound, Memory& outbound, Sealed sealed, bool is_first)
        : store_(outbound.bytes(), MappedStore::Mapping::of_two),
          path_(inbound.bytes(),
                store_,
                Geometry(),
                Geometry(),
                sealed == Sealed::yes ? std::optional(secrets_of(is_first)) : std::nullopt) {}

    void send(Lane lane, base::ByteView frame) {
        while (!path_.send(lane, frame))
            CHECK(path_.take_credits());
    }
    // Waits for a frame; its first byte.
    std::byte receive() {
        while (true) {
            const auto received = path_.peek();
            CHECK(received);
            if (!*received) {
                _mm_pause();
                continue;
            }
            const std::byte first = (*received)->frame[0];
            path_.consume((*received)->lane);
            return first;
        }
    }
    void end_turn() {
        CHECK(path_.take_credits());
        path_.return_credits();
        CHECK(!path_.take_doorbell({}));  // Nobody sleeps.
    }

  private:
    MappedStore store_;
    Path path_;
};

struct Ends {
    explicit Ends(Sealed sealed)
        : first(ours, theirs, sealed, true), second(theirs, ours, sealed, false) {}
    Memory ours;
    Memory theirs;
    End first;
    End second;
};

// Batches of round trips of this thread, while `answer` runs on another so often.
template <class Ask, class Answer>
std::vector<Nanoseconds> take_turns(int rounds, Ask ask, Answer answer) {
    const int batches = std::max(rounds / kBatch, 1);
    std::thread other([&] {
        pin_to(1);
        for (int i = 0; i < batches * kBatch; ++i)
            answer();
    });
    pin_to(0);
    std::vector<Nanoseconds> out;
    for (int batch = 0; batch < batches; ++batch) {
        const auto begin = Clock::now();
        for (int i = 0; i < kBatch; ++i)
            ask();
        out.push_back((Clock::now() - begin) / kBatch);
    }
    other.join();
    return out;
}

// Pins for as long as it lives.
class Pinning {
  public:
    Pinning() { pthread_getaffinity_np(pthread_self(), sizeof before_, &before_); }
    ~Pinning() { pthread_setaffinity_np(pthread_self(), sizeof before_, &before_); }
    Pinning(const Pinning&) = delete;
    Pinning& operator=(const Pinning&) = delete;

  private:
    cpu_set_t before_{};
};

}  // namespace

std::vector<Nanoseconds> ping_pong(Sealed sealed, std::size_t bytes, int rounds) {
    const Pinning pinning;
    const auto ends = std::make_unique<Ends>(sealed);
    const base::Bytes frame(bytes, std::byte{1});
    return take_turns(
        rounds,
        [&] {
            ends->first.send(Lane::control, frame);
            ends->first.end_turn();
            (void)ends->first.receive();
        },
        [&] {
            (void)ends->second.receive();
            ends->second.send(Lane::control, frame);
            ends->second.end_turn();
        });
}

double stream(Sealed sealed, std::size_t bytes, std::size_t total) {
    const Pinning pinning;
    const auto ends = std::make_unique<Ends>(sealed);
    const std::size_t count = total / bytes;
    const std::size_t slice = transport::link::kFrameBytesMax;
    const std::size_t frames = (bytes + slice - 1) / slice;
    std::thread other([&] {
        pin_to(1);
        for (std::size_t i = 0; i < count * frames; ++i) {
            (void)ends->second.receive();
            ends->second.end_turn();
        }
        ends->second.send(Lane::control, base::Bytes(1));
    });
    pin_to(0);
    const base::Bytes message(bytes, std::byte{1});
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t at = 0; at < bytes; at += slice) {
            const auto left = base::ByteView(message).subspan(at);
            ends->first.send(Lane::data, left.first(std::min(left.size(), slice)));
        }
        ends->first.end_turn();
    }
    (void)ends->first.receive();
    const std::chrono::duration<double> took = Clock::now() - begin;
    other.join();
    return static_cast<double>(count * bytes) / took.count();
}

std::vector<Nanoseconds> lines(int rounds) {
    struct alignas(kLineBytes) Line {
        std::atomic<std::uint64_t> number = 0;
        void wait_for(std::uint64_t expected) const {
            while (number.load(std::memory_order_acquire) != expected)
                _mm_pause();
        }
    };
    const Pinning pinning;
    std::array<Line, 2> both;
    std::uint64_t asked = 0;
    std::uint64_t answered = 0;
    return take_turns(
        rounds,
        [&] {
            both[0].number.store(++asked, std::memory_order_release);
            both[1].wait_for(asked);
        },
        [&] {
            both[0].wait_for(++answered);
            both[1].number.store(answered, std::memory_order_release);
        });
}

}  // namespace rings
