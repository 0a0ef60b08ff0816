#include "transport/link/send_queue.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace transport::link {

namespace {

// What a queued message costs besides its bytes, so that many small ones are bounded too.
constexpr std::size_t kOverheadBytes = 256;

// Copies bytes of a payload that may lie in several buffers.
void copy_from(const Payload& payload, std::size_t offset, std::span<std::byte> out) {
    while (!out.empty()) {
        const base::ByteView run = payload.run_at(offset);
        const std::size_t count = std::min(run.size(), out.size());
        std::memcpy(out.data(), run.data(), count);
        out = out.subspan(count);
        offset += count;
    }
}

}  // namespace

void SendQueue::Queue::pop() {
    messages[head] = Payload(SharedBytes());
    ++head;
    sent = 0;
    if (head == messages.size()) {
        messages.clear();
        head = 0;
    } else if (head > messages.size() / 2 + 16) {
        messages.erase(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(head));
        head = 0;
    }
}

void SendQueue::renew_quotas(const Rooms& rooms) {
    for (std::size_t i = 0; i < kQueues; ++i) {
        if (has_room(i, rooms)) queues_[i].quota = kQuota;
    }
}

bool SendQueue::lands(std::size_t queue) const {
    return uses_landings_ && lane_of(queue) == Lane::data && !queues_[queue].empty() &&
           queues_[queue].front().size() >= kLandingMessageBytesMin;
}

bool SendQueue::has_landing() const {
    for (std::size_t i = index(Lane::data); i < kQueues; i += kLanes) {
        if (lands(i)) return true;
    }
    return false;
}

bool SendQueue::has_room(std::size_t queue, const Rooms& rooms) const {
    if (lane_of(queue) == Lane::control) return rooms.control;
    return lands(queue) ? rooms.landings > 0 : rooms.data;
}

base::Result<void> SendQueue::push(Lane lane, Priority priority, Payload&& payload) {
    CHECK(priority < kPriorities);
    const std::size_t size = payload.size();
    CHECK(size > 0 && size <= kMessageBytesMax);
    std::size_t& bytes = bytes_[index(lane)];
    if (bytes > 0 && bytes + size + kOverheadBytes > limits_.bytes[index(lane)]) {
        was_full_[index(lane)] = true;
        return base::fail(base::Errc::would_block,
                          "the peer takes bytes more slowly than we make them: " +
                              std::to_string(bytes) + " bytes are queued");
    }
    bytes += size + kOverheadBytes;
    unsent_bytes_ += size;
    ++messages_;
    queues_[kLanes * priority + index(lane)].messages.push_back(std::move(payload));
    return {};
}

bool SendQueue::may_go(const Queue& queue, Lane lane) const {
    if (queue.empty()) return false;
    const std::size_t size = queue.front().size();
    const bool is_begun = queue.sent > 0;
    if (is_held_) return is_begun;
    return is_begun || size <= slice_bytes(lane) || open_bytes_ + size <= kOpenBytesMax;
}

std::size_t SendQueue::choose(const Rooms& rooms) {
    for (int round = 0; round < 2; ++round) {
        bool is_spent = false;
        for (std::size_t i = 0; i < kQueues; ++i) {
            if (!has_room(i, rooms) || !may_go(queues_[i], lane_of(i))) continue;
            if (queues_[i].quota > 0) return i;
            is_spent = true;
        }
        // A full path ends no round: else only the most urgent would ever fill it.
        if (!is_spent) break;
        renew_quotas(rooms);
    }
    return kQueues;
}

std::size_t SendQueue::write_slice(std::size_t chosen, std::span<std::byte> out) {
    Queue& queue = queues_[chosen];
    const Lane lane = lane_of(chosen);
    const Payload& payload = queue.front();
    const std::size_t total = payload.size();
    const std::size_t count = std::min(total - queue.sent, slice_bytes(lane));
    if (out.size() < kFrameHeaderBytes + count) return 0;
    const bool is_first = queue.sent == 0;
    const auto header =
        encode({.kind = FrameKind::slice,
                .lane = lane,
                .priority = static_cast<Priority>(chosen / kLanes),
                .is_first = is_first,
                .length = static_cast<std::uint16_t>(count),
                .total_or_offset = static_cast<std::uint32_t>(is_first ? total : queue.sent)});
    std::memcpy(out.data(), header.data(), header.size());
    copy_from(payload, queue.sent, out.subspan(kFrameHeaderBytes, count));
    this->count(queue, count, 1);
    return kFrameHeaderBytes + count;
}

// Stops where another lane is next, where the next slice does not fit, or where what comes behind
// a message lands, for which the room was not asked.
std::size_t SendQueue::write_slices(std::size_t chosen,
                                    std::span<std::byte> out,
                                    const Rooms& rooms) {
    const Lane lane = lane_of(chosen);
    std::size_t written = 0;
    do {
        const std::size_t bytes = write_slice(chosen, out.subspan(written));
        if (bytes == 0) break;
        written += bytes;
        finish_oldest(chosen);
        if (lands(chosen)) break;
        chosen = choose(rooms);
    } while (chosen != kQueues && lane_of(chosen) == lane && !lands(chosen));
    return written;
}

void SendQueue::take_parts(std::size_t chosen, const Rooms& rooms) {
    do {
        parts_.push_back(take_part(chosen));
        finish_oldest(chosen);
        chosen = choose(rooms);
    } while (parts_.size() < rooms.landings && chosen != kQueues && lands(chosen));
}

