#pragma once

#include "chain/execution/executor.hpp"
#include "chain/execution/host_functions.hpp"
#include "node/core/core.hpp"
#include "node/machine/machine.hpp"
#include "tests/support/journals.hpp"
#include "tests/support/memory_storage.hpp"
#include "tests/support/simulated_timer.hpp"

#include <catch2/catch.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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

// Keeps what operators should see.
class Warnings final : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level level) const override {
        return level >= base::Level::warn;
    }
    void write(base::Level level, std::string_view /*component*/, std::string_view line) override {
        if (enabled(level)) lines.emplace_back(line);
    }
    std::vector<std::string> lines;
};

class KeySigner final : public node::Signer {
  public:
    explicit KeySigner(const base::crypto::PrivateKey& key) : keys_{key} {}
    [[nodiscard]] std::vector<base::crypto::PublicKey> keys() const override {
        std::vector<base::crypto::PublicKey> keys;
        keys.reserve(keys_.size());
        for (const auto& key : keys_)
            keys.push_back(key.public_key());
        return keys;
    }
    [[nodiscard]] base::Result<base::crypto::Signature> sign(const base::crypto::PublicKey& key,
                                                             const base::Hash256& digest) override {
        ++signatures_;
        for (const auto& each : keys_)
            if (each.public_key() == key) return each.sign(digest);
        return base::fail(base::Errc::not_found, "no such key");
    }
    void set_key(const base::crypto::PrivateKey& key) { keys_ = {key}; }
    void add_key(const base::crypto::PrivateKey& key) { keys_.push_back(key); }
    // Asked for so far.
    [[nodiscard]] std::size_t signatures() const { return signatures_; }

  private:
    std::vector<base::crypto::PrivateKey> keys_;
    std::size_t signatures_ = 0;
};

// The key number `tag` of tests.
inline base::crypto::PrivateKey key_of(unsigned char tag) {
    std::array<std::byte, 32> secret{};
    secret.fill(std::byte{tag});
    return {base::crypto::KeyType::k1, secret};
}

// A machine with a disk and one key, on which the production core runs in the caller's thread.
// The disk works at once, unless it is told otherwise; what peers are told goes to `to_peers`.
class Machine {
  public:
    Machine(genesis::Genesis genesis, const base::crypto::PrivateKey& key)
        : genesis_(std::move(genesis)), key_(key), signer_(key_) {
        now_ = genesis_.times.time_of(0).to_timestamp();
        set_key(key_);
        const auto first = node::Core::first_batch(genesis_);
        REQUIRE(first.has_value());
        REQUIRE(storage_.commit(*first, true).has_value());
    }

    // Of the next start: another key, with a journal of its own.
    void set_key(const base::crypto::PrivateKey& key) {
        key_ = key;
        signer_.set_key(key_);
        logs_.merge(test::fresh_logs({consensus::key_tag(key_.public_key())}));
    }
    // From the next start on: one more.
    void add_key(const base::crypto::PrivateKey& key) {
        signer_.add_key(key);
        logs_.merge(test::fresh_logs({consensus::key_tag(key.public_key())}));
    }
    // Of the next start: the times that members gave the chain.
    void retime(std::vector<chain::Retime> retimes) { genesis_.times.retimes = std::move(retimes); }
    // Opens the node on what the disk holds now.
    void start() {
        if (const auto opened = open(); !opened) FAIL(opened.error().detail);
    }
    [[nodiscard]] base::Result<void> open() {
        stop();
        node::Effects out;
        chain::StateManager::Options state;
        state.on_fault = [](const base::Error&) {};
        contract_machine_ = std::make_unique<node::ContractMachine>();
        engine_ = std::make_unique<chain::vm::Engine>(
            chain::host_table(), chain::vm::Engine::Options{}, *contract_machine_);
        executor_ = std::make_unique<chain::Executor>(*engine_, chain::host_table());
        node::Core::Options options{.genesis = genesis_};
        options.started = now_;
        options.has_peers = to_peers != nullptr;
        options.accept_amnesia = accept_amnesia;
        options.reset = reset;
        options.producers = producers;
        chain::ExecutionOptions limits;
        limits.is_stopped = [this] { return timer.has_fired(); };
        node::Core::Environment environment{
            storage_, *executor_, signer_, limits, state, base::Log(log_, "core")};
        environment.timer = &timer;
        if (journal_blocks_max != 0) {
            environment.make_consensus = [this](auto rules, auto base, auto journals) {
                rules.journal_blocks_max = journal_blocks_max;
                return std::make_unique<consensus::Consensus>(
                    std::move(rules), std::move(base), std::move(journals));
            };
        }
        auto core = node::Core::open(options, environment, test::read_journals(logs_), out);
        if (!core) return base::fail(core.error());
        core_ = *std::move(core);
        perform(out);
        // What open() asks to be woken for at once.
        step(node::input::Tick{});
        return {};
    }
    // Killed: what the process had in memory is gone.
    void stop() {
        core_.reset();
        executor_.reset();
        engine_.reset();
        contract_machine_.reset();
        answers_.clear();
        written_.clear();
        view_ = nullptr;
    }
    // The power goes: what was not synced is gone, and so is everything in memory.
    void cut_power_and_start() {
        stop();
        storage_.cut_power();
        start();
    }

