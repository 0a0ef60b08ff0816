#include "node/bps/server/frame.hpp"

#include "base/crypto/wipe.hpp"
#include "node/bps/core/codec/cluster_messages.hpp"

#include <algorithm>

namespace bps {

namespace {
constexpr std::size_t kKeyBytes = 2;
}  // namespace

Frame::Frame(MemoryHold hold, std::size_t bytes)
    : hold_(std::move(hold)),
      data_(std::make_unique_for_overwrite<std::byte[]>(bytes)),
      size_(bytes) {
    std::ranges::fill(this->bytes().first(std::min(bytes, kKeyBytes)), std::byte{0});
}

Frame::~Frame() {
    constexpr auto kSecretKey = static_cast<std::byte>(SaslAuthenticateRequest::kApi.key);
    static_assert(SaslAuthenticateRequest::kApi.key < 256);
    if (size_ < kKeyBytes || data_[0] != std::byte{0} || data_[1] != kSecretKey) return;
    base::crypto::secure_wipe(bytes());
}

}  // namespace bps
