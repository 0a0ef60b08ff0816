#include "chain/types/protocol_features.hpp"

#include <algorithm>
#include <array>

namespace chain {

namespace {

// Source: the recorded answer of get_supported_protocol_features of Leap 5.0.3.
constexpr std::array<std::string_view, 1> kDependenciesOfDisableDeferredTrxsStage2 = {
    "fce57d2331667353a0eac6b4209b67b843a7262a848af0a49a6e2fa9f6584eb4"};
constexpr std::array<std::string_view, 1> kDependenciesOfNoDuplicateDeferredId = {
    "ef43112c6543b88db2283a2e077278c315ae2c84719a8b25f25cc88565fbea99"};

constexpr auto kFeatures = std::to_array<ProtocolFeature>({
    {"DISABLE_DEFERRED_TRXS_STAGE_1",
     "fce57d2331667353a0eac6b4209b67b843a7262a848af0a49a6e2fa9f6584eb4",
     "440c3efaaab212c387ce967c574dc813851cf8332d041beb418dfaf55facd5a9",
     {},
     true},
    {"DISABLE_DEFERRED_TRXS_STAGE_2",
     "09e86cb0accf8d81c9e85d34bea4b925ae936626d00c984e4691186891f5bc16",
     "a857eeb932774c511a40efb30346ec01bfb7796916b54c3c69fe7e5fb70d5cba",
     kDependenciesOfDisableDeferredTrxsStage2,
     true},
    {"PREACTIVATE_FEATURE",
     "0ec7e080177b2c02b278d5088611686b49d739925a92d9bfcacd7fc6b74053bd",
     "64fe7df32e9b86be2b296b3f81dfd527f84e82b98e363bc97e40bc7a83733310",
     {},
     false},
    {"ONLY_LINK_TO_EXISTING_PERMISSION",
     "1a99a59d87e06e09ec5b028a9cbb7749b4a5ad8819004365d02dc4379a8b7241",
     "f3c3d91c4603cde2397268bfed4e662465293aab10cd9416db0d442b8cec2949",
     {},
     true},
    {"FORWARD_SETCODE",
     "2652f5f96006294109b3dd0bbde63693f55324af452b799ee137a81a905eed25",
     "898082c59f921d0042e581f00a59d5ceb8be6f1d9c7a45b6f07c0e26eaee0222",
     {},
     true},
    {"WTMSIG_BLOCK_SIGNATURES",
     "299dcb6af692324b899b39f16d5a530a33062804e41f09dc97e9f156b4476707",
     "ab76031cad7a457f4fd5f5fca97a3f03b8a635278e0416f77dcc91eb99a48e10",
     {},
     true},
    {"GET_BLOCK_NUM",
     "35c2186cc36f7bb4aeaf4487b36e57039ccf45a9136aa856a5d569ecca55ef2b",
     "e5d7992006e628a38c5e6c28dd55ff5e57ea682079bf41fef9b3cced0f46b491",
     {},
     true},
    {"REPLACE_DEFERRED",
     "ef43112c6543b88db2283a2e077278c315ae2c84719a8b25f25cc88565fbea99",
     "9908b3f8413c8474ab2a6be149d3f4f6d0421d37886033f27d4759c47a26d944",
     {},
     true},
    {"NO_DUPLICATE_DEFERRED_ID",
     "4a90c00d55454dc5b059055ca213579c6ea856967712a56017487886a4d4cc0f",
     "45967387ee92da70171efd9fefd1ca8061b5efe6f124d269cd2468b47f1575a0",
     kDependenciesOfNoDuplicateDeferredId,
     true},
    {"RAM_RESTRICTIONS",
     "4e7bf348da00a945489b2a681749eb56f5de00b900014e137ddae39f48f69d67",
     "1812fdb5096fd854a4958eb9d53b43219d114de0e858ce00255bd46569ad2c68",
     {},
     true},
    {"WEBAUTHN_KEY",
     "4fca8bd82bbd181e714e283f83e1b45d95ca5af40fb89ad3977b653c448f78c2",
     "927fdf78c51e77a899f2db938249fb1f8bb38f4e43d9c1f75b190492080cbc34",
     {},
     true},
    {"BLOCKCHAIN_PARAMETERS",
     "5443fcf88330c586bc0e5f3dee10e7f63c76c00249c87fe4fbf7f38c082006b4",
     "70787548dcea1a2c52c913a37f74ce99e6caae79110d7ca7b859936a0075b314",
     {},
     true},
    {"BLS_PRIMITIVES2",
     "63320dd4a58212e4d32d1f58926b73ca33a247326c2a5e9fd39268d2384e011a",
     "c0cce5bcd8ea19a28d9e12eafda65ebe6d0e0177e280d4f20c7ad66dcd9e011b",
     {},
     true},
    {"DISALLOW_EMPTY_PRODUCER_SCHEDULE",
     "68dcaa34c0517d19666e6b33add67351d8c5f69e999ca1e37931bc410a297428",
     "2853617cec3eabd41881eb48882e6fc5e81a0db917d375057864b3befbe29acd",
     {},
     true},
    {"CRYPTO_PRIMITIVES",
     "6bcb40a24e49c26d0a60513b6aeb8551d264e4717f306b81a37a5afb3b47cedc",
     "68d6405cb8df3de95bd834ebb408196578500a9f818ff62ccc68f60b932f7d82",
     {},
     true},
    {"ONLY_BILL_FIRST_AUTHORIZER",
     "8ba52fe7a3956c5cd3a656a3174b931d3bb2abb45578befc59f283ecd816a405",
     "2f1f13e291c79da5a2bbad259ed7c1f2d34f697ea460b14b565ac33b063b73e2",
     {},
     true},
    {"RESTRICT_ACTION_TO_SELF",
     "ad9e3d8f650687709fd68f4b90b41f7d825a365b02c23a636cef88ac2ac00c43",
     "e71b6712188391994c78d8c722c1d42c477cf091e5601b5cf1befd05721a57f3",
     {},
     true},
    {"GET_CODE_HASH",
     "bcd2a26394b36614fd4894241d3c451ab0f6fd110958c3423073621a70826e99",
     "d2596697fed14a0840013647b99045022ae6a885089f35a7e78da7a43ad76ed4",
     {},
     true},
    {"ACTION_RETURN_VALUE",
     "c3a6138c5061cf291310887c0b5c71fcaffeab90d5deb50d3b9e687cead45071",
     "69b064c5178e2738e144ed6caa9349a3995370d78db29e494b3126ebd9111966",
     {},
     true},
    {"CONFIGURABLE_WASM_LIMITS2",
     "d528b9f6e9693f45ed277af93474fd473ce7d831dae2180cca35d907bd10cb40",
     "8139e99247b87f18ef7eae99f07f00ea3adf39ed53f4d2da3f44e6aa0bfd7c62",
     {},
     true},
    {"FIX_LINKAUTH_RESTRICTION",
     "e0fb64b1085cc5538970158d05a009c24e276fb94e1a0bf6a528b48fbc4ff526",
     "a98241c83511dc86c857221b9372b4aa7cea3aaebc567a48604e1d3db3557050",
     {},
     true},
    {"GET_SENDER",
     "f0af56d2c5a48d60a4a5b5c903edfb7db3a736a94ed589d0b797df33ff9d3e1d",
     "1eab748b95a2e6f4d7cb42065bdee5566af8efddf01a55a0a8d831b823f8828a",
     {},
     true},
});

// PREACTIVATE_FEATURE is needed to activate the others, so it comes first.
constexpr auto kActivated = [] {
    auto features = kFeatures;
    const auto first = std::ranges::find(features, false, &ProtocolFeature::preactivation_required);
    std::rotate(features.begin(), first, first + 1);
    return features;
}();

}  // namespace

std::span<const ProtocolFeature> protocol_features() {
    return kFeatures;
}

std::span<const ProtocolFeature> activated_protocol_features() {
    return kActivated;
}

}  // namespace chain
