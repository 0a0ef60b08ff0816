#pragma once

#include "chain/state/fork_proof.hpp"
#include "cli/command.hpp"
#include "cli/http_client.hpp"
#include "genesis/genesis.hpp"
#include "genesis/snapshot_proof.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace cli {

// The genesis file of --genesis, or that of --dir.
[[nodiscard]] base::Result<genesis::Genesis> genesis_of(const Session& session,
                                                        const Arguments& arguments);
// What is believed of the chain: its genesis file, and the recoveries that the user confirms.
[[nodiscard]] base::Result<genesis::Trust> trust_of(const genesis::Genesis& genesis,
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
    genesis::LinkWalk walk;
    Json links = Json::array();

    [[nodiscard]] const chain::Schedule& schedule() const { return walk.last(); }
};
// Those that a node has, asked for in parts; up to the schedule of this version, if it is given.
[[nodiscard]] base::Result<Followed> follow_links(const std::string& url,
                                                  const genesis::Trust& trust,
                                                  std::optional<std::uint32_t> last = {});
// Those of a file; one without any is of who trusts the genesis file's schedule.
[[nodiscard]] base::Result<Followed> follow_links(const Json& file, const genesis::Trust& trust);
// The words of a command line that checks what is written to `file`.
[[nodiscard]] std::string how_to_check(const std::string& file, const Followed& followed);

// The version of the schedule under which two blocks were made that are final at a fork: their
// common parent decides it. invalid: it is not the same, so the sides part by a recovery.
[[nodiscard]] base::Result<std::uint32_t> version_at_fork(const chain::BlockHeader& first,
                                                          const chain::BlockHeader& second);

// Whose evidence a fork's proof has, in words; invalid: it does not hold.
[[nodiscard]] base::Result<std::string> describe_fork(const chain::ForkProof& proof,
                                                      const chain::Schedule& trusted,
                                                      const chain::ChainId& chain_id);

}  // namespace cli
