#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "base/storage.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace node {

// Appends pages to a log on a thread of its own, so that another sync goes on meanwhile.
//
// Thread: begin() and finish() by turns, one caller.
class PageWriter : base::Pinned {
  public:
    // `log` outlives it.
    explicit PageWriter(base::AppendLog& log);
    ~PageWriter();

    void begin(base::Bytes page);
    // Waits for what begin() began; as AppendLog::append_page().
    [[nodiscard]] base::Result<void> finish();

  private:
    void run();

    base::AppendLog& log_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<base::Bytes> page_;
    std::optional<base::Result<void>> outcome_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace node
