#include "bench/consensus/slow_disk.hpp"

#include <thread>

namespace bench {

namespace {

template <class Work>
base::Result<void> timed(std::chrono::milliseconds delay, SyncTimes& times, const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    base::Result<void> done = work();
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    times.add(std::chrono::steady_clock::now() - start);
    return done;
}

}  // namespace

base::Result<void> SlowStorage::commit(const base::Batch& batch, bool sync) {
    if (!sync) return storage_.commit(batch, false);
    return timed(delay_, times_, [&] { return storage_.commit(batch, true); });
}

base::Result<void> SlowLog::append_page(base::ByteView page) {
    return timed(delay_, times_, [&] { return log_->append_page(page); });
}

}  // namespace bench
