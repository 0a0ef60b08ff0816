#include "cli/command.hpp"

#include "cli/load.hpp"
#include "cli/progress.hpp"
#include "cli/transaction.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace cli;

namespace {

const Command& find(const std::vector<Command>& commands, std::string_view name) {
    for (const Command& command : commands) {
        if (command.name == name) return command;
    }
    FAIL("no command " << name);
    return commands.front();
}

base::Result<Arguments> parse_as(std::string_view name, const std::vector<std::string>& words) {
    return parse(find(all_commands(), name), words);
}

}  // namespace

TEST_CASE("every command has one name, a help and a function") {
    std::set<std::string_view> names;
    for (const Command& command : all_commands()) {
        CAPTURE(command.name);
        CHECK(names.insert(command.name).second);
        CHECK_FALSE(command.help.empty());
        CHECK(command.run != nullptr);
        std::set<std::string_view> options;
        std::set<char> letters;
        for (const Option& option : command.options) {
            CAPTURE(option.name);
            CHECK(options.insert(option.name).second);
            if (option.letter != 0) CHECK(letters.insert(option.letter).second);
        }
        // Nothing comes after what takes all, nothing needed after what may be missing.
        for (std::size_t i = 1; i < command.positionals.size(); ++i) {
            CHECK_FALSE(command.positionals[i - 1].repeated);
            if (command.positionals[i - 1].optional) CHECK(command.positionals[i].optional);
        }
        CHECK(help_text(command).find(std::string(command.name)) != std::string::npos);
    }
}

TEST_CASE("who sends is warned when nothing becomes final") {
    const chain::TimePoint now = *chain::TimePoint::from_string("2026-01-01T00:01:00.000");
    const auto told = [&](const std::string& head, const std::string& final) {
        return halted_text({{"head_block_time", head}, {"last_irreversible_block_time", final}},
                           now);
    };
    CHECK(told("2026-01-01T00:00:59.500", "2026-01-01T00:00:59.000").empty());
    CHECK(told("2026-01-01T00:00:50.000", "2026-01-01T00:00:40.000").empty());
    const std::string old = told("2026-01-01T00:00:49.500", "2026-01-01T00:00:49.000");
    CHECK(old.find("2026-01-01T00:00:49.000") != std::string::npos);
    CHECK(old.find("11 s ago") != std::string::npos);
    CHECK(old.find("bor-cli doctor") != std::string::npos);
    CHECK_FALSE(told("2026-01-01T00:00:59.500", "2026-01-01T00:00:49.000").empty());
    // Of a node that does not tell, nothing is known.
    CHECK(halted_text(Json::object(), now).empty());
}

TEST_CASE("the tree of cleos is there") {
    const std::vector<Command> commands = all_commands();
    for (const char* name : {"create key",
                             "create account",
                             "convert pack_transaction",
                             "convert unpack_transaction",
                             "convert pack_action_data",
                             "convert unpack_action_data",
                             "validate signatures",
                             "get info",
                             "get transaction-status",
                             "get consensus_parameters",
                             "get block",
                             "get account",
                             "get code",
                             "get abi",
                             "get table",
                             "get scope",
                             "get currency balance",
                             "get currency stats",
                             "get accounts",
                             "get servants",
                             "get transaction_trace",
                             "get block_trace",
                             "get schedule",
                             "get transaction_id",
                             "get supported_protocol_features",
                             "set code",
                             "set abi",
                             "set contract",
                             "set account permission",
                             "set action permission",
                             "transfer",
                             "net connect",
                             "net disconnect",
                             "net status",
                             "net peers",
                             "wallet create",
                             "wallet open",
                             "wallet lock",
                             "wallet lock_all",
                             "wallet unlock",
                             "wallet import",
                             "wallet remove_key",
                             "wallet give_up_lock",
                             "wallet create_key",
                             "wallet list",
                             "wallet keys",
                             "wallet private_keys",
                             "wallet stop",
                             "sign",
                             "push action",
                             "push transaction",
                             "push transactions",
                             "multisig propose",
                             "multisig propose_trx",
                             "multisig review",
                             "multisig approve",
                             "multisig unapprove",
                             "multisig cancel",
                             "multisig exec",
                             "multisig invalidate",
                             "wrap exec",
                             "system newaccount",
                             "system regproducer",
                             "system unregprod",
                             "system voteproducer prods",
                             "system listproducers",
                             "version client"}) {
        CHECK(find(commands, name).name == name);
    }
}

TEST_CASE("options come by name, by letter, with an equals sign, several times") {
    const auto arguments = parse_as("push action",
                                    {"alice",
                                     "-p",
                                     "bob",
                                     "hi",
                                     "--permission=carol@owner",
                                     "[-1]",
                                     "--skip-sign",
                                     "-x",
                                     "60"});
    REQUIRE(arguments);
    CHECK(arguments->at("account") == "alice");
    CHECK(arguments->at("action") == "hi");
    CHECK(arguments->at("data") == "[-1]");
    CHECK(arguments->all("permission") == std::vector<std::string>{"bob", "carol@owner"});
    CHECK(arguments->get("permission") == "carol@owner");
    CHECK(arguments->has("skip-sign"));
    CHECK_FALSE(arguments->has("dont-broadcast"));
    CHECK(arguments->number("expiration", 30, 1, 3600).value() == 60);
    CHECK(arguments->number("delay-sec", 7, 0, 10).value() == 7);
}

