#include "chain/types/codec.hpp"

#include "chain/types/limits.hpp"

namespace chain {

void decode(base::Reader& in, base::crypto::PublicKey& key, std::string_view field) {
    key = base::crypto::read_public_key(in, field);
}

void decode(base::Reader& in, base::crypto::Signature& signature, std::string_view field) {
    signature = base::crypto::read_signature(in, field);
}

void encode(base::Writer& out, const Extension& extension) {
    out.u16(extension.id);
    out.bytes(extension.data);
}

void decode(base::Reader& in, Extension& extension, std::string_view field) {
    extension.id = in.u16(field);
    extension.data = base::to_bytes(in.bytes(field, kTransactionBytesMax));
}

}  // namespace chain
