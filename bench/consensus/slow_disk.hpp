#pragma once

#include "base/storage.hpp"

#include <chrono>
#include <mutex>
#include <vector>

namespace bench {

// How long syncs took, of all disks of a run. Any thread.
class SyncTimes {
  public:
    void add(std::chrono::nanoseconds took) {
        const std::scoped_lock lock(mutex_);
        milliseconds_.push_back(std::chrono::duration<double, std::milli>(took).count());
    }
    [[nodiscard]] std::vector<double> take() {
        const std::scoped_lock lock(mutex_);
        return std::move(milliseconds_);
    }

  private:
    std::mutex mutex_;
    std::vector<double> milliseconds_;
};

// A storage whose syncs are timed and take `delay` longer.
class SlowStorage final : public base::Storage {
  public:
    SlowStorage(base::Storage& storage, std::chrono::milliseconds delay, SyncTimes& times)
        : storage_(storage), delay_(delay), times_(times) {}

    base::Result<void> commit(const base::Batch& batch, bool sync) override;
    [[nodiscard]] base::Result<std::optional<base::Bytes>> get(base::Family family,
                                                               base::ByteView key) const override {
        return storage_.get(family, key);
    }
    [[nodiscard]] base::Result<std::optional<base::StoredRow>> at_or_after(
        base::Family family, base::ByteView key) const override {
        return storage_.at_or_after(family, key);
    }
    [[nodiscard]] base::Result<std::optional<base::StoredRow>> before(
        base::Family family, base::ByteView key) const override {
        return storage_.before(family, key);
    }
    [[nodiscard]] base::Result<void> scan(base::Family family,
                                          base::ByteView from,
                                          const Visit& visit) const override {
        return storage_.scan(family, from, visit);
    }
    [[nodiscard]] std::shared_ptr<const base::StorageView> snapshot() const override {
        return storage_.snapshot();
    }

  private:
    base::Storage& storage_;
    const std::chrono::milliseconds delay_;
    SyncTimes& times_;
};

// The same of a log.
class SlowLog final : public base::AppendLog {
  public:
    SlowLog(std::unique_ptr<base::AppendLog> log, std::chrono::milliseconds delay, SyncTimes& times)
        : log_(std::move(log)), delay_(delay), times_(times) {}

    base::Result<void> append_page(base::ByteView page) override;
    [[nodiscard]] base::Result<base::Bytes> read() const override { return log_->read(); }
    base::Result<void> compact(base::ByteView page) override { return log_->compact(page); }

  private:
    const std::unique_ptr<base::AppendLog> log_;
    const std::chrono::milliseconds delay_;
    SyncTimes& times_;
};

}  // namespace bench
