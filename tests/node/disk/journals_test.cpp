#include "node/disk/journals.hpp"

#include "node/disk/file.hpp"
#include "tests/support/journals.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using consensus::RecordKind;
using consensus::SafetyJournal;
using consensus::SafetyRecord;

class SilentLog final : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level /*level*/) const override { return false; }
    void write(base::Level, std::string_view, std::string_view) override {}
};

constexpr std::size_t kKeys = 21;  // A key and as many rotations as nobody makes.
constexpr chain::Slot kPages = 5;

base::crypto::PublicKey key_number(std::size_t i) {
    base::Hash256 secret;
    secret.bytes[0] = std::byte(i + 1);
    return base::crypto::PrivateKey::from_secret(base::crypto::KeyType::k1, secret.view())
        .value()
        .public_key();
}

// Each key has made a header in slots 1 to kPages.
std::vector<base::crypto::PublicKey> write_journals(const std::string& data_dir) {
    std::vector<base::crypto::PublicKey> keys;
    for (std::size_t i = 0; i < kKeys; ++i) {
        keys.push_back(key_number(i));
        SafetyJournal journal(consensus::key_tag(keys.back()));
        const auto path = node::journal_path(data_dir, keys.back());
        std::filesystem::create_directories(path.parent_path());
        REQUIRE(node::JournalFile::create(path.string(), test::first_page(journal).bytes));
        auto file = node::JournalFile::open(path.string()).value();
        for (chain::Slot slot = 1; slot <= kPages; ++slot) {
            const std::vector<SafetyRecord> made{{.kind = RecordKind::produced, .slot = slot}};
            REQUIRE(file->append_page(journal.append(made).bytes));
        }
    }
    return keys;
}

// A byte of the last page.
void tear(const std::string& path) {
    auto file = node::File::open(path, O_RDWR).value();
    const base::Bytes other{std::byte{0x5A}};
    REQUIRE(file.write_at(kPages * SafetyJournal::kBlockBytes + 40, other));
}

}  // namespace

TEST_CASE("each of many keys has a journal of its own, whatever befalls those of others") {
    const TemporaryDirectory directory;
    const std::string data_dir = directory / "data";
    const auto keys = write_journals(data_dir);
    const auto path = [&](std::size_t i) { return node::journal_path(data_dir, keys[i]).string(); };
    tear(path(3));
    tear(path(17));
    std::filesystem::remove(path(8));
    std::filesystem::resize_file(path(11), SafetyJournal::kBlockBytes + 1);
    SilentLog silent;
    auto opened = node::open_journals(data_dir, keys, base::Log(silent, "disk"));
    REQUIRE(opened.has_value());
    CHECK(opened->logs.size() == kKeys);
    for (std::size_t i = 0; i < kKeys; ++i) {
        const auto at = opened->safety.find(consensus::key_tag(keys[i]));
        CAPTURE(i);
        if (i == 8 || i == 11) {
            CHECK(at == opened->safety.end());
            continue;
        }
        REQUIRE(at != opened->safety.end());
        const bool is_torn = i == 3 || i == 17;
        CHECK(at->second.torn() == is_torn);
        CHECK(at->second.safety().produced_slot == (is_torn ? kPages - 1 : kPages));
    }
}
