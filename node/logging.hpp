#pragma once

#include "base/log.hpp"
#include "base/result.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace node {

// The log of the process: one line per event, over spdlog.
//
// Thread: any. A component's level may change at run time.
class Logging : public base::LogSink {
  public:
    struct Options {
        std::filesystem::path file;  // Empty: standard error.
        std::string levels = "info";
        bool json = false;
    };
    // unavailable: the file cannot be opened. invalid: a level that does not exist.
    [[nodiscard]] static base::Result<std::unique_ptr<Logging>> open(const Options& options);
    ~Logging() override;

    [[nodiscard]] bool enabled(base::Level level) const override;
    void write(base::Level level, std::string_view component, std::string_view line) override;

    // "info,http=debug": the level of all, and of components. invalid: unknown level, no change.
    base::Result<void> set_levels(std::string_view levels);
    void flush();

  private:
    struct Backend;  // logging.cpp: spdlog stays there.
    explicit Logging(std::unique_ptr<Backend> backend);

    std::unique_ptr<Backend> backend_;
};

// Lets one line of a cause through a second and counts the others.
//
// Thread: one.
class RepeatGuard {
  public:
    using Clock = std::chrono::steady_clock;

    // True: write the line; `skipped` is how many were held back since the last one.
    [[nodiscard]] bool allow(Clock::time_point now, std::uint64_t& skipped);

  private:
    Clock::time_point last_{};
    std::uint64_t skipped_ = 0;
};

}  // namespace node
