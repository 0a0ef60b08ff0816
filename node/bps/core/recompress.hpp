#pragma once

#include "base/bytes.hpp"
#include "node/bps/core/batch.hpp"
#include "node/bps/core/records.hpp"
#include "node/bps/core/refusal.hpp"

namespace bps {

// A produced batch, stored as its topic asks (the setting compression.type, spec 08): checked as
// check_produced() does, its records too, and made anew with these compressed so.
//
// What comes out of a compressed batch is at most max.message.bytes: the time that this takes is
// that of others, too.
[[nodiscard]] Verdict<base::Bytes> recompress(base::ByteView batch,
                                              const BatchRules& rules,
                                              Compression stored_as,
                                              const Decompressor& opener);

}  // namespace bps
