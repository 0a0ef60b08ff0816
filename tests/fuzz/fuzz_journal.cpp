#include "base/check.hpp"
#include "consensus/safety_journal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// The safety journal as a damaged disk returns it. The first byte says how many good pages come
// first; the rest overwrites parts of them. Whatever is read must go on: a page appended to it
// is read back with it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using consensus::SafetyJournal;
    if (size < 3) return 0;
    SafetyJournal good;
    std::vector<base::Bytes> pages;
    for (std::uint64_t slot = 1; slot <= data[0] % 4U + 1U; ++slot) {
        const std::vector<consensus::SafetyRecord> records{
            {.kind = consensus::RecordKind::notarize, .key = 1, .slot = slot},
            {.kind = consensus::RecordKind::produced, .key = 1, .slot = slot}};
        pages.push_back(good.append(records));
    }
    base::Bytes& page = pages[data[1] % pages.size()];
    const std::span<const std::uint8_t> patch(data + 2, size - 2);
    for (std::size_t i = 0; i < patch.size() && i < page.size(); ++i) {
        page[i] ^= std::byte{patch[i]};
    }
    auto journal = SafetyJournal::read(pages);
    if (!journal) return 0;
    if (journal->torn()) pages.pop_back();
    const std::vector<consensus::SafetyRecord> more{
        {.kind = consensus::RecordKind::produced, .key = 1, .slot = 100}};
    pages.push_back(journal->append(more));
    const auto again = SafetyJournal::read(pages);
    CHECK(again.has_value() && again->find(1)->produced_slot == 100);
    return 0;
}
