// The directory of wallets: one process at a time, files replaced as a whole, and names that
// cannot lead elsewhere.
#include "wallet/directory.hpp"

#include "scratch.hpp"

#include <catch2/catch.hpp>
#include <sys/stat.h>

using namespace wallet;
using wallet::tests::Scratch;

TEST_CASE("a directory has one holder at a time") {
    const Scratch scratch;
    auto first = Directory::open(scratch.path());
    REQUIRE(first);
    const auto second = Directory::open(scratch.path());
    REQUIRE_FALSE(second);
    CHECK(second.error().code == base::Errc::unavailable);
    CHECK_THAT(
        second.error().detail,
        Catch::Contains(scratch.path()) && Catch::Contains("is another bor-wallet running?"));
    first->reset();
    CHECK(Directory::open(scratch.path()));
}

TEST_CASE("a missing directory is made for its owner only") {
    const Scratch scratch;
    const std::string path = scratch.file("a/b");
    REQUIRE(Directory::open(path));
    struct stat found {};
    REQUIRE(::stat(path.c_str(), &found) == 0);
    CHECK((found.st_mode & 0777) == 0700);
    CHECK_FALSE(Directory::open("/proc/nowhere"));
}

TEST_CASE("files are written for their owner only and read back") {
    const Scratch scratch;
    const auto directory = Directory::open(scratch.path()).value().release();
    const std::unique_ptr<Directory> owner(directory);
    CHECK_FALSE(owner->exists("w"));
    CHECK(owner->read("w").error().detail == "Unable to open file: " + scratch.file("w.wallet"));
    REQUIRE(owner->write("w", "one"));
    REQUIRE(owner->write("w", "two"));
    CHECK(owner->exists("w"));
    CHECK(owner->read("w").value() == "two");
    CHECK_FALSE(std::filesystem::exists(scratch.file("w.wallet.new")));
    struct stat found {};
    REQUIRE(::stat(scratch.file("w.wallet").c_str(), &found) == 0);
    CHECK((found.st_mode & 0777) == 0600);
}

TEST_CASE("a half-written file of a crash is no obstacle") {
    const Scratch scratch;
    const auto directory = Directory::open(scratch.path());
    REQUIRE((*directory)->write("w", "old"));
    scratch.write("w.wallet.new", "ha");
    CHECK((*directory)->read("w").value() == "old");
    CHECK((*directory)->write("w", "new"));
    CHECK((*directory)->read("w").value() == "new");
}

TEST_CASE("what is no file of bounded size is not read") {
    const Scratch scratch;
    const auto directory = Directory::open(scratch.path());
    scratch.write("big.wallet", std::string(kFileBytesMax + 1, ' '));
    CHECK_THAT((*directory)->read("big").error().detail, Catch::Contains("2097152 bytes"));
    REQUIRE(::mkfifo(scratch.file("pipe.wallet").c_str(), 0600) == 0);
    CHECK_THAT((*directory)->read("pipe").error().detail, Catch::Contains("no regular file"));
    std::filesystem::create_directory(scratch.file("dir.wallet"));
    CHECK_FALSE((*directory)->read("dir"));
    CHECK_FALSE((*directory)->write("dir", "text"));
    CHECK_FALSE(std::filesystem::exists(scratch.file("dir.wallet.new")));
}

TEST_CASE("nothing is written once the lock file was replaced") {
    const Scratch scratch;
    const auto directory = Directory::open(scratch.path());
    std::filesystem::remove(scratch.file("wallet.lock"));
    CHECK_FALSE((*directory)->write("w", "text"));
    scratch.write("wallet.lock", "");
    const auto written = (*directory)->write("w", "text");
    REQUIRE_FALSE(written);
    CHECK_THAT(written.error().detail, Catch::Contains("wallet.lock was removed or replaced"));
    CHECK_FALSE(std::filesystem::exists(scratch.file("w.wallet")));
}

TEST_CASE("names lead nowhere else") {
    for (const std::string_view good : {"default", "w1", "A-b_c.d", "5", "..."}) {
        CHECK(valid_name(good));
    }
    for (const std::string_view bad : {"", ".", "..", "../x", "a b", "a/b", "\xc3\xa4", "a\n"}) {
        CHECK_FALSE(valid_name(bad));
    }
    CHECK_FALSE(valid_name(std::string_view("a\0b", 3)));
    CHECK(valid_name(std::string(200, 'a')));
    CHECK_FALSE(valid_name(std::string(201, 'a')));
}