    [[nodiscard]] base::crypto::PublicKey public_key() const { return key_.public_key(); }
    [[nodiscard]] bool runs() const { return core_ != nullptr; }
    void set_time(base::Timestamp now) { now_ = now; }
    // The disk is slow no more: what was written meanwhile is told.
    void finish_writes() {
        is_disk_slow = false;
        answers_.insert(answers_.end(), written_.begin(), written_.end());
        written_.clear();
        perform(node::Effects{});
    }
    // The first of the recoveries that are held.
    void finish_recovery() {
        carry_out(held_recoveries.front());
        held_recoveries.pop_front();
        perform(node::Effects{});
    }

    void step(const node::Input& input) {
        if (core_ == nullptr) return;
        node::Effects out;
        core_->step(now_, input, out);
        perform(out);
    }

    node::Ticket submit(const chain::TransactionPtr& transaction, const std::string& sender = {}) {
        const node::Ticket ticket = ++last_ticket_;
        auto entry = node::recover_keys(transaction->packed, genesis_.chain_id());
        REQUIRE(entry.has_value());
        step(node::input::Submit{ticket, transaction, entry->keys, sender});
        return ticket;
    }

    // newaccount by `creator`, signed by this machine's key, that refers to the head.
    [[nodiscard]] chain::TransactionPtr new_account(const std::string& creator,
                                                    const std::string& name) const {
        base::Writer data;
        const chain::Authority authority = chain::Authority::of_key(key_.public_key());
        chain::encode(data, *chain::Name::from_string(creator));
        chain::encode(data, *chain::Name::from_string(name));
        chain::encode(data, authority);
        chain::encode(data, authority);
        return act(creator, "newaccount", data.take());
    }
    // An action of eosio by `actor`, signed by this machine's key.
    [[nodiscard]] chain::TransactionPtr act(const std::string& actor,
                                            std::string_view name,
                                            base::Bytes data) const {
        return act_on("eosio", actor, name, std::move(data));
    }
    // One of so many bytes, which does nothing.
    [[nodiscard]] chain::TransactionPtr idle(const std::string& actor, std::size_t bytes) const {
        return act_on(actor, actor, "x", base::Bytes(bytes));
    }

    [[nodiscard]] static bool has_account(const std::string& name, const chain::StateView& state) {
        return state.find(chain::Table::account,
                          chain::account_key(*chain::Name::from_string(name))) != nullptr;
    }

    [[nodiscard]] const node::Published& view() const { return *view_; }
    [[nodiscard]] const genesis::Genesis& genesis() const { return genesis_; }
    MemoryStorage& storage() { return storage_; }
    // The lines of its log from warnings on, over all restarts.
    [[nodiscard]] const std::vector<std::string>& warnings() const { return log_.lines; }
    // Of its present key.
    base::Bytes& log() { return logs_[consensus::key_tag(key_.public_key())]; }

