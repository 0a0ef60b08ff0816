#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "transport/shared_pool.hpp"
#include "transport/types.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace node {

// Counts what of the messages given to a transport has left it: written, or dropped with its
// channel. Messages hold it, so it outlives them all. Once as many are under way as ever will be,
// it allocates nothing.
//
// Thread: any.
class Outgoing : base::Pinned {
  public:
    struct Count {
        transport::ChannelId channel;
        std::uint64_t bytes = 0;
    };
    using Counts = std::vector<Count>;  // Each channel once; they are few.

    // `on_some` is called when there is something to take() after there was nothing.
    explicit Outgoing(std::function<void()> on_some) : on_some_(std::move(on_some)) {}

    // The same bytes, counted when their last holder lets go.
    [[nodiscard]] static transport::SharedBytes track(const std::shared_ptr<Outgoing>& outgoing,
                                                      transport::ChannelId channel,
                                                      transport::SharedBytes bytes) {
        const base::Bytes* const seen = bytes.get();
        auto left = [outgoing, channel, bytes = std::move(bytes)](const base::Bytes*) mutable {
            const std::size_t size = bytes->size();
            bytes.reset();
            outgoing->add(channel, size);
        };
        return {seen, std::move(left), transport::SpareAllocator<std::byte>(outgoing->memory_)};
    }
    // What has left since the last call, in the place of what is in `counts`.
    void take(Counts& counts) {
        counts.clear();
        const std::scoped_lock lock(mutex_);
        counts_.swap(counts);
    }
    // Nobody is told any more.
    void end() {
        const std::scoped_lock lock(mutex_);
        on_some_ = nullptr;
    }

  private:
    void add(transport::ChannelId channel, std::uint64_t bytes) {
        const std::scoped_lock lock(mutex_);
        const bool first = counts_.empty();
        auto count = std::ranges::find(counts_, channel, &Count::channel);
        if (count == counts_.end()) count = counts_.insert(count, Count{channel, 0});
        count->bytes += bytes;
        if (first && on_some_) on_some_();
    }

    // For what is counted beside each message.
    std::shared_ptr<transport::SpareMemory> memory_ = std::make_shared<transport::SpareMemory>();
    std::mutex mutex_;
    Counts counts_;
    std::function<void()> on_some_;
};

}  // namespace node
