#pragma once

#include "consensus/certificate.hpp"
#include "tests/support/one_node.hpp"

namespace support {

// Of the first three of a cluster's four validators.
inline chain::Certificate certificate_of(const chain::Block& block,
                                         chain::VoteKind kind,
                                         const chain::ChainId& chain_id) {
    const chain::VoteData data = consensus::vote_data(kind, block);
    chain::Certificate made{data, {base::Bytes{std::byte{0b0111}}}, {}};
    for (unsigned char tag = 7; tag < 10; ++tag)
        made.signatures.push_back(key_of(tag).sign(data.digest(chain_id)));
    return made;
}

}  // namespace support
