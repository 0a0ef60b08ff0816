#pragma once

#include "chain/abi/json.hpp"
#include "node/http/types.hpp"
#include "wallet/keyring.hpp"
#include "wallet/validator_journals.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace wallet {

// The calls /v1/wallet/* as keosd understands and answers them (reference, "/v1/wallet"), and those
// of validators, which keosd has not:
//   create_validator_key  [wallet]                         a K1 key with a journal of its own
//   sign_header           [packed header, key, chain id]
//   sign_vote             [packed vote data, key, chain id]
//   sign_duty             [packed transaction, key, chain id]  ready, reportbad or amnesia alone
//   sign_statement        [packed statement, key]          "this key is used here", for peers
//   sign_clock            [packed statement, key]          what the node's clock shows, for peers
//   sign_answer           [packed answer, key]             to a recovery: the key's last signature
//   give_up_lock          [wallet, password, key]          its lock binds its votes no more
// All else that such a key is to sign is refused, since it could be one of these in disguise.
//
// Thread: that of the keyring, which outlives it, as the journals do.
class Api : base::Pinned {
  public:
    Api(Keyring& keyring, ValidatorJournals& journals, bool verbose_errors)
        : keyring_(keyring), journals_(journals), verbose_errors_(verbose_errors) {}

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
    Answer create_validator_key(const Json& parameters, base::Timestamp now);
    Answer sign_header(const Json& parameters, base::Timestamp now);
    Answer sign_vote(const Json& parameters, base::Timestamp now);
    Answer sign_duty(const Json& parameters, base::Timestamp now);
    Answer sign_statement(const Json& parameters, base::Timestamp now);
    Answer sign_clock(const Json& parameters, base::Timestamp now);
    Answer sign_answer(const Json& parameters, base::Timestamp now);
    Answer give_up_lock(const Json& parameters, base::Timestamp now);
    Answer sign_words(std::string_view prefix, const Json& parameters, base::Timestamp now);

    Answer signature_of(const base::Hash256& digest,
                        const base::crypto::PublicKey& key,
                        base::Timestamp now);
    // A promise is made only for a key of an unlocked wallet.
    [[nodiscard]] base::Result<void> expect_held(const base::crypto::PublicKey& key,
                                                 base::Timestamp now);
    // A validator's key signs nothing but what its journal allows.
    [[nodiscard]] base::Result<void> expect_ordinary(const base::crypto::PublicKey& key) const;

    Keyring& keyring_;
    ValidatorJournals& journals_;
    bool verbose_errors_;
};

}  // namespace wallet
