#pragma once

#include "chain/abi/json.hpp"
#include "node/http/types.hpp"
#include "wallet/keyring.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace wallet {

// The calls /v1/wallet/* as keosd understands and answers them (reference, "/v1/wallet").
//
// Thread: that of the keyring, which outlives it.
class Api : base::Pinned {
  public:
    Api(Keyring& keyring, bool verbose_errors)
        : keyring_(keyring), verbose_errors_(verbose_errors) {}

    // The paths served, in order.
    [[nodiscard]] static std::vector<std::string> paths();

    // Answers one call of a path served. `body` may hold secrets and is wiped.
    [[nodiscard]] node::http::Response call(std::string_view path,
                                            std::string& body,
                                            base::Timestamp now);

  private:
    using Json = chain::abi::Json;
    using Answer = base::Result<Json>;
    // A call's parameters; the texts in them are wiped afterwards.
    using Handler = Answer (Api::*)(const Json& parameters, base::Timestamp now);

    // What a call takes: nothing, one value, or an array of so many.
    static constexpr std::size_t kNothing = 0;
    static constexpr std::size_t kOne = 1;
    struct Call {
        std::string_view path;
        std::size_t parameters;
        unsigned status;
        Handler handler;
    };
    [[nodiscard]] static const std::vector<Call>& calls();

    [[nodiscard]] base::Result<Json> read_parameters(const Call& call, std::string_view body);
    [[nodiscard]] node::http::Response refusal(const base::Error& error) const;

    Answer create(const Json& parameters, base::Timestamp now);
    Answer open(const Json& parameters, base::Timestamp now);
    Answer lock(const Json& parameters, base::Timestamp now);
    Answer lock_all(const Json& parameters, base::Timestamp now);
    Answer unlock(const Json& parameters, base::Timestamp now);
    Answer import_key(const Json& parameters, base::Timestamp now);
    Answer remove_key(const Json& parameters, base::Timestamp now);
    Answer create_key(const Json& parameters, base::Timestamp now);
    Answer list_wallets(const Json& parameters, base::Timestamp now);
    Answer list_keys(const Json& parameters, base::Timestamp now);
    Answer get_public_keys(const Json& parameters, base::Timestamp now);
    Answer set_timeout(const Json& parameters, base::Timestamp now);
    Answer sign_digest(const Json& parameters, base::Timestamp now);
    Answer sign_transaction(const Json& parameters, base::Timestamp now);

    Keyring& keyring_;
    bool verbose_errors_;
};

}  // namespace wallet
