#include "node/disk/rocksdb_losses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fcntl.h>

namespace node {

namespace {

constexpr std::uint64_t kFileMax = 4 * 1024 * 1024;

// At most 1,023 bytes of it.
[[gnu::format(printf, 1, 0)]] std::string printed(const char* format, va_list arguments) {
    std::array<char, 1024> line{};
    if (std::vsnprintf(line.data(), line.size(), format, arguments) < 0) return {};
    return line.data();
}

std::string now() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(since).count();
    const std::time_t seconds = micros / 1'000'000;
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    (void)std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    return fmt::format("{}.{:06}", text.data(), micros % 1'000'000);
}

}  // namespace

// "[db/db_impl/db_impl_open.cc:982] DIR/000004.log: dropping 245 bytes; Corruption: ..." (7.8).
std::optional<std::string> loss_of(std::string_view line) {
    constexpr std::string_view kDropping = ": dropping ";
    constexpr std::string_view kBytes = " bytes; ";
    const std::size_t dropping = line.find(kDropping);
    if (dropping == std::string_view::npos) return std::nullopt;
    const std::size_t bytes = line.find(kBytes, dropping);
    if (bytes == std::string_view::npos) return std::nullopt;
    const std::size_t file = line.rfind(' ', dropping) + 1;
    const std::size_t number = dropping + kDropping.size();
    const std::string_view reason = line.substr(bytes + kBytes.size());
    const bool is_cut = reason.find("truncated") != std::string_view::npos;
    return fmt::format(
        "the write-ahead log {} {}: {} bytes, and what comes after them in it, were dropped ({})",
        line.substr(file, dropping - file),
        is_cut ? "was cut short" : "is damaged",
        line.substr(number, bytes - number),
        reason);
}

std::optional<std::string> missing_log(rocksdb::Env& env, const std::string& directory) {
    std::vector<std::string> names;
    if (!env.GetChildren(directory, &names).ok()) return std::nullopt;
    // Written when it had opened, after the log was made.
    const bool was_open = std::ranges::any_of(
        names, [](const std::string& name) { return name.starts_with("OPTIONS-"); });
    const bool has_log =
        std::ranges::any_of(names, [](const std::string& name) { return name.ends_with(".log"); });
    if (!was_open || has_log) return std::nullopt;
    return fmt::format(
        "the write-ahead log of {} is gone (no file *.log): all that was written since the last "
        "tables is lost",
        directory);
}

LossLog::LossLog(const std::string& directory) {
    if (directory.empty()) return;
    path_ = directory + "/LOG";
    start_file();
}

void LossLog::start_file() {
    file_ = {};
    size_ = 0;
    (void)rename_file(path_, path_ + ".old");
    if (auto made = File::open(path_, O_WRONLY | O_CREAT | O_TRUNC)) file_ = *std::move(made);
}

void LossLog::Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) {
    if (level == rocksdb::WARN_LEVEL || level == rocksdb::ERROR_LEVEL) {
        va_list again;
        va_copy(again, arguments);
        const std::string line = printed(format, again);
        va_end(again);
        const std::scoped_lock lock(mutex_);
        if (auto loss = listens_ ? loss_of(line) : std::nullopt) {
            losses_.push_back(*std::move(loss));
        }
    }
    rocksdb::Logger::Logv(level, format, arguments);  // Names the level, and comes back below.
}

void LossLog::Logv(const char* format, va_list arguments) {
    const std::string line = printed(format, arguments);
    const std::scoped_lock lock(mutex_);
    if (path_.empty()) return;
    if (size_ >= kFileMax) start_file();
    const std::string whole = now() + " " + line + "\n";
    // A line that found no room leaves its place to the next one.
    if (file_.descriptor() >= 0 && file_.write_at(size_, base::as_bytes(whole))) {
        size_ += whole.size();
    }
}

size_t LossLog::GetLogFileSize() const {
    const std::scoped_lock lock(mutex_);
    return size_;
}

std::vector<std::string> LossLog::take() {
    const std::scoped_lock lock(mutex_);
    listens_ = false;
    return std::move(losses_);
}

}  // namespace node
