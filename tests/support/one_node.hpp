#pragma once

#include "chain/execution/executor.hpp"
#include "chain/execution/host_functions.hpp"
#include "node/core/core.hpp"
#include "tests/support/memory_storage.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace support {

// Drops every line; tests look at effects.
class SilentLog final : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level /*level*/) const override { return false; }
    void write(base::Level /*level*/,
               std::string_view /*component*/,
               std::string_view /*line*/) override {}
};

class KeySigner final : public node::Signer {
  public:
    explicit KeySigner(base::crypto::PrivateKey key) : key_(std::move(key)) {}
    [[nodiscard]] std::vector<base::crypto::PublicKey> keys() const override {
        return {key_.public_key()};
    }
    [[nodiscard]] base::Result<base::crypto::Signature> sign(const base::crypto::PublicKey& /*key*/,
                                                             const base::Hash256& digest) override {
        return key_.sign(digest);
    }

  private:
    base::crypto::PrivateKey key_;
};

// A whole node in one thread: the production core over a simulated disk and clock.
class OneNode {
  public:
    OneNode() : key_(make_key()), signer_(key_) {
        const base::crypto::PublicKey key = key_.public_key();
        genesis_.times = {.initial = {1'700'000'000'000'000}, .interval_milliseconds = 500};
        genesis_.members = {{*chain::Name::from_string("bank"), chain::Authority::of_key(key), 1}};
        genesis_.system_authority = chain::Authority::of_key(key);
        genesis_.schedule.entries = {{*chain::Name::from_string("bank"), key, key}};
        genesis_.parameters.open_accounts = 1;
        const std::vector<consensus::SafetyRecord> records{
            {.kind = consensus::RecordKind::base, .key = consensus::key_tag(key)}};
        consensus::SafetyJournal journal;
        pages_ = {journal.append(records)};
        const auto first = node::Core::first_batch(genesis_);
        REQUIRE(first.has_value());
        REQUIRE(storage_.commit(*first, true).has_value());
        start();
    }

    // Opens the node on what the disk holds now.
    void start() {
        core_.reset();
        barrier_.clear();
        node::Effects out;
        auto journal = consensus::SafetyJournal::read(pages_);
        REQUIRE(journal.has_value());
        chain::StateManager::Options state;
        state.on_fault = [](const base::Error&) {};
        engine_ = std::make_unique<chain::vm::Engine>(
            chain::host_table(), chain::vm::Engine::Options{}, nullptr);
        executor_ = std::make_unique<chain::Executor>(*engine_, chain::host_table());
        const node::Core::Options options{.genesis = genesis_};
        auto core = node::Core::open(
            options,
            {storage_, *executor_, signer_, {}, state, {}, base::Log(log_, "core")},
            *std::move(journal),
            out);
        if (!core) FAIL(core.error().detail);
        core_ = *std::move(core);
        perform(out);
    }

    // The power goes: what was not synced is gone, and so is everything in memory.
    void cut_power_and_start() {
        storage_.cut_power();
        start();
    }

    void step(const node::Input& input) {
        node::Effects out;
        core_->step(now_, input, out);
        perform(out);
    }

    // Goes to the start of this slot and lets the node work.
    void tick_at(chain::Slot slot, int milliseconds = 0) {
        now_ =
            genesis_.times.time_of(slot).to_timestamp() + std::chrono::milliseconds(milliseconds);
        step(node::input::Tick{});
    }

    node::Ticket submit(const chain::TransactionPtr& transaction) {
        const node::Ticket ticket = ++last_ticket_;
        std::vector<base::crypto::PublicKey> keys;
        const auto digest = transaction->content.signing_digest(
            genesis_.chain_id(), transaction->content.context_free_data);
        for (const auto& signature : transaction->content.signatures) {
            keys.push_back(base::crypto::recover(signature, digest).value());
        }
        step(node::input::Submit{ticket, transaction, keys});
        return ticket;
    }

    // newaccount by `bank`, signed, that refers to the head.
    [[nodiscard]] chain::TransactionPtr new_account(const std::string& name) const {
        chain::Action action;
        action.account = *chain::Name::from_string("eosio");
        action.name = *chain::Name::from_string("newaccount");
        const chain::Name bank = *chain::Name::from_string("bank");
        action.authorization = {{bank, *chain::Name::from_string("active")}};
        base::Writer data;
        const chain::Authority authority = chain::Authority::of_key(key_.public_key());
        chain::encode(data, bank);
        chain::encode(data, *chain::Name::from_string(name));
        chain::encode(data, authority);
        chain::encode(data, authority);
        action.data = data.take();
        chain::SignedTransaction content;
        const auto seconds = chain::TimePoint::from_timestamp(now_).microseconds / 1'000'000 + 60;
        content.expiration = {static_cast<std::uint32_t>(seconds)};
        content.ref_block_num = static_cast<std::uint16_t>(view_->head->header.height);
        content.ref_block_prefix = chain::ref_block_prefix_of(view_->head->id);
        content.actions = {action};
        content.signatures = {key_.sign(content.signing_digest(genesis_.chain_id(), {}))};
        return chain::make_transaction(content);
    }

    [[nodiscard]] bool has_account(const std::string& name, const chain::StateView& state) const {
        return state.find(chain::Table::account,
                          chain::account_key(*chain::Name::from_string(name))) != nullptr;
    }

    [[nodiscard]] const node::Published& view() const { return *view_; }
    [[nodiscard]] const genesis::Genesis& genesis() const { return genesis_; }
    MemoryStorage& storage() { return storage_; }
    std::vector<base::Bytes>& pages() { return pages_; }

    // While set, so many more writes are carried out; then the disk stands still.
    std::optional<int> writes_left;
    std::map<node::Ticket, node::effect::Answer> answers;
    std::vector<chain::BlockPtr> finalized;  // Told to plugins as final.
    std::vector<node::effect::Dropped> dropped;
    std::map<chain::Slot, chain::BlockId> signed_slots;  // Over all restarts.
    bool signed_twice = false;

  private:
    static base::crypto::PrivateKey make_key() {
        std::array<std::byte, 32> secret{};
        secret.fill(std::byte{7});
        return {base::crypto::KeyType::k1, secret};
    }

    void perform(const node::Effects& effects) {
        for (const node::Effect& effect : effects) {
            if (const auto* write = std::get_if<node::effect::Write>(&effect)) {
                carry_out(*write);
            } else if (const auto* answer = std::get_if<node::effect::Answer>(&effect)) {
                answers.emplace(answer->ticket, *answer);
            } else if (const auto* publish = std::get_if<node::effect::Publish>(&effect)) {
                view_ = publish->view;
            } else if (const auto* accepted = std::get_if<node::effect::Accepted>(&effect)) {
                const chain::Block& block = *accepted->block->block;
                const auto [slot, first] = signed_slots.emplace(block.header.slot, block.id);
                signed_twice = signed_twice || (!first && slot->second != block.id);
            } else if (const auto* final = std::get_if<node::effect::Finalized>(&effect)) {
                finalized.push_back(final->block->block);
            } else if (const auto* drop = std::get_if<node::effect::Dropped>(&effect)) {
                dropped.push_back(*drop);
            }
        }
        // What became durable comes back as inputs, one at a time.
        while (!barrier_.empty()) {
            const node::input::Written written = barrier_.back();
            barrier_.pop_back();
            step(written);
        }
    }

    void carry_out(const node::effect::Write& write) {
        if (writes_left) {
            if (*writes_left == 0) return;
            --*writes_left;
        }
        // The order of the real runtime: the page, then the batch; a page that is there already
        // (its batch failed) is not written twice.
        if (!write.journal_page.empty() &&
            (pages_.empty() || pages_.back() != write.journal_page)) {
            if (write.compact_journal) pages_.clear();
            pages_.push_back(write.journal_page);
        }
        base::Batch batch = write.batch;
        if (write.final_state) write.final_state->append_to(batch);
        const auto done = storage_.commit(batch, write.ticket != 0);
        if (write.ticket != 0) barrier_.push_back({write.ticket, done});
    }

    genesis::Genesis genesis_;
    base::crypto::PrivateKey key_;
    KeySigner signer_;
    SilentLog log_;
    MemoryStorage storage_;
    std::vector<base::Bytes> pages_;
    std::unique_ptr<chain::vm::Engine> engine_;
    std::unique_ptr<chain::Executor> executor_;
    std::unique_ptr<node::Core> core_;
    std::shared_ptr<const node::Published> view_;
    std::vector<node::input::Written> barrier_;
    base::Timestamp now_{std::chrono::microseconds(1'700'000'000'000'000)};
    node::Ticket last_ticket_ = 0;
};

}  // namespace support
