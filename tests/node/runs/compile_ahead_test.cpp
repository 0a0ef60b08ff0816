// Which contracts a node compiles at its start, in which order, and that it does.
#include "node/compile_ahead.hpp"

#include "../../chain/vm/wasm_writer.hpp"
#include "base/crypto/hash.hpp"
#include "chain/execution/genesis_state.hpp"
#include "chain/state/empty_view.hpp"
#include "node/ledger.hpp"
#include "node/machine/shared_programs.hpp"
#include "node/run_timer.hpp"
#include "tests/support/memory_storage.hpp"

#undef CHECK  // That of base/check.hpp: Catch2 has its own.
#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

namespace {

using chain::literals::operator""_n;
using chain::Name;

// A module whose apply does nothing; the modules of different numbers differ.
base::Bytes module_of(std::int64_t number) {
    WasmWriter out;
    out.raw(base::as_bytes(std::string_view("\0asm\1\0\0\0", 8)));
    out.raw(base::as_bytes(std::string_view("\1\7\1\x60\3\x7e\x7e\x7e\0", 9)));  // One type,
    out.raw(base::as_bytes(std::string_view("\3\2\1\0", 4)));                    // one function,
    out.raw(base::as_bytes(std::string_view("\7\x09\1\5apply\0\0", 11)));        // exported.
    WasmWriter body;
    body.u8(0);
    body.constant(chain::vm::ValueType::i64, static_cast<std::uint64_t>(number));
    body.u8(op::drop);
    body.u8(op::end);
    WasmWriter code;
    code.u32(1);
    code.sized(body.bytes());
    out.u8(10);
    out.sized(code.bytes());
    return out.take();
}

// A chain whose accounts have contracts, and whose newest block has actions.
class Chain {
  public:
    Chain() { chain::write_genesis_state(*state_, genesis()); }

    base::Hash256 set_code(Name account, std::int64_t number) {
        const base::Bytes code = module_of(number);
        chain::AccountRow row;
        row.code_hash = base::crypto::sha256(code);
        row.code_bytes = static_cast<std::uint32_t>(code.size());
        state_->put(chain::Table::account, chain::account_key(account), chain::encode_account(row));
        state_->put(
            chain::Table::code, chain::code_key(row.code_hash), chain::encode_code(1, code));
        return row.code_hash;
    }
    void act(Name receiver, int times) {
        chain::TransactionTrace trace;
        trace.action_traces.resize(static_cast<std::size_t>(times));
        for (chain::ActionTrace& each : trace.action_traces)
            each.receiver = receiver;
        traces_.push_back(std::move(trace));
    }
    [[nodiscard]] std::shared_ptr<const node::Published> view() const {
        auto view = std::make_shared<node::Published>();
        chain::Block block;
        block.header.height = 1;
        view->finalized = std::make_shared<const chain::Block>(block);
        block.header.height = 2;
        chain::ExecutedBlock newest{std::make_shared<const chain::Block>(block), traces_, {}, {}};
        view->head = newest.block;
        view->reversible.push_back(std::make_shared<const chain::ExecutedBlock>(newest));
        view->head_state = state_;
        return view;
    }

  private:
    static chain::GenesisParameters genesis() {
        chain::GenesisParameters made;
        made.times.interval_milliseconds = 500;
        return made;
    }

    chain::EmptyView empty_;
    std::shared_ptr<chain::StateDelta> state_ = std::make_shared<chain::StateDelta>(empty_);
    std::vector<chain::TransactionTrace> traces_;
};

}  // namespace

TEST_CASE("contracts come by their use in the newest blocks, then all others") {
    Chain chain;
    const base::Hash256 idle = chain.set_code("idle"_n, 1);
    const base::Hash256 rare = chain.set_code("rare"_n, 2);
    const base::Hash256 busy = chain.set_code("busy"_n, 3);
    chain.act("rare"_n, 2);
    chain.act("nobody"_n, 9);  // It has no code.
    chain.act("busy"_n, 5);
    chain.act("rare"_n, 2);
    support::MemoryStorage storage;
    const node::History history(storage, {});
    CHECK(node::contracts_by_use(*chain.view(), history) ==
          std::vector<base::Hash256>{busy, rare, idle});
}

TEST_CASE("at the start all contracts are compiled, on a thread of dry runs") {
    Chain chain;
    std::vector<base::Hash256> codes;
    codes.reserve(20);
    for (int i = 0; i < 20; ++i)
        codes.push_back(chain.set_code(Name{("code"_n).value + static_cast<unsigned>(i)}, i));
    support::MemoryStorage storage;
    const node::History history(storage, {});
    node::SharedPrograms programs;
    node::Execution execution(&programs);
    node::ThreadRunTimer timer(execution.machine());
    node::DryRun dry_runs({}, {{execution.executor(), timer}});
    node::compile_ahead(dry_runs, chain.view(), history, programs);
    const std::uint32_t rules = programs.rules(chain::vm_limits(chain::WasmConfig{}),
                                               chain::vm_prices(chain::PriceTable()));
    for (const base::Hash256& code : codes) {
        while (!programs.find({code, rules}))
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        CHECK(programs.find({code, rules})->refusal.empty());
    }
    dry_runs.stop();
}
