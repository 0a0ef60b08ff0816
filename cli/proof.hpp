#pragma once

#include "chain/state/fork_proof.hpp"
#include "cli/command.hpp"
#include "cli/http_client.hpp"
#include "genesis/genesis.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace cli {

// The genesis file of --genesis, or that of --dir.
[[nodiscard]] base::Result<genesis::Genesis> genesis_of(const Session& session,
                                                        const Arguments& arguments);
// Whether certificates of this chain are good.
[[nodiscard]] chain::CertificateCheck certificate_check(const chain::ChainId& chain_id);

// What a packed thing in hex is.
template <class T>
[[nodiscard]] base::Result<T> unpack_hex(const Json& packed, std::string_view name) {
    if (!packed.is_string()) {
        return base::fail(base::Errc::malformed, std::string(name) + " is no packed text");
    }
    const auto bytes = chain::abi::bytes_from_hex(packed.template get<std::string>());
    if (!bytes) return base::fail(bytes.error());
    return chain::unpack<T>(*bytes, name);
}
// The packed thing in a member of an answer, or of a file that has one.
template <class T>
[[nodiscard]] base::Result<T> unpack_member(const Json& json, std::string_view name) {
    const Json* packed = chain::abi::find_member(json, name);
    if (packed == nullptr || !packed->is_string()) {
        return base::fail(base::Errc::malformed, "there is no member " + std::string(name));
    }
    return unpack_hex<T>(*packed, name);
}

// Where links lead to from the schedule of the genesis file, each of them checked, and they
// themselves, packed: as many as there are, which one proof could not hold.
struct Followed {
    chain::Schedule schedule;
    Json links = Json::array();
};
// Those that a node has, asked for in parts; up to the schedule of this version, if it is given.
[[nodiscard]] base::Result<Followed> follow_links(const std::string& url,
                                                  const genesis::Genesis& genesis,
                                                  std::optional<std::uint32_t> last = {});
// Those of a file; one without any is of who trusts the genesis file's schedule.
[[nodiscard]] base::Result<Followed> follow_links(const Json& file,
                                                  const genesis::Genesis& genesis);

// Whose evidence a fork's proof has, in words; invalid: it does not hold.
[[nodiscard]] base::Result<std::string> describe_fork(const chain::ForkProof& proof,
                                                      const chain::Schedule& trusted,
                                                      const chain::ChainId& chain_id);

}  // namespace cli
