#include "node/disk/rocksdb_losses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace node {

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

void LossLog::look_at(const char* format, va_list arguments) {
    std::array<char, 1024> line{};
    const int size = std::vsnprintf(line.data(), line.size(), format, arguments);
    if (size <= 0) return;
    if (auto loss = loss_of(line.data())) losses_.push_back(*std::move(loss));
}

void LossLog::Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) {
    if (level == rocksdb::WARN_LEVEL || level == rocksdb::ERROR_LEVEL) {
        const std::scoped_lock lock(mutex_);
        va_list again;
        va_copy(again, arguments);
        if (listens_) look_at(format, again);
        va_end(again);
    }
    if (into_ != nullptr) into_->Logv(level, format, arguments);
}

void LossLog::LogHeader(const char* format, va_list arguments) {
    if (into_ != nullptr) into_->LogHeader(format, arguments);
}

size_t LossLog::GetLogFileSize() const {
    return into_ == nullptr ? 0 : into_->GetLogFileSize();
}

void LossLog::Flush() {
    if (into_ != nullptr) into_->Flush();
}

std::vector<std::string> LossLog::take() {
    const std::scoped_lock lock(mutex_);
    listens_ = false;
    return std::move(losses_);
}

}  // namespace node
