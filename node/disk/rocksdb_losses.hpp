#pragma once

#include "node/disk/file.hpp"

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

// RocksDB's log, which remembers what was lost: the file LOG of its directory, and LOG.old, which
// was LOG before this start, or until LOG had 4 MiB. What cannot be written is left out: RocksDB's
// own (7.8) ends the process, by an assertion, at its second line on a full disk.
//
// Thread: any.
class LossLog final : public rocksdb::Logger {
  public:
    // Before the database opens. An empty `directory`: nothing is written.
    explicit LossLog(const std::string& directory);

    using rocksdb::Logger::Logv;
    void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override
        __attribute__((format(printf, 3, 0)));
    void Logv(const char* format, va_list arguments) override __attribute__((format(printf, 2, 0)));
    [[nodiscard]] size_t GetLogFileSize() const override;

    // What was lost until now; later lines are not looked at.
    [[nodiscard]] std::vector<std::string> take();

  private:
    void start_file();

    std::string path_;  // Empty: no file.
    mutable std::mutex mutex_;
    File file_;
    std::uint64_t size_ = 0;
    bool listens_ = true;
    std::vector<std::string> losses_;
};

}  // namespace node
