#pragma once

#include "base/bytes.hpp"
#include "base/crypto/hash.hpp"
#include "chain/execution/executor.hpp"
#include "chain/execution/genesis_state.hpp"
#include "chain/execution/host_functions.hpp"
#include "chain/execution/queries.hpp"
#include "chain/state/empty_view.hpp"
#include "node/machine/machine.hpp"
#include "tests/support/paths.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace support {

using namespace chain::literals;  // NOLINT(google-build-using-namespace): for names in tests.

// The bytes of a file under the folder of the compiled test contracts.
inline base::Bytes contract_file(const std::string& name) {
    std::ifstream in(tests::build_dir() + "/contracts-test/" + name, std::ios::binary);
    INFO("contract file " << name);
    REQUIRE(in.good());
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    return base::to_bytes(base::as_bytes(text));
}

// Packs arguments of an action: integers little-endian, texts and byte strings with their length.
class Arguments {
  public:
    Arguments& name(chain::Name value) { return integer(value.value); }
    template <class T>
    Arguments& integer(T value) {
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
        }
        return *this;
    }
    Arguments& text(std::string_view value) { return bytes(base::as_bytes(value)); }
    Arguments& bytes(base::ByteView value) {
        std::size_t size = value.size();
        for (; size > 127; size >>= 7)
            bytes_.push_back(static_cast<std::byte>(size | 128));
        bytes_.push_back(static_cast<std::byte>(size));
        return raw(value);
    }
    Arguments& raw(base::ByteView value) {
        bytes_.insert(bytes_.end(), value.begin(), value.end());
        return *this;
    }
    // "4,SYS" as precision and code.
    Arguments& symbol(std::uint8_t precision, std::string_view code) {
        std::uint64_t value = precision;
        for (std::size_t i = 0; i < code.size(); ++i) {
            value |= static_cast<std::uint64_t>(code[i]) << (8 * (i + 1));
        }
        return integer(value);
    }
    Arguments& asset(std::int64_t amount, std::uint8_t precision, std::string_view code) {
        return integer(static_cast<std::uint64_t>(amount)).symbol(precision, code);
    }
    operator base::Bytes() const { return bytes_; }  // NOLINT: reads as an argument.
    [[nodiscard]] std::string hex() const { return base::to_hex(bytes_); }

  private:
    base::Bytes bytes_;
};

// A state in memory with contracts on it, and a block that lasts until next_block. Signatures are
// not checked; everything else is as in a node.
class Ledger {
  public:
    explicit Ledger(const std::vector<chain::Name>& producers = {"eosio"_n})
        : engine_(chain::host_table(), {}, machine_), executor_(engine_, chain::host_table()) {
        chain::GenesisParameters genesis;
        genesis.times = times_;
        genesis.system_authority = no_keys();
        genesis.parameters.open_accounts = 1;
        genesis.parameters.open_contracts = 1;
        for (const chain::Name producer : producers) {
            genesis.schedule.entries.push_back(
                {.producer = producer, .signing_key = {}, .vote_key = {}});
        }
        chain::write_genesis_state(state_, genesis);
        block_.height = 2;
        block_.slot = 2;
        block_.time = times_.time_of(2);
        block_.producer = "eosio"_n;
        block_.previous.bytes[3] = std::byte{1};
        REQUIRE(executor_.begin_block(state_, block_).has_value());
    }