TEST_CASE("words after -- are values, also those that look like options") {
    const auto arguments = parse_as("transfer", {"--", "alice", "bob", "1.0000 SYS", "--memo"});
    REQUIRE(arguments);
    CHECK(arguments->at("memo") == "--memo");
}

TEST_CASE("what is wrong with a command line is named") {
    const auto message = [](std::string_view name, const std::vector<std::string>& words) {
        const auto arguments = parse_as(name, words);
        REQUIRE_FALSE(arguments);
        CHECK(arguments.error().code == base::Errc::invalid);
        return arguments.error().detail;
    };
    CHECK(message("push action", {"alice"}) == "missing: action (the action's name)");
    CHECK(message("get info", {"now"}) == "one word too many: 'now'");
    CHECK(message("get table", {"--limits", "5"}) ==
          "unknown option '--limits'; did you mean '--limit'?");
    CHECK(message("wallet create", {"--to-console=yes"}) == "--to-console takes no value");
    CHECK(message("wallet open", {"--name"}) == "--name needs a value: NAME");
    CHECK(message("system voteproducer prods", {"alice"}) == "missing: producers");
}

TEST_CASE("numbers outside their range are refused with the range") {
    const auto arguments = parse_as("bench load", {"--rate", "0", "--seconds", "1e3"});
    REQUIRE(arguments);
    const auto rate = arguments->number("rate", 200, 1, 1'000'000);
    REQUIRE_FALSE(rate);
    CHECK(rate.error().detail == "--rate 0: a whole number from 1 to 1000000 is needed");
    CHECK_FALSE(arguments->number("seconds", 10, 1, 3000));
}

TEST_CASE("the nearest name is proposed only when it is near") {
    const std::vector<std::string> names{"get info", "get block", "transfer"};
    CHECK(nearest("get inof", names) == "get info");
    CHECK(nearest("tranfer", names) == "transfer");
    CHECK(nearest("wallet", names).empty());
}

TEST_CASE("a wrong command line ends with status 2") {
    CHECK(run({"no-such-command"}) == 2);
    CHECK(run({"get", "account"}) == 2);
    CHECK(run({"--url"}) == 2);
    CHECK(run({}) == 2);
    CHECK(run({"get", "info", "--help"}) == 0);
    CHECK(run({"get"}) == 0);
}

TEST_CASE("permissions have a default") {
    const auto level = permission_from("alice");
    REQUIRE(level);
    CHECK(level->actor.to_string() == "alice");
    CHECK(level->permission.to_string() == "active");
    CHECK(permission_from("alice@owner")->permission.to_string() == "owner");
    CHECK_FALSE(permission_from("Alice!"));
    CHECK_FALSE(permissions_from(Arguments(), {""}));
}

TEST_CASE("a percentile is a sample") {
    std::vector<std::int64_t> samples;
    CHECK(percentile(samples, 50) == 0);
    for (std::int64_t i = 100; i > 0; --i)
        samples.push_back(i);
    CHECK(percentile(samples, 50) == 50);
    CHECK(percentile(samples, 99) == 99);
    CHECK(percentile(samples, 100) == 100);
    std::vector<std::int64_t> one{7};
    CHECK(percentile(one, 99) == 7);
}

TEST_CASE("sizes are told in a unit in which they are no nought") {
    CHECK(size_text(0) == "0 KiB");
    CHECK(size_text(1) == "1 KiB");
    CHECK(size_text(831'488) == "812 KiB");
    CHECK(size_text((10U << 20U) - 1) == "10240 KiB");
    CHECK(size_text(10U << 20U) == "10 MiB");
}

TEST_CASE("how far a node is, in a line") {
    Json sync{{"mode", "last_irr_catch_up"},
              {"peers", 3},
              {"block_num", 1'000},
              {"target", 9'000},
              {"blocks_per_second", 500},
              {"bytes_per_second", 20U << 20U},
              {"eta_ms", 16'000.0},
              {"waiting_for", ""},
              {"snapshot", nullptr}};
    CHECK(sync_text(sync) == "block 1000 of 9000, 500 blocks/s, 20 MiB/s, 3 peers, 16 s left");
    CHECK_FALSE(is_at_head(sync));
    sync["snapshot"] = {{"stage", "chunks"},
                        {"block_num", 8'000},
                        {"chunks", 12},
                        {"chunks_all", 40},
                        {"bytes_per_second", 2048},
                        {"peers", 1},
                        {"eta_ms", nullptr},
                        {"waiting_for", "the disk is full"}};
    CHECK(sync_text(sync) ==
          "snapshot of block 8000, chunks: 12 of 40 chunks, 2 KiB/s, 1 peer; the disk is full");
    sync["mode"] = "normal";
    sync["block_num"] = 9'000;
    CHECK_FALSE(is_at_head(sync));
    sync["snapshot"] = nullptr;
    CHECK(is_at_head(sync));
    sync["block_num"] = 8'999;
    CHECK_FALSE(is_at_head(sync));
    sync["block_num"] = 9'001;
    sync["peers"] = 0;
    CHECK_FALSE(is_at_head(sync));
}
