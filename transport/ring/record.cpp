#include "transport/ring/record.hpp"

namespace transport::ring {

namespace {

constexpr unsigned kLengthShift = 32;
constexpr unsigned kKindShift = 56;
constexpr std::uint64_t kSyncBit = std::uint64_t{1} << 62;
constexpr std::uint64_t kZeroBits = std::uint64_t{0b10111} << 59;

}  // namespace

std::uint64_t encode(const RecordWord& word) {
    return std::uint64_t{word.lap} | std::uint64_t{word.length} << kLengthShift |
           std::uint64_t{static_cast<std::uint8_t>(word.kind)} << kKindShift |
           (word.sync_req ? kSyncBit : 0);
}

std::optional<RecordWord> decode_word(std::uint64_t bits) {
    const RecordWord word{.lap = static_cast<std::uint32_t>(bits),
                          .length = static_cast<std::uint32_t>(bits >> kLengthShift) & 0xFFFFFFU,
                          .kind = static_cast<RecordKind>(bits >> kKindShift & 7U),
                          .sync_req = (bits & kSyncBit) != 0};
    if ((bits & kZeroBits) != 0) return std::nullopt;
    switch (word.kind) {
        case RecordKind::frame:
            if (word.length == 0 || word.length > kPayloadBytesMax) return std::nullopt;
            return word;
        case RecordKind::skip:
            if (word.length != 0) return std::nullopt;
            return word;
    }
    return std::nullopt;
}

}  // namespace transport::ring
