#pragma once

#include <span>
#include <string_view>

namespace chain {

// One of the 22 protocol features that Leap 5.0.3 has built in. BoR has all of their rules from
// its first block and reports them as active; this is the data that clients ask for.
struct ProtocolFeature {
    std::string_view codename;                       // "PREACTIVATE_FEATURE"
    std::string_view feature_digest;                 // Hexadecimal.
    std::string_view description_digest;             // Hexadecimal.
    std::span<const std::string_view> dependencies;  // Digests.
    bool preactivation_required = true;
};

// In the order of get_supported_protocol_features.
[[nodiscard]] std::span<const ProtocolFeature> protocol_features();
// The same in order of activation, PREACTIVATE_FEATURE first: the index is the ordinal.
[[nodiscard]] std::span<const ProtocolFeature> activated_protocol_features();

}  // namespace chain
