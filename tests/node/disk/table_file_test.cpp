#include "node/disk/table_file.hpp"

#include "node/disk/rocksdb_storage.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

// Tables that are written beside a database and taken over by it: what they hold is read as if it
// had been committed, also after the database was opened anew.

namespace {

using base::Family;
using node::RocksDbStorage;
using node::TableFile;

base::Bytes bytes(std::string_view text) {
    return base::to_bytes(base::as_bytes(text));
}

std::unique_ptr<RocksDbStorage> opened(const std::string& directory) {
    RocksDbStorage::Options options;
    options.directory = directory;
    auto storage = RocksDbStorage::open(options);
    if (!storage) FAIL(storage.error().detail);
    return std::move(*storage);
}

std::unique_ptr<TableFile> created(const std::string& path) {
    auto file = TableFile::create(path, Family::state);
    if (!file) FAIL(file.error().detail);
    return std::move(*file);
}

std::string key(int number) {
    return fmt::format("key {:05}", number);
}

}  // namespace

TEST_CASE("rows of tables that were taken over are there, also after a new start") {
    const TemporaryDirectory directory;
    const std::string database = directory / "db";
    constexpr int kFiles = 3;
    constexpr int kRows = 500;
    {
        const auto storage = opened(database);
        std::vector<std::string> paths;
        for (int i = 0; i < kFiles; ++i) {
            paths.push_back(directory / fmt::format("{}.table", i));
            const auto file = created(paths.back());
            for (int row = i * kRows; row < (i + 1) * kRows; ++row)
                REQUIRE(file->add(bytes(key(row)), bytes(fmt::format("value {}", row))));
            REQUIRE(file->finish());
            CHECK(file->bytes() > 0);
        }
        REQUIRE(storage->ingest(Family::state, paths));
        for (const std::string& path : paths)
            CHECK_FALSE(std::filesystem::exists(path));
    }
    const auto storage = opened(database);
    int seen = 0;
    REQUIRE(storage->scan(Family::state, {}, [&](auto at, auto value) {
        CHECK(base::equal(at, bytes(key(seen))));
        CHECK(base::equal(value, bytes(fmt::format("value {}", seen))));
        ++seen;
        return true;
    }));
    CHECK(seen == kFiles * kRows);
}

TEST_CASE("a table takes keys that strictly ascend only") {
    const TemporaryDirectory directory;
    const auto file = created(directory / "table");
    REQUIRE(file->add(bytes("b"), bytes("1")));
    for (const char* wrong : {"b", "a"}) {
        const auto added = file->add(bytes(wrong), bytes("2"));
        REQUIRE_FALSE(added);
        CHECK(added.error().code == base::Errc::invalid);
    }
    CHECK(file->add(bytes("c"), bytes("3")));
}

TEST_CASE("a table that is cut short is not taken over") {
    const TemporaryDirectory directory;
    const auto storage = opened(directory / "db");
    const std::string path = directory / "table";
    {
        const auto file = created(path);
        for (int row = 0; row < 10'000; ++row)
            REQUIRE(file->add(bytes(key(row)), bytes("value")));
        REQUIRE(file->finish());
    }
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 10);
    CHECK_FALSE(storage->ingest(Family::state, {path}));
    const auto row = storage->at_or_after(Family::state, {});
    REQUIRE(row);
    CHECK_FALSE(row->has_value());
}