Part SendQueue::take_part(std::size_t chosen) {
    constexpr unsigned kSlices = kLandingBytes / kFrameBytesMax;
    Queue& queue = queues_[chosen];
    const std::size_t total = queue.front().size();
    const std::size_t bytes = std::min(total - queue.sent, kLandingBytes);
    const bool is_first = queue.sent == 0;
    const FrameHeader header{
        .kind = FrameKind::landing,
        .lane = Lane::data,
        .priority = static_cast<Priority>(chosen / kLanes),
        .is_first = is_first,
        .length = kLandingFrameBytes,
        .total_or_offset = static_cast<std::uint32_t>(is_first ? total : queue.sent)};
    // Buffers end at multiples of a landing's length.
    const base::ByteView part = queue.front().run_at(queue.sent).first(bytes);
    count(queue, bytes, std::min(queue.quota, kSlices));
    return {header, part};
}

void SendQueue::count(Queue& queue, std::size_t bytes, unsigned slices) {
    const std::size_t total = queue.front().size();
    if (queue.sent == 0 && bytes < total) open_bytes_ += total;
    if (queue.sent > 0 && queue.sent + bytes == total) open_bytes_ -= total;
    queue.sent += bytes;
    unsent_bytes_ -= bytes;
    queue.quota -= slices;
}

bool SendQueue::is_written(std::size_t queue) const {
    return queues_[queue].sent == queues_[queue].front().size();
}

Queued SendQueue::pop_oldest(std::size_t chosen) {
    Queue& queue = queues_[chosen];
    Queued out{lane_of(chosen),
               static_cast<Priority>(chosen / kLanes),
               std::move(queue.messages[queue.head])};
    queue.pop();
    --messages_;
    bytes_[index(out.lane)] -= out.payload.size() + kOverheadBytes;
    return out;
}

void SendQueue::finish_oldest(std::size_t chosen) {
    if (is_written(chosen)) done_.push_back(pop_oldest(chosen));
}

std::size_t SendQueue::fill(std::span<std::byte> out) {
    CHECK(out.size() >= kFrameBytesMax);
    std::size_t filled = 0;
    while (messages_ > 0) {
        const std::size_t chosen = choose();
        // What drop() left unfinished may keep all others from beginning.
        if (chosen == kQueues) break;
        const std::size_t count = write_slice(chosen, out.subspan(filled));
        if (count == 0) break;
        filled += count;
        if (is_written(chosen)) (void)pop_oldest(chosen);
    }
    return filled;
}

std::optional<SendQueue::Next> SendQueue::next(std::span<std::byte> out, const Rooms& rooms) {
    CHECK(out.size() >= kFrameBytesMax);
    parts_.clear();
    done_.clear();
    if (messages_ == 0) return std::nullopt;
    const std::size_t chosen = choose(rooms);
    if (chosen == kQueues) return std::nullopt;
    Next next{.lane = lane_of(chosen)};
    if (lands(chosen)) {
        take_parts(chosen, rooms);
    } else {
        next.bytes = write_slices(chosen, out.first(record_bytes_max(next.lane)), rooms);
    }
    next.parts = parts_;
    next.done = done_;
    return next;
}

void SendQueue::rewind() {
    for (Queue& queue : queues_) {
        unsent_bytes_ += queue.sent;
        queue.sent = 0;
    }
    open_bytes_ = 0;
}

bool SendQueue::has_begun() const {
    return std::ranges::any_of(queues_, [](const Queue& queue) { return queue.sent > 0; });
}

std::optional<Queued> SendQueue::take() {
    CHECK(!has_begun());
    if (messages_ == 0) return std::nullopt;
    const std::size_t chosen = choose();
    CHECK(chosen < kQueues);
    --queues_[chosen].quota;
    Queued out = pop_oldest(chosen);
    unsent_bytes_ -= out.payload.size();
    return out;
}

void SendQueue::put_back(std::vector<Queued> messages) {
    // From the newest to the oldest, each before what is there.
    while (!messages.empty()) {
        Queued message = std::move(messages.back());
        messages.pop_back();
        const std::size_t size = message.payload.size();
        Queue& queue = queues_[kLanes * message.priority + index(message.lane)];
        CHECK(queue.sent == 0);
        queue.messages.insert(queue.messages.begin() + static_cast<std::ptrdiff_t>(queue.head),
                              std::move(message.payload));
        ++messages_;
        unsent_bytes_ += size;
        bytes_[index(message.lane)] += size + kOverheadBytes;
    }
}

bool SendQueue::take_writable(Lane lane) {
    const std::size_t i = index(lane);
    if (!was_full_[i] || bytes_[i] > limits_.bytes[i] / 2) return false;
    was_full_[i] = false;
    return true;
}

void SendQueue::drop(Lane lane) {
    for (std::size_t i = index(lane); i < kQueues; i += kLanes) {
        Queue& queue = queues_[i];
        while (!queue.empty()) {
            const std::size_t total = queue.front().size();
            // What was begun stays open at the receiver: its bytes are not free again.
            unsent_bytes_ -= total - queue.sent;
            bytes_[index(lane)] -= total + kOverheadBytes;
            --messages_;
            queue.pop();
        }
    }
}

}  // namespace transport::link