    SimulatedTimer timer;  // Of the runs: they take no time unless a test says so.
    // What peers are told; null: the node has none. Set before start().
    std::function<void(const p2p::Input&)> to_peers;
    // While set, so many more writes are carried out; then the disk stands still. Of the one that
    // is not carried out any more, this is there after the power cut.
    enum class Left : std::uint8_t { nothing, page, rows, torn_page_and_rows };
    std::optional<int> writes_left;
    Left left = Left::nothing;
    std::size_t journal_blocks_max = 0;  // From the next start on; 0: as shipped.
    // The rows of the next write that replaces a journal are lost, though they were synced; then
    // the disk stands still.
    bool loses_rows_of_compaction = false;
    bool is_disk_slow = false;  // While set, the node hears of no write that it is done.
    std::map<node::Ticket, node::effect::Answer> answers;
    std::vector<chain::BlockPtr> finalized;                            // Told to plugins as final.
    std::function<void(const node::effect::Finalized&)> on_finalized;  // Empty: nobody listens.
    std::vector<node::effect::Dropped> dropped;
    std::vector<chain::Evidence> accused;
    std::vector<node::effect::ReadBlocks> reads;
    bool accept_amnesia = false;                        // Of the next start().
    std::optional<chain::ScheduleReset> reset;          // Likewise.
    std::vector<chain::Name> producers;                 // Likewise.
    std::map<chain::Slot, chain::BlockId> shown_slots;  // Over all restarts.
    bool holds_checks = false;                          // What is to be checked is not.
    std::size_t checks = 0;                             // Of what is stored.
    std::size_t recoveries = 0;                         // Of signatures, be it of many.
    bool holds_recoveries = false;                      // Until finish_recovery().
    std::deque<node::effect::Recover> held_recoveries;
    bool shown_twice = false;  // Two blocks of one slot.

  private:
    [[nodiscard]] chain::TransactionPtr act_on(const std::string& account,
                                               const std::string& actor,
                                               std::string_view name,
                                               base::Bytes data) const {
        chain::Action action;
        action.account = *chain::Name::from_string(account);
        action.name = *chain::Name::from_string(name);
        action.authorization = {
            {*chain::Name::from_string(actor), *chain::Name::from_string("active")}};
        action.data = std::move(data);
        chain::SignedTransaction content;
        const auto seconds = chain::TimePoint::from_timestamp(now_).microseconds / 1'000'000 + 60;
        content.expiration = {static_cast<std::uint32_t>(seconds)};
        content.ref_block_num = static_cast<std::uint16_t>(view_->finalized->header.height);
        content.ref_block_prefix = chain::ref_block_prefix_of(view_->finalized->id);
        content.actions = {action};
        content.signatures = {key_.sign(content.signing_digest(genesis_.chain_id(), {}))};
        return chain::make_transaction(content);
    }

    void perform(const node::Effects& effects) {
        for (const node::Effect& effect : effects) {
            perform(effect);
        }
        // What was done comes back as inputs, one at a time.
        while (!answers_.empty()) {
            const node::Input next = std::move(answers_.front());
            answers_.pop_front();
            step(next);
        }
    }

    void perform(const node::Effect& effect) {
        if (const auto* write = std::get_if<node::effect::Write>(&effect)) {
            carry_out(*write);
        } else if (const auto* answer = std::get_if<node::effect::Answer>(&effect)) {
            answers.emplace(answer->ticket, *answer);
        } else if (const auto* publish = std::get_if<node::effect::Publish>(&effect)) {
            view_ = publish->view;
        } else if (const auto* accepted = std::get_if<node::effect::Accepted>(&effect)) {
            const chain::Block& block = *accepted->block->block;
            const auto [slot, first] = shown_slots.emplace(block.header.slot, block.id);
            shown_twice = shown_twice || (!first && slot->second != block.id);
        } else if (const auto* final = std::get_if<node::effect::Finalized>(&effect)) {
            finalized.push_back(final->block->block);
            if (on_finalized) on_finalized(*final);
        } else if (const auto* drop = std::get_if<node::effect::Dropped>(&effect)) {
            dropped.push_back(*drop);
        } else if (const auto* recover = std::get_if<node::effect::Recover>(&effect)) {
            if (holds_recoveries) {
                held_recoveries.push_back(*recover);
            } else {
                carry_out(*recover);
            }
        } else if (const auto* said = std::get_if<node::effect::ToPeers>(&effect)) {
            if (to_peers) to_peers(said->said);
        } else if (const auto* accuse = std::get_if<node::effect::Accused>(&effect)) {
            accused.push_back(accuse->evidence);
        } else if (const auto* read = std::get_if<node::effect::ReadBlocks>(&effect)) {
            reads.push_back(*read);
        } else if (const auto* check = std::get_if<node::effect::CheckStored>(&effect)) {
            ++checks;
            if (holds_checks) return;
            answers_.push_back(node::input::StoredChecked{
                check->ticket,
                node::check_stretch(storage_, check->stretch, check->rules, check->copy)});
        }
    }

