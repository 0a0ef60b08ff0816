#pragma once

#include "node/disk/rocksdb_internal.hpp"

#include <rocksdb/env.h>

#include <cstdarg>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace node {

// What a line of RocksDB's own log says of writes that it leaves out, in a sentence for the
// operator; nothing: it says nothing of that.
[[nodiscard]] std::optional<std::string> loss_of(std::string_view line);

// Whether a database was open in the directory, whose write-ahead log is there no more: RocksDB
// opens it without a word, as it was when it last wrote tables.
[[nodiscard]] std::optional<std::string> missing_log(rocksdb::Env& env,
                                                     const std::string& directory);

// RocksDB's log, as it would write it by itself, which remembers what was lost.
//
// Thread: any.
class LossLog final : public rocksdb::Logger {
  public:
    // Before the database opens; `into` is that one's log where it can be made.
    explicit LossLog(std::shared_ptr<rocksdb::Logger> into) : into_(std::move(into)) {}

    using rocksdb::Logger::Logv;
    void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override
        __attribute__((format(printf, 3, 0)));
    void LogHeader(const char* format, va_list arguments) override
        __attribute__((format(printf, 2, 0)));
    [[nodiscard]] size_t GetLogFileSize() const override;
    void Flush() override;

    // What was lost until now; later lines are not looked at.
    [[nodiscard]] std::vector<std::string> take();

  private:
    void look_at(const char* format, va_list arguments) __attribute__((format(printf, 2, 0)));

    std::shared_ptr<rocksdb::Logger> into_;
    std::mutex mutex_;
    bool listens_ = true;
    std::vector<std::string> losses_;
};

}  // namespace node
