#pragma once

#include "node/disk/rocksdb_storage.hpp"

#include <rocksdb/cache.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

// Shared by the files of this folder that speak with RocksDB; nobody else includes it.

namespace node {

[[nodiscard]] inline rocksdb::Slice slice(base::ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[nodiscard]] inline base::ByteView view(const rocksdb::Slice& bytes) {
    return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

// What a failure of the database in `directory` means, and what to do.
[[nodiscard]] base::Error error_of(const rocksdb::Status& status, const std::string& directory);

// RocksDB reports by Status, but the standard library below it may throw.
template <class Function>
auto guarded(const std::string& directory, Function&& function) -> decltype(function()) {
    try {
        return function();
    } catch (const std::exception& error) {
        return base::fail(base::Errc::unavailable,
                          "the database in " + directory + " failed: " + error.what());
    }
}

[[nodiscard]] rocksdb::DBOptions database_options(const RocksDbStorage::Options& options,
                                                  const std::shared_ptr<rocksdb::Cache>& cache);
[[nodiscard]] rocksdb::ColumnFamilyOptions family_options(
    base::Family family,
    const RocksDbStorage::Options& options,
    const std::shared_ptr<rocksdb::Cache>& cache);

}  // namespace node