    void carry_out(const node::effect::Recover& recover) {
        ++recoveries;
        std::vector<chain::PackedTransaction> packed;
        if (recover.transaction) packed.push_back(*recover.transaction);
        if (recover.block) {
            for (const auto& receipt : recover.block->transactions) {
                const auto* whole = std::get_if<chain::PackedTransaction>(&receipt.transaction);
                if (whole == nullptr) {
                    const base::Error error{base::Errc::invalid, "a receipt has no transaction"};
                    return answers_.push_back(
                        node::input::Recovered{recover.ticket, base::fail(error)});
                }
                packed.push_back(*whole);
            }
        }
        std::vector<chain::PooledTransaction> done;
        for (const chain::PackedTransaction& each : packed) {
            auto entry = node::recover_keys(each, genesis_.chain_id());
            if (!entry) {
                answers_.push_back(
                    node::input::Recovered{recover.ticket, base::fail(entry.error())});
                return;
            }
            done.push_back(*std::move(entry));
        }
        answers_.push_back(node::input::Recovered{recover.ticket, std::move(done)});
    }

    void carry_out(const node::effect::Write& write) {
        const bool replaces = std::ranges::any_of(write.pages, &consensus::JournalPage::replaces);
        if (loses_rows_of_compaction && replaces) {
            loses_rows_of_compaction = false;
            write_pages(write);
            writes_left = 0;
            return;
        }
        if (writes_left) {
            if (*writes_left == 0) return leave(write);
            --*writes_left;
        }
        write_pages(write);
        const auto done = write_rows(write);
        if (write.ticket == 0) return;
        (is_disk_slow ? written_ : answers_).push_back(node::input::Written{write.ticket, done});
    }
    void write_pages(const node::effect::Write& write) {
        for (const consensus::JournalPage& page : write.pages)
            test::write_page(logs_, page);
    }
    base::Result<void> write_rows(const node::effect::Write& write) {
        base::Batch batch = write.batch;
        if (write.final_state) write.final_state->append_to(batch);
        return storage_.commit(batch, write.ticket != 0);
    }
    // Page and rows are written side by side: any of the two may be there. A page that replaces
    // the journal comes after its rows.
    void leave(const node::effect::Write& write) {
        if (write.ticket == 0) return;
        const auto replaces = [](const auto& page) { return page.replaces; };
        const bool is_beside = !write.pages.empty() && std::ranges::none_of(write.pages, replaces);
        if (left == Left::page && is_beside) write_pages(write);
        if (left == Left::rows || left == Left::torn_page_and_rows) (void)write_rows(write);
        if (left == Left::torn_page_and_rows && is_beside) {
            consensus::JournalPage torn = write.pages.front();
            std::fill(torn.bytes.begin() + 512, torn.bytes.end(), std::byte{0x5A});
            test::write_page(logs_, torn);
        }
        left = Left::nothing;
    }

    genesis::Genesis genesis_;
    base::crypto::PrivateKey key_;
    KeySigner signer_;
    Warnings log_;
    MemoryStorage storage_;
    test::Logs logs_;
    std::unique_ptr<node::ContractMachine> contract_machine_;
    std::unique_ptr<chain::vm::Engine> engine_;
    std::unique_ptr<chain::Executor> executor_;
    std::unique_ptr<node::Core> core_;
    std::shared_ptr<const node::Published> view_;
    std::deque<node::Input> answers_;
    std::deque<node::Input> written_;  // While the disk is slow.
    base::Timestamp now_{};
    node::Ticket last_ticket_ = 0;
};

}  // namespace support
