#include "chain/types/codec.hpp"

namespace chain {

void decode(base::Reader& in, base::crypto::PublicKey& key, std::string_view field) {
    key = base::crypto::read_public_key(in, field);
}

void decode(base::Reader& in, base::crypto::Signature& signature, std::string_view field) {
    signature = base::crypto::read_signature(in, field);
}

}  // namespace chain
