#include "node/disk/table_file.hpp"

#include "node/disk/rocksdb_internal.hpp"

#include <rocksdb/sst_file_writer.h>

#include <utility>

namespace node {

class TableFile::Writer : base::Pinned {
  public:
    Writer(const rocksdb::Options& options, std::string path)
        : path_(std::move(path)), writer_(rocksdb::EnvOptions(), options) {}

    base::Result<void> said(const rocksdb::Status& status) const {
        if (status.ok()) return {};
        if (status.IsInvalidArgument()) {
            return base::fail(base::Errc::invalid, "table " + path_ + ": " + status.ToString());
        }
        return base::fail(error_of(status, path_));
    }

    base::Result<void> open() { return said(writer_.Open(path_)); }
    base::Result<void> add(base::ByteView key, base::ByteView value) {
        return said(writer_.Put(slice(key), slice(value)));
    }
    base::Result<void> finish() { return said(writer_.Finish()); }
    [[nodiscard]] std::uint64_t bytes() { return writer_.FileSize(); }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
    rocksdb::SstFileWriter writer_;
};

TableFile::TableFile(std::unique_ptr<Writer> writer) : writer_(std::move(writer)) {}
TableFile::~TableFile() = default;

base::Result<std::unique_ptr<TableFile>> TableFile::create(
    const std::string& path, base::Family family, const std::shared_ptr<rocksdb::Env>& env) {
    using Created = base::Result<std::unique_ptr<TableFile>>;
    return guarded(path, [&]() -> Created {
        RocksDbStorage::Options options;
        options.env = env;
        const rocksdb::Options all(database_options(options, nullptr),
                                   family_options(family, options, nullptr));
        auto writer = std::make_unique<Writer>(all, path);
        if (auto opened = writer->open(); !opened) return base::fail(opened.error());
        return std::unique_ptr<TableFile>(new TableFile(std::move(writer)));
    });
}

base::Result<void> TableFile::add(base::ByteView key, base::ByteView value) {
    return guarded(writer_->path(), [&] { return writer_->add(key, value); });
}

base::Result<void> TableFile::finish() {
    return guarded(writer_->path(), [&] { return writer_->finish(); });
}

std::uint64_t TableFile::bytes() const {
    return writer_->bytes();
}

}  // namespace node
