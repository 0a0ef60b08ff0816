#pragma once

#include "base/crypto/hash.hpp"
#include "chain/execution/authorization.hpp"
#include "chain/execution/executor.hpp"
#include "chain/execution/genesis_state.hpp"
#include "chain/execution/host_functions.hpp"
#include "chain/execution/queries.hpp"
#include "chain/state/empty_view.hpp"
#include "node/machine/machine.hpp"
#include "tests/support/paths.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace chain::test {

// `folder` of the build: contracts, or contracts-test.
inline base::Bytes read_contract(const std::string& folder, const std::string& name) {
    const std::string path = tests::build_dir() + "/" + folder + "/" + name + "/" + name;
    std::ifstream file(path + ".wasm", std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    if (text.empty()) throw std::runtime_error("cannot read " + path + ".wasm");
    return base::to_bytes(base::as_bytes(text));
}

// The key that belongs to a label: as in the recordings, from sha256("key:" + label).
inline base::crypto::PrivateKey private_key(const std::string& label) {
    const base::Hash256 seed = base::crypto::sha256(base::as_bytes("key:" + label));
    const auto type =
        label.starts_with("r1") ? base::crypto::KeyType::r1 : base::crypto::KeyType::k1;
    return {type, seed.bytes};
}

inline PublicKey public_key(const std::string& label) {
    static std::map<std::string, PublicKey> known;
    const auto place = known.find(label);
    if (place != known.end()) return place->second;
    return known[label] = private_key(label).public_key();
}

inline Name name(std::string_view text) {
    return Name::from_string(text).value();
}

inline void encode(base::Writer& out, std::uint8_t value) {
    out.u8(value);
}

template <class... Parts>
base::Bytes data(const Parts&... parts) {
    base::Writer out;
    (encode(out, parts), ...);
    return out.take();
}

// A chain of one validator in memory: a transaction goes into the present block at once.
class TestChain {
  public:
    struct Options {
        BorParameters parameters;
        ChainConfig config;
        std::vector<std::string> validators{"eosio"};  // Beside eosio they are members too.
    };

    static Options open_options() {
        Options options;
        options.parameters.open_accounts = 1;
        options.parameters.open_contracts = 1;
        return options;
    }

    explicit TestChain(const Options& options = open_options())
        : state_(empty_), engine_(host_table(), {}, machine_), executor_(engine_, host_table()) {
        GenesisParameters genesis;
        genesis.times.initial = TimePoint{1'800'000'000'000'000};
        genesis.system_authority = Authority::of_key(public_key("eosio"));
        genesis.members.push_back({name("member"), Authority::of_key(public_key("member")), 1});
        for (const std::string& validator : options.validators) {
            const PublicKey key = public_key(validator);
            genesis.schedule.entries.push_back({name(validator), key, key});
            if (validator == "eosio") continue;
            genesis.members.push_back({name(validator), Authority::of_key(key), 1});
        }
        genesis.parameters = options.parameters;
        genesis.config = options.config;
        write_genesis_state(state_, genesis);
        block_.height = 1;
        block_.time = genesis.times.initial;
        block_.producer = name("eosio");
        next_block();
    }

    // Ends the present block, if one is open, and begins the next, `slots` later. Returns what its
    // header says of schedules. Each block finds its grandparent final, unless `final_height` says
    // otherwise.
    BlockSchedule next_block(std::uint32_t slots = 1) {
        if (open_ && !executor_.finish_block(state_, block_, std::exchange(executed_, 0))) {
            throw std::runtime_error("finish_block");
        }
        const Height parent_final = final_height.value_or(std::max<Height>(block_.height, 2) - 1);
        for (int i = 0; i < 4; ++i) {
            block_.parent_final.bytes[static_cast<std::size_t>(i)] =
                static_cast<std::byte>(parent_final >> (8 * (3 - i)));
        }
        block_.parent_slot = block_.slot;
        block_.previous = base::crypto::sha256(pack(block_.previous));
        for (int i = 0; i < 4; ++i) {
            block_.previous.bytes[static_cast<std::size_t>(i)] =
                static_cast<std::byte>(block_.height >> (8 * (3 - i)));
        }
        block_.height += 1;
        block_.slot += slots;
        block_.time.microseconds += std::int64_t{500'000} * slots;
        auto begun = executor_.begin_block(state_, block_);
        if (!begun) throw std::runtime_error("begin_block");
        open_ = true;
        run_ = {};
        return *std::move(begun);
    }
    // height(final) of the parent of each further block.
    std::optional<Height> final_height;

    SignedTransaction make(std::vector<Action> actions) {
        SignedTransaction transaction;
        transaction.expiration.seconds =
            static_cast<std::uint32_t>(block_.time.microseconds / 1'000'000) + 60 + count_ % 600;
        transaction.ref_block_num = static_cast<std::uint16_t>((block_.height - 1) & 0xFFFF);
        transaction.ref_block_prefix = ref_block_prefix_of(block_.previous);
        transaction.actions = std::move(actions);
        ++count_;
        // Makes equal transactions differ.
        transaction.max_net_usage_words = 50'000 + static_cast<std::uint32_t>(count_);
        return transaction;
    }

    // Executes with the public keys of the labels in place of recovered ones.
    TransactionResult push(SignedTransaction transaction,
                           const std::vector<std::string>& signers,
                           const ExecutionOptions& options = {}) {
        std::vector<PublicKey> keys;
        for (const std::string& label : signers) {
            keys.push_back(public_key(label));
            Signature signature;
            signature.compact[0] = std::byte{31};
            transaction.signatures.push_back(signature);
        }
        const TransactionPtr decoded = make_transaction(transaction);
        run_.rules = executor_.rules(state_);
        TransactionResult result =
            executor_.execute({*decoded, keys}, state_, block_, options, run_);
        if (run_.rules != executor_.rules(state_)) throw std::runtime_error("stale rules");
        if (result.succeeded() && !options.read_only && !options.dry_run) ++executed_;
        return result;
    }
    TransactionResult push(std::vector<Action> actions, const std::vector<std::string>& signers) {
        return push(make(std::move(actions)), signers);
    }
    TransactionResult push(Action action, const std::vector<std::string>& signers) {
        return push(std::vector<Action>{std::move(action)}, signers);
    }

    // An account whose owner and active keys have its name as label.
    TransactionResult create(std::string_view account, const std::string& creator = "eosio") {
        const Authority authority = Authority::of_key(public_key(std::string(account)));
        return push(action("eosio",
                           "newaccount",
                           creator,
                           data(name(creator), name(account), authority, authority)),
                    {creator});
    }

    TransactionResult set_code(const std::string& account, base::ByteView code) {
        base::Writer out;
        encode(out, name(account));
        out.u8(0);
        out.u8(0);
        out.bytes(code);
        return push(action("eosio", "setcode", account, out.take()), {account});
    }

    static Action action(std::string_view account,
                         std::string_view action,
                         std::string_view actor,
                         base::Bytes bytes,
                         std::string_view permission = "active") {
        return {.account = name(account),
                .name = name(action),
                .authorization = {{name(actor), name(permission)}},
                .data = std::move(bytes)};
    }

    AccountRow account(std::string_view account) {
        return find_account(state_, name(account)).value().value();
    }

    StateDelta& state() { return state_; }
    BlockContext& block() { return block_; }
    Executor& executor() { return executor_; }
    node::ContractMachine& machine() { return machine_; }

  private:
    EmptyView empty_;
    StateDelta state_;
    node::ContractMachine machine_;
    vm::Engine engine_;
    Executor executor_;
    BlockContext block_;
    BlockRun run_;
    bool open_ = false;
    std::size_t executed_ = 0;  // In the open block.
    std::uint32_t count_ = 0;
};

// The error's number and message; zero and nothing when it succeeded.
struct Failure {
    std::uint64_t code = 0;
    std::string text;
};
inline Failure failure_of(const TransactionResult& result) {
    if (!result.trace.except) return {};
    return {exception_code(result.trace.except->code), result.trace.except->stack.at(0).text()};
}

}  // namespace chain::test
