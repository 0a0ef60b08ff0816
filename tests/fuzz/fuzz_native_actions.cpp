// The data of a native action of eosio, executed: the first byte says which. Any result is
// fine that leaves the block's changes alone when the action fails.
#include "../chain/execution/chain_fixture.hpp"
#include "base/check.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace {

using namespace chain;        // NOLINT(google-build-using-namespace): a program of one file.
using namespace chain::test;  // NOLINT(google-build-using-namespace)

constexpr std::array<const char*, 30> kActions = {
    "newaccount", "setcode",      "setabi",     "updateauth", "deleteauth", "linkauth",
    "unlinkauth", "setpriv",      "setalimits", "setparams",  "setprods",   "reqauth",
    "activate",   "regproducer",  "unregprod",  "regproxy",   "setvotekey", "ready",
    "addmember",  "voteproducer", "rmmember",   "setweight",  "allow",      "regnode",
    "rmnode",     "rotatekey",    "setrules",   "setchain",   "amnesia",    "reportbad"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static TestChain chain;
    if (size < 1 || size > 65'536) return 0;
    const base::ByteView bytes = std::as_bytes(std::span(data + 1, size - 1));
    const SignedTransaction transaction = chain.make({TestChain::action(
        "eosio", kActions[data[0] % kActions.size()], "eosio", base::to_bytes(bytes))});
    const TransactionPtr decoded = make_transaction(transaction);
    const ExecutionOptions options;
    auto block = StateDelta::on(static_cast<const StateView&>(chain.state()));
    const TransactionResult result =
        chain.executor().execute({*decoded, {public_key("eosio")}}, block, chain.block(), options);
    CHECK(result.succeeded() == result.trace.receipt.has_value());
    if (!result.succeeded()) CHECK(block.changes().size() == 0);
    return 0;
}
