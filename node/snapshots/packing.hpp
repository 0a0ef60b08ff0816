#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"

#include <cstddef>

namespace node {

// How a chunk lies on disk and travels: one zstd frame that says how long its content is. Its name
// and the manifest are of the unpacked bytes, since zstd's differ between releases.
//
// Pure; any thread.
[[nodiscard]] base::Bytes pack_chunk(base::ByteView bytes);
// Any such frame. Takes no more memory than the content. malformed: as below.
[[nodiscard]] base::Result<base::Bytes> unpack_frame(base::ByteView packed, std::size_t size);
// The same of a chunk, which an error names. malformed: anything but one whole frame of `size`
// bytes.
[[nodiscard]] base::Result<base::Bytes> unpack_chunk(base::ByteView packed, std::size_t size);
// The most that pack_chunk() makes of so many bytes, for who reads a stranger's.
[[nodiscard]] std::size_t packed_bytes_max(std::size_t size);

}  // namespace node
