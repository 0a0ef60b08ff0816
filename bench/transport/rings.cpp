#include "bench/transport/rings.hpp"

#include "base/check.hpp"
#include "transport/buffer_pool.hpp"
#include "transport/link/send_queue.hpp"
#include "transport/ntb/shm_kind.hpp"
#include "transport/ring/mapped_store.hpp"
#include "transport/ring/path.hpp"

#include <array>
#include <atomic>
#include <immintrin.h>
#include <memory>
#include <poll.h>
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
            const std::byte first = (*received)->record[0];
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

namespace {

// Writes messages as a channel does, but for what sends it.
class Writer {
  public:
    Writer(End& end, Send way, std::size_t bytes)
        : end_(end), way_(way), message_(bytes, std::byte{1}) {
        auto pool = transport::BufferPool::create({.bytes = std::size_t{64} << 20});
        CHECK(pool);
        pool_ = std::move(*pool);
    }

    void write() {
        if (way_ == Send::straight) return write_straight();
        auto buffers =
            way_ == Send::copy ? pool_->copy(message_) : pool_->get_message(message_.size());
        CHECK(buffers);
        CHECK(queue_.push(Lane::data, 6, std::move(*buffers)));
        while (const auto slice = queue_.next(frame_, {true, true}))
            end_.send(slice->lane, base::ByteView(frame_).first(slice->bytes));
        end_.end_turn();
    }

  private:
    void write_straight() {
        constexpr std::size_t kSlice = transport::link::slice_bytes(Lane::data);
        for (std::size_t at = 0; at < message_.size(); at += kSlice) {
            const auto left = base::ByteView(message_).subspan(at);
            end_.send(Lane::data, left.first(std::min(left.size(), kSlice)));
        }
        end_.end_turn();
    }

    End& end_;
    Send way_;
    base::Bytes message_;
    base::Bytes frame_ = base::Bytes(transport::link::kFrameBytesMax);
    std::unique_ptr<transport::BufferPool> pool_;
    transport::link::SendQueue queue_;
};

}  // namespace

double stream(Sealed sealed, Send way, std::size_t bytes, std::size_t total) {
    const Pinning pinning;
    const auto ends = std::make_unique<Ends>(sealed);
    const std::size_t count = total / bytes;
    const std::size_t slice = transport::link::slice_bytes(Lane::data);
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
    Writer writer(ends->first, way, bytes);
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < count; ++i)
        writer.write();
    (void)ends->first.receive();
    const std::chrono::duration<double> took = Clock::now() - begin;
    other.join();
    return static_cast<double>(count * bytes) / took.count();
}

namespace {

namespace link = transport::link;

base::Timestamp now() {
    return base::Timestamp(Clock::now().time_since_epoch());
}

// An end of a path in shared memory and the loop that runs it: sleeps until it is rung.
class Sleeper final : private link::FastUser {
  public:
    Sleeper() {
        auto kind = transport::ntb::ShmKind::create();
        CHECK(kind);
        kind_ = std::move(*kind);
    }

    void prepare(const Sleeper& peer, bool leads) {
        const Secrets secrets = secrets_of(leads);
        const base::Bytes address = peer.kind_->address();
        link::FastUser& user = *this;
        auto path = kind_->prepare({.peer_address = address,
                                    .leads = leads,
                                    .secrets = {.out = secrets.out, .in = secrets.in}},
                                   user);
        CHECK(path);
        path_ = std::move(*path);
    }
    void bring_up(const Sleeper& peer) { CHECK(path_->bring_up(peer.path_->parameters())); }
    [[nodiscard]] bool is_up() { return path_->has_room(Lane::control); }

    void send(base::ByteView frame) {
        CHECK(path_->begin_turn());
        CHECK(path_->has_room(Lane::control));
        path_->send(Lane::control, frame);
        path_->end_turn(now());
    }
    // What has happened, without waiting.
    void turn() {
        kind_->driver().drain_events();
        kind_->driver().progress(now(), 64);
    }
    // Until a frame has come.
    void receive() {
        while (received_ == taken_) {
            if (kind_->driver().arm() == transport::Driver::Arm::armed) wait_for_bell();
            kind_->driver().progress(now(), 64);
        }
        ++taken_;
    }

  private:
    // Shared memory loses none.
    void wait_for_bell() {
        pollfd bell{.fd = kind_->driver().event_fd(), .events = POLLIN, .revents = 0};
        CHECK(::poll(&bell, 1, -1) == 1);
        kind_->driver().drain_events();
    }
    void on_fast_ready() override {
        while (true) {
            const auto frame = path_->peek();
            CHECK(frame);
            if (!*frame) return;
            path_->consume((*frame)->lane);
            ++received_;
        }
    }

    std::unique_ptr<transport::ntb::ShmKind> kind_;
    std::unique_ptr<link::FastPath> path_;
    std::uint64_t received_ = 0;
    std::uint64_t taken_ = 0;
};

}  // namespace

std::vector<Nanoseconds> sleepers(std::size_t bytes, int rounds) {
    Sleeper first;
    Sleeper second;
    first.prepare(second, true);
    second.prepare(first, false);
    second.bring_up(first);
    first.bring_up(second);
    while (!first.is_up() || !second.is_up()) {
        first.turn();
        second.turn();
    }
    const base::Bytes frame(bytes, std::byte{1});
    std::thread other([&] {
        for (int i = 0; i < rounds; ++i) {
            second.receive();
            second.send(frame);
        }
    });
    std::vector<Nanoseconds> out;
    out.reserve(static_cast<std::size_t>(rounds));
    for (int i = 0; i < rounds; ++i) {
        const auto begin = Clock::now();
        first.send(frame);
        first.receive();
        out.push_back(Clock::now() - begin);
    }
    other.join();
    return out;
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

Seals seals(std::size_t bytes, std::size_t total) {
    using transport::ring::Seal;
    const std::size_t unit = std::min(bytes, link::kLandingBytes);
    const std::size_t count = total / unit;
    Seal sealer(secrets_of(true).out[0], Seal::Use::seal);
    Seal opener(secrets_of(true).out[0], Seal::Use::open);
    const base::Bytes plain(unit);
    std::vector<base::Bytes> sealed(count, base::Bytes(unit + transport::ring::kTagBytes));
    const auto time = [&](auto work) {
        const auto begin = Clock::now();
        for (std::size_t i = 0; i < count; ++i)
            work(i * unit, sealed[i]);
        const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
        return took.count() * 1024 / static_cast<double>(count * unit);
    };
    const double sealing = time(
        [&](std::uint64_t at, base::Bytes& bytes_of) { sealer.seal(at, unit, plain, bytes_of); });
    const double opening = time(
        [&](std::uint64_t at, base::Bytes& bytes_of) { CHECK(opener.open(at, unit, bytes_of)); });
    return {sealing, opening};
}

}  // namespace rings
