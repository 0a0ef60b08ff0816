// Sending actions, and reading the transaction that this action is part of.
#include "host_fixture.hpp"

using chain::Exception;
using host_test::failed;
using host_test::Host;
using namespace chain::literals;

namespace {

using std::uint32_t;
using std::uint64_t;

constexpr uint32_t kIn = 1000;
constexpr uint32_t kOut = 3000;

// Whether a packed action is accepted by send_inline or its sister.
bool sent(Host& host, std::string_view name, const chain::Action& action) {
    const base::Bytes packed = chain::pack(action);
    host.write_bytes(kIn, packed);
    return host.call(name, {kIn, packed.size()}).has_value();
}

// A permission with nothing in it but one account.
void add_permission(Host& host, chain::PermissionLevel level, chain::PermissionLevel granted) {
    chain::PermissionRow row;
    row.authority.threshold = 1;
    row.authority.accounts = {{granted, 1}};
    host.state.put(chain::Table::permission, chain::permission_key(level), chain::pack(row));
}

}  // namespace

TEST_CASE("a contract sends actions in its own name when its owner lets its code") {
    Host host;
    add_permission(host, {"contract"_n, "active"_n}, {"contract"_n, "eosio.code"_n});
    const chain::Action action{"other"_n, "act"_n, {{"contract"_n, "active"_n}}, {}};
    REQUIRE(sent(host, "send_inline", action));
    CHECK(host.transaction->trace_of(2).act == action);
    CHECK(host.transaction->trace_of(2).receiver == "other"_n);
    CHECK(host.transaction->trace_of(2).creator_action_ordinal == 1);
}

TEST_CASE("a contract cannot send in the name of others") {
    Host host;
    add_permission(host, {"alice"_n, "active"_n}, {"alice"_n, "owner"_n});
    CHECK_FALSE(sent(host, "send_inline", {"other"_n, "act"_n, {{"alice"_n, "active"_n}}, {}}));
    CHECK(host.failure().starts_with("3090003 transaction declares authority"));
    // A privileged one can.
    Host trusted({.privileged = true});
    add_permission(trusted, {"alice"_n, "active"_n}, {"alice"_n, "owner"_n});
    CHECK(sent(trusted, "send_inline", {"other"_n, "act"_n, {{"alice"_n, "active"_n}}, {}}));
}

TEST_CASE("an action must be for accounts and permissions that exist") {
    Host host;
    CHECK_FALSE(sent(host, "send_inline", {"nobody"_n, "act"_n, {}, {}}));
    CHECK(host.failure() == failed(Exception::action_validate_exception,
                                   "inline action's code account nobody does not exist"));
    Host actor;
    CHECK_FALSE(sent(actor, "send_inline", {"other"_n, "act"_n, {{"nobody"_n, "active"_n}}, {}}));
    CHECK(actor.failure() == failed(Exception::action_validate_exception,
                                    "inline action's authorizing actor nobody does not exist"));
    Host permission;
    CHECK_FALSE(
        sent(permission, "send_inline", {"other"_n, "act"_n, {{"alice"_n, "nosuch"_n}}, {}}));
    CHECK(permission.failure() ==
          failed(Exception::action_validate_exception,
                 "inline action's authorizations include a non-existent permission: "
                 R"({"actor":"alice","permission":"nosuch"})"));
}

TEST_CASE("a context-free action is sent without authority") {
    Host host;
    REQUIRE(sent(host, "send_context_free_inline", {"other"_n, "act"_n, {}, {}}));
    CHECK(host.transaction->trace_of(2).context_free);
    CHECK_FALSE(sent(
        host, "send_context_free_inline", {"other"_n, "act"_n, {{"alice"_n, "active"_n}}, {}}));
    CHECK(host.failure() == failed(Exception::action_validate_exception,
                                   "context-free actions cannot have authorizations"));
}

