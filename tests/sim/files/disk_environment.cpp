#include "tests/sim/files/disk_environment.hpp"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <utility>

namespace sim {

namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

IOStatus answer(DiskFiles::Outcome outcome, const std::string& path) {
    switch (outcome) {
        case DiskFiles::Outcome::done:
            return IOStatus::OK();
        case DiskFiles::Outcome::absent:
            return IOStatus::PathNotFound(path);
        case DiskFiles::Outcome::exists:
            return IOStatus::IOError(path, "it exists");
        case DiskFiles::Outcome::no_space:
            return IOStatus::NoSpace(path, "the disk is full");
        case DiskFiles::Outcome::broken:
            break;
    }
    return IOStatus::IOError(path, "input/output error");
}

base::ByteView view(const Slice& bytes) {
    return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

// One that is open.
class Handle : base::Pinned {
  public:
    Handle(DiskFiles& files, DiskFiles::Process process, DiskFiles::FileId id, std::string path)
        : files_(files), process_(process), id_(id), path_(std::move(path)) {}
    ~Handle() { close(); }

    IOStatus read(std::uint64_t offset, std::size_t size, Slice* result, char* scratch) const {
        std::size_t got = 0;
        const auto done = files_.read(
            process_, id_, offset, std::as_writable_bytes(std::span(scratch, size)), got);
        *result = Slice(scratch, got);
        return answer(done, path_);
    }
    IOStatus append(const Slice& bytes) {
        const auto done = files_.write(process_, id_, size(), view(bytes));
        return answer(done, path_);
    }
    IOStatus sync() { return answer(files_.sync(process_, id_), path_); }
    IOStatus resize(std::uint64_t size) {
        return answer(files_.resize(process_, id_, size), path_);
    }
    [[nodiscard]] std::uint64_t size() const {
        std::uint64_t size = 0;
        return files_.size(process_, id_, size) == DiskFiles::Outcome::done ? size : 0;
    }
    void close() { files_.close(process_, id_); }
    [[nodiscard]] bool lock() { return files_.lock(process_, id_); }

  private:
    DiskFiles& files_;
    const DiskFiles::Process process_;
    const DiskFiles::FileId id_;
    const std::string path_;
};

using HandlePtr = std::unique_ptr<Handle>;

class SequentialFile final : public rocksdb::FSSequentialFile {
  public:
    explicit SequentialFile(HandlePtr handle) : handle_(std::move(handle)) {}
    IOStatus Read(std::size_t size,
                  const IOOptions& /*options*/,
                  Slice* result,
                  char* scratch,
                  IODebugContext* /*context*/) override {
        IOStatus done = handle_->read(at_, size, result, scratch);
        at_ += result->size();
        return done;
    }
    IOStatus Skip(std::uint64_t size) override {
        at_ += size;
        return IOStatus::OK();
    }

  private:
    HandlePtr handle_;
    std::uint64_t at_ = 0;
};

class RandomAccessFile final : public rocksdb::FSRandomAccessFile {
  public:
    explicit RandomAccessFile(HandlePtr handle) : handle_(std::move(handle)) {}
    // NOLINTNEXTLINE(readability-function-size): RocksDB has it so.
    IOStatus Read(std::uint64_t offset,
                  std::size_t size,
                  const IOOptions& /*options*/,
                  Slice* result,
                  char* scratch,
                  IODebugContext* /*context*/) const override {
        return handle_->read(offset, size, result, scratch);
    }

  private:
    HandlePtr handle_;
};

class WritableFile final : public rocksdb::FSWritableFile {
  public:
    explicit WritableFile(HandlePtr handle) : handle_(std::move(handle)) {}
    using FSWritableFile::Append;
    IOStatus Append(const Slice& bytes,
                    const IOOptions& /*options*/,
                    IODebugContext* /*context*/) override {
        return handle_->append(bytes);
    }
    IOStatus Truncate(std::uint64_t size,
                      const IOOptions& /*options*/,
                      IODebugContext* /*context*/) override {
        return handle_->size() == size ? IOStatus::OK() : handle_->resize(size);
    }
    IOStatus Close(const IOOptions& /*options*/, IODebugContext* /*context*/) override {
        handle_->close();
        return IOStatus::OK();
    }
    IOStatus Flush(const IOOptions& /*options*/, IODebugContext* /*context*/) override {
        return IOStatus::OK();
    }
    IOStatus Sync(const IOOptions& /*options*/, IODebugContext* /*context*/) override {
        return handle_->sync();
    }
    [[nodiscard]] bool IsSyncThreadSafe() const override { return true; }
    std::uint64_t GetFileSize(const IOOptions& /*options*/, IODebugContext* /*context*/) override {
        return handle_->size();
    }

  private:
    HandlePtr handle_;
};

class Directory final : public rocksdb::FSDirectory {
  public:
    Directory(DiskFiles& files, DiskFiles::Process process, std::string path)
        : files_(files), process_(process), path_(std::move(path)) {}
    IOStatus Fsync(const IOOptions& /*options*/, IODebugContext* /*context*/) override {
        return answer(files_.sync_directory(process_, path_), path_);
    }

  private:
    DiskFiles& files_;
    const DiskFiles::Process process_;
    const std::string path_;
};

class Lock final : public rocksdb::FileLock {
  public:
    explicit Lock(HandlePtr handle) : handle_(std::move(handle)) {}

  private:
    HandlePtr handle_;
};

class NoLog final : public rocksdb::Logger {
  public:
    NoLog() : Logger(rocksdb::InfoLogLevel::FATAL_LEVEL) {}
    using Logger::Logv;
    void Logv(const char* /*format*/, std::va_list /*values*/) override {}
    [[nodiscard]] std::size_t GetLogFileSize() const override { return 0; }
};

class Files final : public rocksdb::FileSystem {
  public:
    explicit Files(DiskFiles& files) : files_(files), process_(files.process()) {}
    [[nodiscard]] const char* Name() const override { return "simulated"; }

    IOStatus NewSequentialFile(const std::string& path,
                               const FileOptions& /*options*/,
                               std::unique_ptr<rocksdb::FSSequentialFile>* result,
                               IODebugContext* /*context*/) override {
        return open<SequentialFile>(path, {}, *result);
    }
    IOStatus NewRandomAccessFile(const std::string& path,
                                 const FileOptions& /*options*/,
                                 std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                 IODebugContext* /*context*/) override {
        return open<RandomAccessFile>(path, {}, *result);
    }
    IOStatus NewWritableFile(const std::string& path,
                             const FileOptions& /*options*/,
                             std::unique_ptr<rocksdb::FSWritableFile>* result,
                             IODebugContext* /*context*/) override {
        if (path.find("/OPTIONS-") != std::string::npos) {
            return IOStatus::NotSupported("options are not kept");
        }
        return open<WritableFile>(path, {.makes = true, .truncates = true}, *result);
    }
    IOStatus ReopenWritableFile(const std::string& path,
                                const FileOptions& /*options*/,
                                std::unique_ptr<rocksdb::FSWritableFile>* result,
                                IODebugContext* /*context*/) override {
        return open<WritableFile>(path, {.makes = true}, *result);
    }
    IOStatus NewDirectory(const std::string& path,
                          const IOOptions& /*options*/,
                          std::unique_ptr<rocksdb::FSDirectory>* result,
                          IODebugContext* /*context*/) override {
        bool is_directory = false;
        const auto found = files_.exists(process_, path, is_directory);
        if (found == DiskFiles::Outcome::done) {
            *result = std::make_unique<Directory>(files_, process_, path);
        }
        return answer(found, path);
    }

    IOStatus FileExists(const std::string& path,
                        const IOOptions& /*options*/,
                        IODebugContext* /*context*/) override {
        bool is_directory = false;
        return found(files_.exists(process_, path, is_directory), path);
    }
    IOStatus GetChildren(const std::string& path,
                         const IOOptions& /*options*/,
                         std::vector<std::string>* result,
                         IODebugContext* /*context*/) override {
        result->clear();
        return found(files_.list(process_, path, *result), path);
    }
    IOStatus DeleteFile(const std::string& path,
                        const IOOptions& /*options*/,
                        IODebugContext* /*context*/) override {
        return answer(files_.remove(process_, path), path);
    }
    IOStatus CreateDir(const std::string& path,
                       const IOOptions& /*options*/,
                       IODebugContext* /*context*/) override {
        return answer(files_.make_directory(process_, path), path);
    }
    IOStatus CreateDirIfMissing(const std::string& path,
                                const IOOptions& /*options*/,
                                IODebugContext* /*context*/) override {
        const auto made = files_.make_directory(process_, path);
        return made == DiskFiles::Outcome::exists ? IOStatus::OK() : answer(made, path);
    }
    IOStatus DeleteDir(const std::string& path,
                       const IOOptions& /*options*/,
                       IODebugContext* /*context*/) override {
        return answer(files_.remove(process_, path), path);
    }
    IOStatus GetFileSize(const std::string& path,
                         const IOOptions& /*options*/,
                         std::uint64_t* size,
                         IODebugContext* /*context*/) override {
        DiskFiles::FileId id = 0;
        const auto opened = files_.open(process_, path, {}, id);
        if (opened != DiskFiles::Outcome::done) return answer(opened, path);
        *size = Handle(files_, process_, id, path).size();
        return IOStatus::OK();
    }
    IOStatus GetFileModificationTime(const std::string& /*path*/,
                                     const IOOptions& /*options*/,
                                     std::uint64_t* time,
                                     IODebugContext* /*context*/) override {
        *time = 0;
        return IOStatus::OK();
    }
    IOStatus RenameFile(const std::string& from,
                        const std::string& to,
                        const IOOptions& /*options*/,
                        IODebugContext* /*context*/) override {
        return answer(files_.rename(process_, from, to), from);
    }
    IOStatus LinkFile(const std::string& from,
                      const std::string& to,
                      const IOOptions& /*options*/,
                      IODebugContext* /*context*/) override {
        return answer(files_.link(process_, from, to), from);
    }
    IOStatus LockFile(const std::string& path,
                      const IOOptions& /*options*/,
                      rocksdb::FileLock** lock,
                      IODebugContext* /*context*/) override {
        DiskFiles::FileId id = 0;
        const auto opened = files_.open(process_, path, {.makes = true}, id);
        if (opened != DiskFiles::Outcome::done) return answer(opened, path);
        auto handle = std::make_unique<Handle>(files_, process_, id, path);
        if (!handle->lock()) return IOStatus::IOError(path, "it is locked");
        *lock = std::make_unique<Lock>(std::move(handle)).release();
        return IOStatus::OK();
    }
    IOStatus UnlockFile(rocksdb::FileLock* lock,
                        const IOOptions& /*options*/,
                        IODebugContext* /*context*/) override {
        const std::unique_ptr<Lock> done(static_cast<Lock*>(lock));
        return IOStatus::OK();
    }
    IOStatus GetTestDirectory(const IOOptions& /*options*/,
                              std::string* path,
                              IODebugContext* /*context*/) override {
        *path = files_.root();
        return IOStatus::OK();
    }
    IOStatus NewLogger(const std::string& /*path*/,
                       const IOOptions& /*options*/,
                       std::shared_ptr<rocksdb::Logger>* result,
                       IODebugContext* /*context*/) override {
        *result = std::make_shared<NoLog>();
        return IOStatus::OK();
    }
    IOStatus GetAbsolutePath(const std::string& path,
                             const IOOptions& /*options*/,
                             std::string* result,
                             IODebugContext* /*context*/) override {
        *result = path;
        return IOStatus::OK();
    }
    IOStatus GetFreeSpace(const std::string& /*path*/,
                          const IOOptions& /*options*/,
                          std::uint64_t* free,
                          IODebugContext* /*context*/) override {
        *free = files_.free_bytes();
        return IOStatus::OK();
    }
    IOStatus IsDirectory(const std::string& path,
                         const IOOptions& /*options*/,
                         bool* is_directory,
                         IODebugContext* /*context*/) override {
        return answer(files_.exists(process_, path, *is_directory), path);
    }

  private:
    template <class Made, class Base>
    IOStatus open(const std::string& path, DiskFiles::Opening how, std::unique_ptr<Base>& result) {
        DiskFiles::FileId id = 0;
        const auto opened = files_.open(process_, path, how, id);
        if (opened != DiskFiles::Outcome::done) return answer(opened, path);
        result = std::make_unique<Made>(std::make_unique<Handle>(files_, process_, id, path));
        return IOStatus::OK();
    }
    // Of a question whether it is there.
    static IOStatus found(DiskFiles::Outcome outcome, const std::string& path) {
        return outcome == DiskFiles::Outcome::absent ? IOStatus::NotFound(path)
                                                     : answer(outcome, path);
    }

    DiskFiles& files_;
    const DiskFiles::Process process_;
};

}  // namespace

std::shared_ptr<rocksdb::Env> make_environment(DiskFiles& files) {
    const std::shared_ptr<rocksdb::Env> made =
        rocksdb::NewCompositeEnv(std::make_shared<Files>(files));
    return BackgroundJobs::order(made, files.jobs());
}

}  // namespace sim
