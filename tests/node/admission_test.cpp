#include "node/admission.hpp"

#include "chain/types/exception.hpp"

#include <catch2/catch.hpp>

#include <string>

// The operator's lists: what stands on one is refused with nodeos' number, everything else is not.

namespace {

using namespace chain::literals;

constexpr std::string_view kListed = "EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CV";

std::uint32_t refusal(const node::AdmissionLists& lists, const chain::Action& action) {
    node::ProducerSettings settings;
    settings.set_lists(lists);
    chain::SignedTransaction content;
    content.actions = {action};
    const auto admitted = settings.admit(*chain::make_transaction(content));
    return admitted ? 0 : admitted.error().exception;
}

std::uint32_t number(chain::Exception exception) {
    return static_cast<std::uint32_t>(exception);
}

}  // namespace

TEST_CASE("a listed key gets into no authority, whichever action would put it there") {
    const auto key = base::crypto::PublicKey::from_string(kListed).value();
    const chain::Authority listed = chain::Authority::of_key(key);
    const chain::Authority other;
    node::AdmissionLists lists;
    const auto newaccount = [](const chain::Authority& owner, const chain::Authority& active) {
        base::Writer out;
        encode(out, "eosio"_n);
        encode(out, "alice"_n);
        encode(out, owner);
        encode(out, active);
        return chain::Action{.account = "eosio"_n,
                             .name = "newaccount"_n,
                             .authorization = {{"eosio"_n, "active"_n}},
                             .data = out.take()};
    };
    base::Writer update;
    encode(update, "alice"_n);
    encode(update, "active"_n);
    encode(update, "owner"_n);
    encode(update, listed);
    chain::Action updateauth{.account = "eosio"_n,
                             .name = "updateauth"_n,
                             .authorization = {{"alice"_n, "active"_n}},
                             .data = update.take()};
    CHECK(refusal(lists, newaccount(listed, listed)) == 0);
    CHECK(refusal(lists, updateauth) == 0);
    lists.key_blacklist = {key};
    const auto expected = number(chain::Exception::key_blacklist_exception);
    CHECK(refusal(lists, newaccount(listed, other)) == expected);
    CHECK(refusal(lists, newaccount(other, listed)) == expected);
    CHECK(refusal(lists, newaccount(other, other)) == 0);
    CHECK(refusal(lists, updateauth) == expected);
    // Another contract's action of that name is its own affair, and so is what does not decode.
    updateauth.account = "token"_n;
    CHECK(refusal(lists, updateauth) == 0);
    updateauth.account = "eosio"_n;
    updateauth.data.resize(5);
    CHECK(refusal(lists, updateauth) == 0);
}