    // Ends the block and begins the next one, so many slots later.
    void next_block(std::uint64_t slots = 1) {
        REQUIRE(executor_.finish_block(state_, block_, 0).has_value());
        block_.parent_slot = block_.slot;
        block_.slot += slots;
        block_.time = times_.time_of(block_.slot);
        block_.previous.bytes[2] = static_cast<std::byte>(block_.height >> 8U);
        block_.previous.bytes[3] = static_cast<std::byte>(block_.height);
        ++block_.height;
        REQUIRE(executor_.begin_block(state_, block_).has_value());
    }
    // An account whose own contract may act in its name.
    void create(chain::Name account) {
        base::Bytes data = Arguments().name("eosio"_n).name(account);
        for (int i = 0; i < 2; ++i) {
            const base::Bytes authority = authority_of_code(account);
            data.insert(data.end(), authority.begin(), authority.end());
        }
        require_success(push("eosio"_n, "newaccount"_n, "eosio"_n, data));
    }
    // Sets the code of `contract` on a new account.
    void deploy(chain::Name account, const std::string& contract) {
        create(account);
        const base::Bytes wasm = contract_file(contract + "/" + contract + ".wasm");
        const base::Bytes data = Arguments().name(account).integer(std::uint16_t{0}).bytes(wasm);
        require_success(push("eosio"_n, "setcode"_n, account, data));
    }
    void make_privileged(chain::Name account) {
        const base::Bytes data = Arguments().name(account).integer(std::uint8_t{1});
        require_success(push("eosio"_n, "setpriv"_n, "eosio"_n, data));
    }

    // One action by `actor`@active in a transaction of its own.
    chain::TransactionTrace push(chain::Name account,
                                 chain::Name action,
                                 chain::Name actor,
                                 const base::Bytes& data) {
        return push(chain::Action{account, action, {{actor, "active"_n}}, data});
    }
    chain::TransactionTrace push(const chain::Action& action) {
        chain::SignedTransaction transaction;
        transaction.expiration.seconds =
            static_cast<std::uint32_t>(block_.time.microseconds / 1'000'000) + 60 + count_;
        transaction.actions.push_back(action);
        return push(transaction);
    }
    chain::TransactionTrace push(chain::SignedTransaction transaction) {
        // The expiration makes each transaction another one.
        ++count_;
        transaction.ref_block_num = static_cast<std::uint16_t>(block_.height - 1);
        transaction.ref_block_prefix = chain::ref_block_prefix_of(block_.previous);
        const chain::TransactionPtr decoded = chain::make_transaction(transaction);
        chain::ExecutionOptions options;
        options.skip_authorization = true;
        return executor_.execute({*decoded, {}}, state_, block_, options).trace;
    }

    static void require_success(const chain::TransactionTrace& trace) {
        INFO((trace.except ? trace.except->stack.at(0).text() : std::string()));
        REQUIRE_FALSE(trace.except.has_value());
    }
    // The message of the failure; empty: none.
    static std::string failure(const chain::TransactionTrace& trace) {
        return trace.except ? trace.except->stack.at(0).text() : std::string();
    }
    // A row as the contract packed it, in hexadecimal; empty: none.
    std::string row(chain::Name code, std::uint64_t scope, chain::Name table, std::uint64_t id) {
        const auto found = state_.find(chain::Table::contract_row,
                                       chain::row_key({code, chain::Name{scope}, table}, id));
        return found ? base::to_hex(chain::row_value(*found)) : std::string();
    }
    [[nodiscard]] chain::StateDelta& state() { return state_; }
    [[nodiscard]] chain::vm::Engine& engine() { return engine_; }
    // The block's time in seconds since 1970.
    [[nodiscard]] std::uint32_t now() const {
        return static_cast<std::uint32_t>(block_.time.microseconds / 1'000'000);
    }
    [[nodiscard]] std::uint32_t height() const { return block_.height; }

  private:
    static chain::Authority no_keys() {
        chain::Authority authority;
        authority.threshold = 1;
        authority.accounts.push_back({{"eosio"_n, "active"_n}, 1});
        return authority;
    }
    static base::Bytes authority_of_code(chain::Name account) {
        return Arguments()
            .integer(std::uint32_t{1})
            .integer(std::uint8_t{0})
            .integer(std::uint8_t{1})
            .name(account)
            .name("eosio.code"_n)
            .integer(std::uint16_t{1})
            .integer(std::uint8_t{0});
    }

    const chain::SlotTimes times_{.initial = {1'800'000'000'000'000}};
    chain::EmptyView nothing_;
    chain::StateDelta state_{static_cast<const chain::StateView&>(nothing_)};
    node::ContractMachine machine_;
    chain::vm::Engine engine_;
    chain::Executor executor_;
    chain::BlockContext block_;
    std::uint32_t count_ = 0;
};

}  // namespace support
