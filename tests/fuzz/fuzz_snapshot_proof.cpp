// Links and proofs come from strangers. The first byte says which of the two follows. What decodes
// must encode to the same bytes, and be refused in bounded time: nobody here has the keys.
#include "base/check.hpp"
#include "genesis/snapshot_agreement.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace {

// Of a chain with one validator.
const genesis::LinkWalk& walk() {
    static const genesis::LinkWalk kMade = [] {
        chain::Schedule schedule{0, {{}}};
        schedule.entries[0].producer = *chain::Name::from_string("one");
        schedule.entries[0].vote_key.point[0] = std::byte{2};
        return genesis::LinkWalk({{}, schedule, {}});
    }();
    return kMade;
}

void take_links(base::ByteView bytes) {
    const auto links = genesis::unpack_links(bytes);
    if (!links) return;
    base::Bytes joined;
    for (const base::Bytes& part : genesis::pack_links(*links)) {
        joined.insert(joined.end(), part.begin(), part.end());
    }
    CHECK(joined == base::to_bytes(bytes));
    for (const chain::Link& link : *links) {
        genesis::LinkWalk own = walk();
        CHECK(!own.take(link).has_value());
    }
}

void take_proof(base::ByteView bytes) {
    const auto part = genesis::decode_proof_part(bytes);
    if (!part) return;
    CHECK(genesis::encode_proof_part(*part) == base::to_bytes(bytes));
    CHECK(!genesis::check_proof(walk(), part->proof).has_value());
    (void)genesis::check_agreement(part->agreement, part->proof, walk(), 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const base::ByteView bytes = std::as_bytes(std::span(data, size)).subspan(1);
    if (data[0] == 0) {
        take_links(bytes);
    } else {
        take_proof(bytes);
    }
    return 0;
}
