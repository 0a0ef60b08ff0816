#include "node/bps/server/frame.hpp"

#include "base/crypto/wipe.hpp"
#include "node/bps/core/codec/cluster_messages.hpp"

namespace bps {

Frame::~Frame() {
    constexpr auto kSecretKey = static_cast<std::byte>(SaslAuthenticateRequest::kApi.key);
    static_assert(SaslAuthenticateRequest::kApi.key < 256);
    if (bytes_.size() < 2 || bytes_[0] != std::byte{0} || bytes_[1] != kSecretKey) return;
    base::crypto::secure_wipe(bytes_);
}

}  // namespace bps
