// Which partitions a broker has made: a directory that is lost is no new one.
#include "node/bps/service/partition_list.hpp"

#include "node/disk/file.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

namespace {

using bps::PartitionId;
using bps::PartitionList;

constexpr PartitionId kFirst{7, 0};
constexpr PartitionId kSecond{7, 255};
constexpr PartitionId kOther{4'000'000'000, 1};

PartitionList open(const TemporaryDirectory& directory, const chain::ChainId& chain = {}) {
    auto list = PartitionList::open(directory.path(), chain);
    if (!list) throw std::runtime_error(list.error().detail);
    return *std::move(list);
}

void make(const PartitionList& list, PartitionId id) {
    std::filesystem::create_directory(list.path_of(id));
}

base::Error refused(const TemporaryDirectory& directory, const chain::ChainId& chain = {}) {
    const auto list = PartitionList::open(directory.path(), chain);
    if (list) throw std::runtime_error("it is taken");
    return list.error();
}

}  // namespace

TEST_CASE("a partition that was listed and has no directory is lost", "[bps][service]") {
    const TemporaryDirectory directory;
    {
        PartitionList list = open(directory);
        CHECK(list.check(kFirst));  // It was never made.
        for (const PartitionId id : {kFirst, kSecond, kOther}) {
            make(list, id);
            list.add(id);
        }
        REQUIRE(list.save());
        list.remove(kSecond);
        std::filesystem::remove(list.path_of(kSecond));
        REQUIRE(list.save());
    }
    const PartitionList list = open(directory);
    CHECK(list.on_disk() == std::vector{kOther, kFirst});
    CHECK(list.check(kFirst));
    CHECK(list.check(kSecond));
    std::filesystem::remove(list.path_of(kOther));
    CHECK(list.check(kFirst));
    const auto lost = list.check(kOther);
    REQUIRE_FALSE(lost);
    CHECK(lost.error().code == base::Errc::corrupt);
    CHECK(lost.error().detail ==
          (directory / "4000000000-1") +
              " is gone, with its records: put it back; to go on without them, "
              "make it as an empty directory, and let its groups begin anew (bor-cli bps groups "
              "reset)");
    make(list, kOther);
    CHECK(list.check(kOther));
}

TEST_CASE("without a list the directories count, and what is none does not", "[bps][service]") {
    const TemporaryDirectory directory;
    for (const char* name : {"7-0", "07-1", "7-1x", "7-", "-1", "7--1", "4294967296-0", "starts"})
        std::filesystem::create_directory(directory / name);
    PartitionList list = open(directory);
    CHECK(list.has(kFirst));
    CHECK(list.on_disk() == std::vector{kFirst});
    REQUIRE(list.save());
    std::filesystem::remove(list.path_of(kFirst));
    CHECK_FALSE(open(directory).check(kFirst));
}

TEST_CASE("a list of another chain or a damaged one is refused", "[bps][service]") {
    const TemporaryDirectory directory;
    PartitionList list = open(directory);
    list.add(kFirst);
    REQUIRE(list.save());
    chain::ChainId other;
    other.bytes[0] = std::byte{1};
    const base::Error foreign = refused(directory, other);
    CHECK(foreign.code == base::Errc::invalid);
    CHECK(foreign.detail.find("choose another bps-data-dir") != std::string::npos);

    const std::string path = directory / "partitions";
    const base::Bytes whole = node::read_file(path, 1'000).value();
    for (std::size_t i = 0; i < whole.size(); ++i) {
        base::Bytes bytes = whole;
        bytes[i] ^= std::byte{1};
        REQUIRE(node::write_file_atomically(path, bytes));
        CHECK(refused(directory).code == base::Errc::corrupt);
        REQUIRE(node::write_file_atomically(path, base::ByteView(whole).first(i)));
        CHECK(refused(directory).code == base::Errc::corrupt);
    }
}
