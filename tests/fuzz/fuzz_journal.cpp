#include "base/check.hpp"
#include "tests/support/journals.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

// A safety journal as a damaged disk returns it, and the page of it among the rows. The first byte
// says how many good pages come first, the second how many signatures a lock's certificate has,
// the third where the rest is laid over it. Whatever is read must go on: a page written after it
// is read back with it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using consensus::SafetyJournal;
    using Standing = SafetyJournal::Standing;
    constexpr consensus::KeyTag kKey = 1;
    if (size < 4) return 0;
    SafetyJournal good(kKey);
    consensus::JournalPage last = test::first_page(good);
    test::Logs logs;
    test::write_page(logs, last);
    for (std::uint64_t slot = 1; slot <= data[0] % 4U; ++slot) {
        chain::Certificate lock;
        lock.data.slot = slot;
        lock.signatures.resize(data[1]);
        const std::array records{
            consensus::SafetyRecord{.kind = consensus::RecordKind::notarize, .slot = slot},
            consensus::SafetyRecord{
                .kind = consensus::RecordKind::commit, .slot = slot, .lock_slot = slot}};
        last = good.append(records, std::make_shared<const chain::Certificate>(lock));
        test::write_page(logs, last);
    }
    base::Bytes& log = logs.at(kKey);
    const std::span<const std::uint8_t> patch(data + 3, size - 3);
    std::size_t at = log.size() * data[2] / 256;
    for (const std::uint8_t byte : patch) {
        if (at < log.size()) log[at++] ^= std::byte{byte};
    }
    auto journal = SafetyJournal::read(kKey, log);
    if (!journal) return 0;
    const Standing standing =
        journal->settle(SafetyJournal::Mark{last.sequence, last.bytes, last.replaces}, false);
    // What the rows say of the last page is never lost, unless more is.
    if (standing != Standing::lost) CHECK(journal->last_sequence() >= good.last_sequence());
    const bool has_all = standing == Standing::equal || journal->last_page() != nullptr;
    if (!has_all) test::write_page(logs, journal->compacted(0));
    const std::array more{
        consensus::SafetyRecord{.kind = consensus::RecordKind::produced, .slot = 100}};
    test::write_page(logs, journal->torn() ? journal->compacted(0, more) : journal->append(more));
    const auto again = SafetyJournal::read(kKey, logs.at(kKey));
    CHECK(again.has_value() && again->safety().produced_slot == 100);
    return 0;
}
