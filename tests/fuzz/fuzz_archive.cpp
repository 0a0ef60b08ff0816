// Files of archives come from strangers. What decodes is of the heights that its head says, each
// block the child of the one before, and is packed to the same bytes again.
#include "base/check.hpp"
#include "base/crypto/hash.hpp"
#include "genesis/archive.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    const std::size_t begin = std::min(size, genesis::kArchiveHeadBytes);
    auto head = genesis::decode_archive_head(bytes.first(begin));
    if (!head) return 0;
    CHECK(genesis::encode_archive_head(*head) == base::to_bytes(bytes.first(begin)));
    // Who forges blocks makes their hash fit.
    const base::ByteView content = bytes.subspan(begin);
    head->bytes = static_cast<std::uint32_t>(content.size());
    head->sha256 = base::crypto::sha256(content);
    const auto blocks = genesis::decode_archive(*head, content);
    if (!blocks) return 0;
    CHECK(blocks->size() == std::size_t{head->last} - head->first + 1);
    genesis::ArchiveBuilder builder(head->chain_id);
    for (const chain::BlockPtr& block : *blocks) {
        const base::Bytes packed = chain::encode_block(*block);
        CHECK(builder.has_room(packed.size()));
        CHECK(builder.add(packed).has_value());
    }
    const genesis::ArchiveContent again = builder.finish();
    CHECK(again.head == *head && again.bytes == base::to_bytes(content));
    return 0;
}
