#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "transport/types.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace node {

// Counts what of the messages given to a transport has left it: written, or dropped with its
// channel. Messages hold it, so it outlives them all.
//
// Thread: any.
class Outgoing : base::Pinned {
  public:
    using Counts = std::map<transport::ChannelId, std::uint64_t>;

    // `on_some` is called when there is something to take() after there was nothing.
    explicit Outgoing(std::function<void()> on_some) : on_some_(std::move(on_some)) {}

    // The same bytes, counted when their last holder lets go.
    [[nodiscard]] static transport::SharedBytes track(const std::shared_ptr<Outgoing>& outgoing,
                                                      transport::ChannelId channel,
                                                      transport::SharedBytes bytes) {
        const base::Bytes* const seen = bytes.get();
        return {seen, [outgoing, channel, bytes = std::move(bytes)](const base::Bytes*) mutable {
                    const std::size_t size = bytes->size();
                    bytes.reset();
                    outgoing->add(channel, size);
                }};
    }
    // What has left since the last call.
    [[nodiscard]] Counts take() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(counts_, {});
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
        counts_[channel] += bytes;
        if (first && on_some_) on_some_();
    }

    std::mutex mutex_;
    Counts counts_;
    std::function<void()> on_some_;
};

}  // namespace node
