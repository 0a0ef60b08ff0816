// A hostile ABI, and data unpacked by it: the first two bytes say where the ABI ends.
#include "base/check.hpp"
#include "chain/abi/serializer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const base::ByteView rest = std::as_bytes(std::span(data + 2, size - 2));
    const std::size_t cut = std::min<std::size_t>(data[0] + 256U * data[1], rest.size());
    const base::ByteView abi = rest.first(cut);
    const base::ByteView value = rest.subspan(cut);
    if (const auto definition = chain::abi::decode_definition(abi)) {
        const auto shown = chain::abi::definition_to_json(*definition);
        const auto read = chain::abi::definition_from_json(shown);
        CHECK(read);
        const base::Bytes packed = chain::abi::encode_definition(*definition);
        CHECK(chain::abi::decode_definition(packed));
    }
    const auto serializer = chain::abi::Serializer::from_bytes(abi);
    if (!serializer) return 0;
    for (const auto& item : (*serializer)->definition().structs) {
        const auto json = (*serializer)->to_json(item.name, value);
        if (!json) continue;
        static_cast<void>(chain::abi::dump_json(*json));
        // What the data holds can be packed again, but for names that a later field repeats.
        static_cast<void>((*serializer)->to_binary(item.name, *json));
    }
    return 0;
}
