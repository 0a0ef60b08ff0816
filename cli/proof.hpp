#pragma once

#include "chain/state/fork_proof.hpp"
#include "cli/command.hpp"
#include "cli/http_client.hpp"
#include "genesis/genesis.hpp"

#include <string>

namespace cli {

// The genesis file of --genesis, or that of --dir.
[[nodiscard]] base::Result<genesis::Genesis> genesis_of(const Session& session,
                                                        const Arguments& arguments);
// Whether certificates of this chain are good.
[[nodiscard]] chain::CertificateCheck certificate_check(const chain::ChainId& chain_id);

// The packed thing in a member of an answer, or of a file that has one.
template <class T>
[[nodiscard]] base::Result<T> unpack_member(const Json& json, std::string_view name) {
    const Json* packed = chain::abi::find_member(json, name);
    if (packed == nullptr || !packed->is_string()) {
        return base::fail(base::Errc::malformed, "there is no member " + std::string(name));
    }
    const auto bytes = chain::abi::bytes_from_hex(packed->template get<std::string>());
    if (!bytes) return base::fail(bytes.error());
    return chain::unpack<T>(*bytes, name);
}

// Whose evidence a fork's proof has, in words; invalid: it does not hold.
[[nodiscard]] base::Result<std::string> describe_fork(const chain::ForkProof& proof,
                                                      const genesis::Genesis& genesis);

}  // namespace cli
