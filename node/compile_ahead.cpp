#include "node/compile_ahead.hpp"

#include "base/check.hpp"
#include "chain/execution/queries.hpp"
#include "chain/execution/rows.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace node {

namespace {

// So much of the newest history says what is used.
constexpr std::uint32_t kBlocksCounted = 1'000;
constexpr std::size_t kActionsCounted = 20'000;
constexpr const char* kClient = "compile ahead";  // No address of a client looks like it.

std::map<chain::Name, std::size_t> count_receivers(const Published& view, const History& history) {
    std::map<chain::Name, std::size_t> uses;
    std::size_t counted = 0;
    const chain::Height head = view.head->header.height;
    for (std::uint32_t i = 0; i < kBlocksCounted && i < head; ++i) {
        const auto traces = history.find_traces(view, head - i);
        if (!traces || !*traces) return uses;
        for (const chain::TransactionTrace& transaction : **traces) {
            for (const chain::ActionTrace& action : transaction.action_traces)
                ++uses[action.receiver];
            counted += transaction.action_traces.size();
        }
        if (counted >= kActionsCounted) return uses;
    }
    return uses;
}

// The contracts left to compile, one a job, so that dry runs have their turns in between.
struct Ahead : std::enable_shared_from_this<Ahead> {
    Ahead(DryRun& dry_runs_in,
          std::shared_ptr<const Published> view_in,
          const History& history_in,
          const chain::vm::Programs& programs_in)
        : dry_runs(dry_runs_in),
          view(std::move(view_in)),
          history(history_in),
          programs(programs_in) {}

    // Not called at all when too many dry runs wait: then a contract is compiled when it is used.
    void post() {
        dry_runs.run_on(kClient, [self = shared_from_this()](chain::Executor& executor) {
            self->step(executor);
        });
    }
    void step(chain::Executor& executor) {
        if (!is_listed) codes = contracts_by_use(*view, history);
        is_listed = true;
        if (next < codes.size()) executor.prepare(*view->head_state, codes[next++]);
        if (next < codes.size() && !programs.is_full()) post();
    }

    DryRun& dry_runs;
    const std::shared_ptr<const Published> view;
    const History& history;
    const chain::vm::Programs& programs;
    bool is_listed = false;
    std::vector<base::Hash256> codes;
    std::size_t next = 0;
};

}  // namespace

std::vector<base::Hash256> contracts_by_use(const Published& view, const History& history) {
    const std::map<chain::Name, std::size_t> uses = count_receivers(view, history);
    std::vector<std::pair<chain::Name, std::size_t>> receivers(uses.begin(), uses.end());
    std::ranges::stable_sort(
        receivers, std::greater<>(), &std::pair<chain::Name, std::size_t>::second);
    std::vector<base::Hash256> out;
    std::set<base::Hash256> seen;
    for (const auto& [name, count] : receivers) {
        const auto account = chain::find_account(*view.head_state, name);
        if (!account || !*account || (*account)->code_hash.is_zero()) continue;
        if (seen.insert((*account)->code_hash).second) out.push_back((*account)->code_hash);
    }
    base::Bytes after;
    while (const auto row = view.head_state->at_or_after(chain::Table::code, after)) {
        base::Hash256 hash;
        CHECK(row->key.size() == hash.bytes.size());
        std::ranges::copy(row->key, hash.bytes.begin());
        if (seen.insert(hash).second) out.push_back(hash);
        after = row->key;
        after.push_back(std::byte{0});
    }
    return out;
}

void compile_ahead(DryRun& dry_runs,
                   std::shared_ptr<const Published> view,
                   const History& history,
                   const chain::vm::Programs& programs) {
    std::make_shared<Ahead>(dry_runs, std::move(view), history, programs)->post();
}

}  // namespace node
