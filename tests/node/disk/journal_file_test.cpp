#include "node/disk/journal_file.hpp"

#include "node/disk/file.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <sys/resource.h>

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace {

using node::JournalFile;

base::Bytes page_of(int number) {
    base::Bytes page(4096);
    page[0] = std::byte(number);
    page[4095] = std::byte(number >> 8);
    return page;
}

std::vector<base::Bytes> blocks_of(const JournalFile& journal) {
    const base::Bytes bytes = journal.read().value();
    std::vector<base::Bytes> blocks;
    for (auto at = bytes.begin(); at != bytes.end(); at += 4096)
        blocks.emplace_back(at, at + 4096);
    return blocks;
}

void damage(const std::string& path, std::uint64_t offset, base::ByteView bytes) {
    auto file = node::File::open(path, O_RDWR).value();
    REQUIRE(file.write_at(offset, bytes));
}

// No file of this process may grow above these bytes, while this is there.
class FileSizeLimit : base::Pinned {
  public:
    explicit FileSizeLimit(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

  private:
    rlimit before_{};
};

}  // namespace

TEST_CASE("pages are read in the order in which they were appended, also after opening anew") {
    const TemporaryDirectory directory;
    const std::string path = directory / "safety.journal";
    REQUIRE(JournalFile::create(path, page_of(1)));
    {
        auto journal = JournalFile::open(path).value();
        CHECK(journal->block_count() == 1);
        REQUIRE(journal->append_page(page_of(2)));
        REQUIRE(journal->append_page(page_of(3)));
    }
    auto journal = JournalFile::open(path).value();
    CHECK(journal->block_count() == 3);
    REQUIRE(journal->append_page(page_of(4)));
    const auto pages = blocks_of(*journal);
    REQUIRE(pages.size() == 4);
    for (int i = 0; i < 4; ++i)
        CHECK(pages[static_cast<std::size_t>(i)] == page_of(i + 1));
}

TEST_CASE("the room grows when it is used up") {
    const TemporaryDirectory directory;
    const std::string path = directory / "safety.journal";
    REQUIRE(JournalFile::create(path, page_of(1)));
    auto journal = JournalFile::open(path).value();
    for (int i = 2; i <= 1100; ++i)
        REQUIRE(journal->append_page(page_of(i)));
    journal.reset();
    journal = JournalFile::open(path).value();
    REQUIRE(journal->block_count() == 1100);
    CHECK(blocks_of(*journal).back() == page_of(1100));
    CHECK(std::filesystem::file_size(path) == 2048 * 4096);
}

TEST_CASE("a page may have several blocks, and replace the journal") {
    const TemporaryDirectory directory;
    const std::string path = directory / "safety.journal";
    REQUIRE(JournalFile::create(path, page_of(1)));
    auto journal = JournalFile::open(path).value();
    base::Bytes wide = page_of(2);
    const base::Bytes second = page_of(3);
    wide.insert(wide.end(), second.begin(), second.end());
    REQUIRE(journal->append_page(wide));
    REQUIRE(journal->append_page(page_of(4)));
    CHECK(journal->block_count() == 4);
    CHECK(blocks_of(*journal) == std::vector{page_of(1), page_of(2), page_of(3), page_of(4)});
    REQUIRE(journal->compact(wide));
    REQUIRE(journal->append_page(page_of(5)));
    journal.reset();
    journal = JournalFile::open(path).value();
    CHECK(blocks_of(*journal) == std::vector{page_of(2), page_of(3), page_of(5)});
}

TEST_CASE("compaction leaves one page, and a file that can be appended to") {
    const TemporaryDirectory directory;
    const std::string path = directory / "safety.journal";
    REQUIRE(JournalFile::create(path, page_of(1)));
    auto journal = JournalFile::open(path).value();
    REQUIRE(journal->append_page(page_of(2)));
    REQUIRE(journal->compact(page_of(9)));
    REQUIRE(journal->append_page(page_of(10)));
    CHECK(blocks_of(*journal) == std::vector<base::Bytes>{page_of(9), page_of(10)});
    journal.reset();
    journal = JournalFile::open(path).value();
    CHECK(blocks_of(*journal) == std::vector<base::Bytes>{page_of(9), page_of(10)});
    // Only the journal is left in the directory.
    const auto files = std::filesystem::directory_iterator(directory.path());
    CHECK(std::distance(begin(files), end(files)) == 1);
}

TEST_CASE("a power cut in the middle of a compaction leaves the old journal") {
    const TemporaryDirectory directory;
    const std::string path = directory / "safety.journal";
    REQUIRE(JournalFile::create(path, page_of(1)));
    REQUIRE(node::write_file_atomically(path + ".next", page_of(7)));
    auto journal = JournalFile::open(path).value();
    CHECK(blocks_of(*journal) == std::vector<base::Bytes>{page_of(1)});
    REQUIRE(journal->compact(page_of(8)));
    CHECK(blocks_of(*journal) == std::vector<base::Bytes>{page_of(8)});
}

TEST_CASE("a torn last page is shown as it is, and so is a hole") {
    const TemporaryDirectory directory;
    const std::string path = directory / "safety.journal";
    REQUIRE(JournalFile::create(path, page_of(1)));
    base::Bytes half(2048, std::byte{5});
    SECTION("the first half arrived") {
        damage(path, 4096, half);
    }
    SECTION("the second half arrived") {
        damage(path, 4096 + 2048, half);
    }
    SECTION("a page is missing before") {
        damage(path, 2 * 4096, half);
    }
    auto journal = JournalFile::open(path).value();
    const auto pages = blocks_of(*journal);
    REQUIRE(pages.size() == journal->block_count());
    REQUIRE(pages.size() >= 2);
    CHECK(pages[0] == page_of(1));
    if (pages.size() == 3) CHECK(pages[1] == base::Bytes(4096));
    // Compaction takes it away.
    REQUIRE(journal->compact(page_of(2)));
    CHECK(JournalFile::open(path).error().code == base::Errc::unavailable);
    journal.reset();
    CHECK(JournalFile::open(path).value()->block_count() == 1);
}

TEST_CASE("a journal is never replaced, never made by opening, and never shared") {
    const TemporaryDirectory directory;
    const std::string path = directory / "safety.journal";
    const auto absent = JournalFile::open(path);
    REQUIRE_FALSE(absent);
    CHECK(absent.error().code == base::Errc::not_found);
    CHECK(absent.error().detail.find("key create --vote") != std::string::npos);

    REQUIRE(JournalFile::create(path, page_of(1)));
    const auto again = JournalFile::create(path, page_of(2));
    REQUIRE_FALSE(again);
    CHECK(again.error().code == base::Errc::invalid);

    const auto first = JournalFile::open(path).value();
    const auto second = JournalFile::open(path);
    REQUIRE_FALSE(second);
    CHECK(second.error().code == base::Errc::unavailable);
    CHECK(second.error().detail.find(path) != std::string::npos);
    CHECK(blocks_of(*first)[0] == page_of(1));
}

TEST_CASE("a file of another size than blocks make is corrupt") {
    const TemporaryDirectory directory;
    const std::string path = directory / "safety.journal";
    REQUIRE(JournalFile::create(path, page_of(1)));
    std::filesystem::resize_file(path, 5000);
    const auto opened = JournalFile::open(path);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == base::Errc::corrupt);
}

