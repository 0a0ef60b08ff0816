#pragma once

#include "base/pinned.hpp"
#include "base/storage.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace rocksdb {
class Env;
}

namespace node {

// A sorted table of rows beside a database, which RocksDbStorage::ingest() takes over as it is.
//
// Thread: one at a time; several files at once may be written by several. unavailable: the disk is
// full or failing.
class TableFile : base::Pinned {
  public:
    // Replaces what is at `path`. `env`: as of the database.
    [[nodiscard]] static base::Result<std::unique_ptr<TableFile>> create(
        const std::string& path,
        base::Family family,
        const std::shared_ptr<rocksdb::Env>& env = nullptr);
    ~TableFile();

    // invalid: the key is not above the one before it.
    base::Result<void> add(base::ByteView key, base::ByteView value);
    // Durable when it returns; its name is not. invalid: it has no row.
    base::Result<void> finish();
    // Written so far, about.
    [[nodiscard]] std::uint64_t bytes() const;

  private:
    class Writer;
    explicit TableFile(std::unique_ptr<Writer> writer);

    std::unique_ptr<Writer> writer_;
};

}  // namespace node
