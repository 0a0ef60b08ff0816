#include "base/crypto/hash.hpp"
#include "chain/execution/rows.hpp"
#include "node/bps/ledger/chain_calls.hpp"
#include "node/bps/ledger/final_rows.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bps {
namespace {

using chain::literals::operator""_n;

constexpr std::int64_t kSecond = 1'000;
constexpr std::int64_t kNow = 1'800'000'000 * kSecond;

class NoRows final : public chain::StateView {
  public:
    [[nodiscard]] chain::Value find(chain::Table, base::ByteView) const override { return {}; }
    [[nodiscard]] std::optional<chain::Row> at_or_after(chain::Table,
                                                        base::ByteView) const override {
        return {};
    }
    [[nodiscard]] std::optional<chain::Row> before(chain::Table, base::ByteView) const override {
        return {};
    }
};

chain::BlockId id_of_height(chain::Height height) {
    chain::BlockId id;
    for (std::size_t i = 0; i < 4; ++i) {
        id.bytes[i] = static_cast<std::byte>(height >> (8 * (3 - i)));
    }
    id.bytes[9] = std::byte{7};
    return id;
}

chain::TimePoint time_point(std::int64_t milliseconds) {
    return {milliseconds * 1'000};
}

void put(chain::StateDelta& state,
         const chain::TableId& table,
         std::uint64_t key,
         std::string_view text) {
    state.put(chain::Table::contract_row,
              chain::row_key(table, key),
              chain::encode_row("payer"_n, base::as_bytes(text)));
}

std::string text_of(const FinalRows::Change& change) {
    if (!change.value) return "erased";
    return {reinterpret_cast<const char*>(change.value->data()), change.value->size()};
}

std::vector<std::string> shown(const FinalRows& rows) {
    std::vector<std::string> all;
    all.reserve(rows.changes.size());
    for (const FinalRows::Change& each : rows.changes) {
        all.push_back(each.id.table.to_string() + " " + each.id.scope.to_string() + " " +
                      std::to_string(each.id.key) + " " + text_of(each));
    }
    return all;
}

TEST_CASE("Rows of the contract, and no others, are read from a state and from a block") {
    const NoRows nothing;
    chain::StateDelta below = chain::StateDelta::on(nothing);
    put(below, {"bpr"_n, "bpr"_n, "topics"_n}, 1, "before it");
    put(below, {"bps"_n, "alice"_n, "grants"_n}, 3, "a grant");
    put(below, {"bps"_n, "bps"_n, "topics"_n}, 1, "one");
    put(below, {"bps"_n, "bps"_n, "topics"_n}, 1ULL << 63U, "the last");
    put(below, {"bpt"_n, "bps"_n, "topics"_n}, 1, "behind it");
    chain::Block block;
    block.id = id_of_height(9);
    const FinalRows all = rows_of_state(below, block, time_point(kNow), "bps"_n);
    CHECK(all.block == block.id);
    CHECK(all.time == kNow);
    CHECK(all.executed.empty());
    CHECK(shown(all) == std::vector<std::string>{"grants alice 3 a grant",
                                                 "topics bps 1 one",
                                                 "topics bps 9223372036854775808 the last"});

    chain::StateDelta changed = chain::StateDelta::on(below);
    put(changed, {"bps"_n, "bps"_n, "topics"_n}, 1, "one again");
    changed.erase(chain::Table::contract_row, chain::row_key({"bps"_n, "alice"_n, "grants"_n}, 3));
    put(changed, {"other"_n, "bps"_n, "topics"_n}, 1, "another contract's");
    chain::ExecutedBlock executed;
    executed.block = std::make_shared<const chain::Block>(block);
    executed.changes = std::make_shared<const chain::ChangeSet>(changed.take());
    executed.traces.resize(1);
    executed.traces[0].id.bytes[0] = std::byte{5};
    const FinalRows some = rows_of_block(executed, time_point(kNow + 500), "bps"_n);
    CHECK(some.time == kNow + 500);
    CHECK(shown(some) ==
          std::vector<std::string>{"grants alice 3 erased", "topics bps 1 one again"});
    CHECK(some.executed == std::vector<chain::TransactionId>{executed.traces[0].id});
}

class Calls {
  public:
    Calls()
        : key(base::crypto::KeyType::k1, base::crypto::sha256(base::as_bytes("broker")).bytes),
          calls({.chain = {}, .contract = "bps"_n, .authorization = {"broker1"_n, "active"_n}},
                key) {}

    std::vector<ChainCalls::Outcome> finalize(std::int64_t time,
                                              std::vector<chain::TransactionId> executed = {}) {
        return calls.on_final({.block = id_of_height(++height_),
                               .time = time,
                               .changes = {},
                               .executed = std::move(executed)});
    }
    chain::TransactionPtr begin(std::int64_t now, std::uint64_t ticket) {
        auto packed = calls.begin(now, ticket, "mktopic"_n, base::to_bytes(base::as_bytes("data")));
        REQUIRE(packed.has_value());
        auto decoded = chain::decode_transaction(*std::move(packed));
        REQUIRE(decoded.has_value());
        return *decoded;
    }

    base::crypto::PrivateKey key;
    ChainCalls calls;

  private:
    chain::Height height_ = 0x1'0000;
};

TEST_CASE("A call is signed by the broker, and done when a final block has it") {
    Calls chain;
    chain.finalize(kNow);
    const chain::TransactionPtr first = chain.begin(kNow - 5 * kSecond, 1);
    const chain::SignedTransaction& content = first->content;
    CHECK(content.expiration.seconds == (kNow + ChainCalls::kLifetimeMs) / kSecond);
    CHECK(content.ref_block_num == 1);  // The low half of the height.
    CHECK(content.ref_block_prefix == chain::ref_block_prefix_of(id_of_height(0x1'0001)));
    REQUIRE(content.actions.size() == 1);
    CHECK(content.actions[0].account == "bps"_n);
    CHECK(content.actions[0].name == "mktopic"_n);
    CHECK(content.actions[0].authorization ==
          std::vector<chain::PermissionLevel>{{"broker1"_n, "active"_n}});
    REQUIRE(content.signatures.size() == 1);
    CHECK(base::crypto::recover(content.signatures[0], content.signing_digest({}, {})).value() ==
          chain.key.public_key());

    // An equal call is another transaction.
    const chain::TransactionPtr second = chain.begin(kNow - 5 * kSecond, 2);
    CHECK(second->id != first->id);
    CHECK(chain.calls.in_flight() == 2);

    CHECK(chain.finalize(kNow + kSecond).empty());
    const auto ended = chain.finalize(kNow + 2 * kSecond, {chain::TransactionId(), second->id});
    REQUIRE(ended.size() == 1);
    CHECK(ended[0].ticket == 2);
    CHECK(ended[0].result.has_value());
    CHECK(chain.calls.in_flight() == 1);
}

TEST_CASE("A call that was refused, or was in no block in time, says so") {
    Calls chain;
    chain.finalize(kNow);
    const chain::TransactionPtr call = chain.begin(kNow, 1);
    const auto refused =
        chain.calls.on_refused(1, base::Error{base::Errc::invalid, "no such topic"});
    CHECK(refused.ticket == 1);
    CHECK(refused.result.error().code == base::Errc::invalid);
    CHECK(refused.result.error().detail == "no such topic");
    CHECK(chain.calls.in_flight() == 0);
    CHECK(chain.finalize(kNow, {call->id}).empty());

    // Of the clock here, since it is ahead of the blocks.
    const chain::TransactionPtr late = chain.begin(kNow + 10 * kSecond, 2);
    const std::int64_t expires = kNow + 10 * kSecond + ChainCalls::kLifetimeMs;
    CHECK(late->content.expiration.seconds == expires / kSecond);
    CHECK(chain.finalize(expires).empty());
    const auto ended = chain.finalize(expires + 1);
    REQUIRE(ended.size() == 1);
    CHECK(ended[0].ticket == 2);
    REQUIRE_FALSE(ended[0].result.has_value());
    CHECK(ended[0].result.error().code == base::Errc::unavailable);
    CHECK(ended[0].result.error().detail ==
          "mktopic was in no block for 60 s; its transaction is " + base::to_hex(late->id.view()));
    CHECK(chain.calls.in_flight() == 0);
}

TEST_CASE("Calls wait for a first final block, and are bounded") {
    Calls chain;
    const auto early = chain.calls.begin(kNow, 1, "mktopic"_n, {});
    REQUIRE_FALSE(early.has_value());
    CHECK(early.error().detail == "this node knows no final block yet");
    chain.finalize(kNow);
    for (std::uint64_t ticket = 1; ticket <= ChainCalls::kInFlightMax; ++ticket) {
        REQUIRE(chain.calls.begin(kNow, ticket, "mktopic"_n, {}).has_value());
    }
    const auto more = chain.calls.begin(kNow, 2'000, "mktopic"_n, {});
    REQUIRE_FALSE(more.has_value());
    CHECK(more.error().code == base::Errc::unavailable);
    CHECK(more.error().detail ==
          "1000 actions of this broker wait for a final block, no more than 1000 may");
    CHECK(chain.finalize(kNow + ChainCalls::kLifetimeMs + 1).size() == ChainCalls::kInFlightMax);
    CHECK(chain.calls.begin(kNow, 2'000, "mktopic"_n, {}).has_value());
}

}  // namespace
}  // namespace bps