TEST_CASE("after a failed write the journal takes no further page until it is opened anew") {
    const TemporaryDirectory directory;
    const std::string path = directory / "safety.journal";
    REQUIRE(JournalFile::create(path, page_of(1)));
    auto journal = JournalFile::open(path).value();
    {
        const FileSizeLimit limit(2 * 4096);
        REQUIRE(journal->append_page(page_of(2)));
        const auto failed = journal->append_page(page_of(3));
        REQUIRE_FALSE(failed);
        CHECK(failed.error().code == base::Errc::unavailable);
        CHECK_FALSE(journal->compact(page_of(4)));
    }
    CHECK_FALSE(journal->append_page(page_of(3)));
    journal.reset();
    journal = JournalFile::open(path).value();
    CHECK(blocks_of(*journal) == std::vector<base::Bytes>{page_of(1), page_of(2)});
    CHECK(journal->append_page(page_of(3)));
}

TEST_CASE("a journal that finds no room for more pages goes on when there is some") {
    const TemporaryDirectory directory;
    const std::string path = directory / "safety.journal";
    constexpr std::size_t kRoom = 1024;  // Pages that are prepared at a time.
    REQUIRE(JournalFile::create(path, page_of(1)));
    auto journal = JournalFile::open(path).value();
    {
        const FileSizeLimit limit(kRoom * 4096);
        while (journal->block_count() < kRoom)
            REQUIRE(journal->append_page(page_of(2)));
        CHECK_FALSE(journal->append_page(page_of(3)));
    }
    REQUIRE(journal->append_page(page_of(3)));
    journal.reset();
    const auto pages = blocks_of(*JournalFile::open(path).value());
    REQUIRE(pages.size() == kRoom + 1);
    CHECK(pages.back() == page_of(3));
}

TEST_CASE("a file is replaced as a whole or not at all") {
    const TemporaryDirectory directory;
    const std::string path = directory / "settings";
    REQUIRE(node::write_file_atomically(path, base::as_bytes("old"), 0640));
    CHECK((std::filesystem::status(path).permissions() & std::filesystem::perms::others_all) ==
          std::filesystem::perms::none);
    {
        const FileSizeLimit limit(2);
        const auto failed = node::write_file_atomically(path, base::as_bytes("new text"));
        REQUIRE_FALSE(failed);
        CHECK(failed.error().detail.find(path) != std::string::npos);
    }
    CHECK(base::as_text(node::read_file(path, 100).value()) == "old");
    CHECK_FALSE(std::filesystem::exists(path + ".next"));
    REQUIRE(node::write_file_atomically(path, base::as_bytes("new text")));
    CHECK(base::as_text(node::read_file(path, 100).value()) == "new text");
    CHECK(node::read_file(path, 7).error().code == base::Errc::malformed);
    CHECK(node::read_file(directory / "absent", 7).error().code == base::Errc::not_found);
}
