#include "base/check.hpp"
#include "node/bps/core/codec/reader.hpp"
#include "node/bps/core/codec/writer.hpp"
#include "node/bps/disk/codec_libraries.hpp"

#include <cstdint>
#include <snappy.h>

namespace bps {

namespace {

constexpr std::string_view kKind = "snappy";
// What the Java library (xerial) puts before its blocks: these bytes, two versions, and then each
// block behind its length. Kafka's clients read both this and one bare block.
constexpr std::string_view kMagic("\x82SNAPPY\0", 8);
constexpr std::int32_t kVersion = 1;
constexpr std::size_t kBlockBytes = 32U << 10U;

const char* as_characters(base::ByteView bytes) {
    return reinterpret_cast<const char*>(bytes.data());
}

bool has_magic(base::ByteView bytes) {
    return bytes.size() >= kMagic.size() && base::as_text(bytes.first(kMagic.size())) == kMagic;
}

// A bare block (google/snappy, format_description.txt), to the end of `out`.
base::Result<void> open_block(base::ByteView block, std::size_t bytes_max, base::Bytes& out) {
    std::size_t size = 0;
    if (!snappy::GetUncompressedLength(as_characters(block), block.size(), &size)) {
        return bad_stream(kKind, "a block without its length");
    }
    if (size > bytes_max - out.size()) return too_much(kKind, block.size(), bytes_max);
    // Three bytes make 64 at most: so what is set aside is not by the word of the sender.
    constexpr std::size_t kMadeOfThree = 64;
    if (size / kMadeOfThree > block.size() / 3 + 1) {
        return bad_stream(kKind, "a block says that it opens to more than it can");
    }
    const std::size_t before = out.size();
    out.resize(before + size);
    char* const to = reinterpret_cast<char*>(out.data() + before);
    if (!snappy::RawUncompress(as_characters(block), block.size(), to)) {
        return bad_stream(kKind, "a damaged block");
    }
    return {};
}

base::Result<base::Bytes> open_framed(base::ByteView bytes, std::size_t bytes_max) {
    Reader in(bytes);
    (void)in.raw(kMagic.size(), "magic");
    // There is one form of what follows, whatever the versions say.
    (void)in.integer<std::int32_t>("version");
    (void)in.integer<std::int32_t>("compatible version");
    base::Bytes out;
    while (in.ok() && in.offset() < bytes.size()) {
        const auto size = in.integer<std::int32_t>("length of a block");
        if (size <= 0) in.set_error("length of a block", "not positive");
        const base::ByteView block = in.raw(in.ok() ? static_cast<std::size_t>(size) : 0, "block");
        if (!in.ok()) break;
        if (auto opened = open_block(block, bytes_max, out); !opened) {
            return base::fail(opened.error());
        }
    }
    if (const auto done = in.finish(); !done) return bad_stream(kKind, done.error().detail);
    return out;
}

}  // namespace

base::Result<base::Bytes> open_snappy(base::ByteView bytes, std::size_t bytes_max) {
    if (has_magic(bytes)) return open_framed(bytes, bytes_max);
    base::Bytes out;
    if (auto opened = open_block(bytes, bytes_max, out); !opened) return base::fail(opened.error());
    return out;
}

base::Bytes make_snappy(base::ByteView bytes) {
    Writer out;
    out.raw(base::as_bytes(kMagic));
    out.integer(kVersion);
    out.integer(kVersion);
    base::Bytes block(snappy::MaxCompressedLength(kBlockBytes));
    while (!bytes.empty()) {
        const base::ByteView part = bytes.first(std::min(bytes.size(), kBlockBytes));
        std::size_t size = 0;
        snappy::RawCompress(
            as_characters(part), part.size(), reinterpret_cast<char*>(block.data()), &size);
        out.integer(static_cast<std::int32_t>(size));
        out.raw(base::ByteView(block).first(size));
        bytes = bytes.subspan(part.size());
    }
    return out.take();
}

}  // namespace bps
