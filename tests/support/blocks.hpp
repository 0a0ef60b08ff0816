#pragma once

#include "chain/types/block.hpp"

namespace support {

// The block with another header, signed by this key.
inline chain::BlockPtr with_header(const chain::Block& block,
                                   const chain::BlockHeader& header,
                                   const base::crypto::PrivateKey& key,
                                   const chain::ChainId& chain_id) {
    return chain::make_block(
        {header, key.sign(header.signing_digest(chain_id))}, block.transactions, block.witness);
}

}  // namespace support