TEST_CASE("an inline action has a largest size and a form") {
    Host host;
    host.rules.config.max_inline_action_size = 100;
    CHECK_FALSE(host.call("send_inline", {kIn, 100}).has_value());
    CHECK(host.failure() == failed(Exception::inline_action_too_big, "inline action too big"));
    Host broken;
    CHECK_FALSE(broken.call("send_inline", {kIn, 16}).has_value());
    CHECK_FALSE(broken.failure().empty());
    // Bytes after the action do not matter.
    Host longer;
    const chain::Action action{"other"_n, "act"_n, {}, {}};
    const base::Bytes packed = chain::pack(action);
    longer.write_bytes(kIn, packed);
    CHECK(longer.call("send_inline", {kIn, packed.size() + 5}).has_value());
}

TEST_CASE("there are no deferred transactions") {
    Host host;
    CHECK(host.i32("cancel_deferred", {kIn}) == 0);
    CHECK(host.call("send_deferred", {kIn, ("alice"_n).value, kIn, 10, 0}).has_value());
}

TEST_CASE("the transaction is read as it was packed") {
    Host host;
    const base::Bytes packed =
        chain::pack(static_cast<const chain::Transaction&>(host.decoded->content));
    const auto size = static_cast<std::int32_t>(packed.size());
    CHECK(host.i32("transaction_size") == size);
    CHECK(host.i32("read_transaction", {kOut, 0}) == size);
    CHECK(host.i32("read_transaction", {kOut, 10}) == 10);
    CHECK(host.i32("read_transaction", {kOut, 1000}) == size);
    CHECK(host.hex(kOut, packed.size()) == base::to_hex(packed));
}

TEST_CASE("the header's fields are read one by one") {
    Host host;
    CHECK(host.i32("expiration") == 1'800'000'100);
    CHECK(host.i32("tapos_block_num") == 65'535);
    CHECK(static_cast<uint32_t>(host.i32("tapos_block_prefix")) == 0xFEDC'BA98U);
}

TEST_CASE("actions of the transaction are read whole or not at all") {
    const chain::Action free_action{"other"_n, "free"_n, {}, base::Bytes(3)};
    Host host({.context_free_actions = {free_action}});
    const base::Bytes packed = chain::pack(host.decoded->content.actions[0]);
    const auto size = static_cast<std::int32_t>(packed.size());
    CHECK(host.i32("get_action", {1, 0, kOut, 1000}) == size);
    CHECK(host.hex(kOut, packed.size()) == base::to_hex(packed));
    CHECK(host.i32("get_action", {1, 0, kOut + 500, packed.size() - 1}) == size);
    CHECK(host.hex(kOut + 500, 2) == "0000");
    CHECK(host.i32("get_action", {1, 1, kOut, 1000}) == -1);
    CHECK(host.i32("get_action", {0, 0, kOut, 0}) ==
          static_cast<std::int32_t>(chain::pack(free_action).size()));
    CHECK(host.i32("get_action", {0, 1, kOut, 0}) == -1);
    CHECK_FALSE(host.call("get_action", {2, 0, kOut, 0}).has_value());
    CHECK(host.failure() == failed(Exception::action_not_found_exception, "action is not found"));
}

TEST_CASE("context-free data is for context-free actions only") {
    const std::vector<base::Bytes> data = {base::to_bytes(base::as_bytes("abcdef")), {}};
    Host host({.context_free = true, .context_free_data = data});
    CHECK(host.i32("get_context_free_data", {0, kOut, 0}) == 6);
    CHECK(host.i32("get_context_free_data", {0, kOut, 4}) == 4);
    CHECK(host.hex(kOut, 5) == "6162636400");
    CHECK(host.i32("get_context_free_data", {1, kOut, 4}) == 0);
    CHECK(host.i32("get_context_free_data", {2, kOut, 4}) == -1);
    Host other;
    CHECK_FALSE(other.call("get_context_free_data", {0, kOut, 0}).has_value());
    CHECK(other.failure() == failed(Exception::unaccessible_api,
                                    "this API may only be called from context_free apply"));
}
