#pragma once

#include "chain/types/authority.hpp"
#include "chain/types/transaction.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// Patterns of work: what a hostile sender could ask a node for. bench_patterns makes their
// transactions, and measure.py compares what a node uses for them with what it bills.
namespace patterns {

// The parts of a contract's text; see module_of().
struct Code {
    std::vector<std::string> imports = {};  // Host functions, called by `$name`.
    std::uint32_t pages = 1;
    std::string fields = {};   // Functions, tables, data.
    std::string locals = {};   // More of them for apply.
    std::string init = {};     // Once a run.
    std::string body = {};     // As often as asked for; $n counts down to 1.
    std::string prepare = {};  // The same in transactions that prepare.
};

// One pattern; has an account of its own, "pat" and letters, with its contract.
struct Pattern {
    std::string name;
    std::string module = {};  // The contract's text; empty: none.
    bool is_privileged = false;
    bool is_stored = false;       // Leads to work after its block is closed: rows.
    std::uint32_t prepared = 0;   // Transactions that prepare it, each of kPreparedRows.
    std::uint32_t count = 1;      // What a first run does, to find out what it is billed.
    std::uint32_t count_max = 1;  // 1: the work of a transaction is fixed.
    // The actions of the transaction of this number, if not one of the contract. Numbers differ.
    std::function<std::vector<chain::Action>(chain::Name account, std::uint32_t number)> actions =
        {};
};

inline constexpr std::uint32_t kCountMax = 100'000'000;
inline constexpr std::uint32_t kPreparedRows = 500;

// The text of a module whose apply runs `body` as often as the low 32 bits of the action's name
// say; $key is different for each run of it, $row is a number below the prepared rows' count.
[[nodiscard]] std::string module_of(const Code& code, std::uint32_t prepared = 0);
// A call of a host function. Fewer arguments than it has: zeros for the rest.
[[nodiscard]] std::string expression(std::string_view name, const std::vector<std::string>& args);
// The same as a statement: its result, if it has one, is dropped.
[[nodiscard]] std::string call(std::string_view name, const std::vector<std::string>& args = {});
[[nodiscard]] std::string i32(std::int64_t value);
[[nodiscard]] std::string i64(std::int64_t value);
[[nodiscard]] std::string repeat(std::string_view text, std::size_t times);
// A field that places bytes in the memory.
[[nodiscard]] std::string data_at(std::uint32_t offset, base::ByteView bytes);
[[nodiscard]] base::Bytes assemble(const std::string& text);

[[nodiscard]] chain::Action action_of(chain::Name account,
                                      std::string_view contract,
                                      std::string_view name,
                                      base::Bytes data = {});

void add_instructions(std::vector<Pattern>& out);
void add_hosts(std::vector<Pattern>& out);
void add_rows(std::vector<Pattern>& out);
void add_transactions(std::vector<Pattern>& out);

}  // namespace patterns
