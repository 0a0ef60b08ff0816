#pragma once

#include "node/bps/core/actions.hpp"
#include "node/bps/core/directory.hpp"
#include "node/bps/service/service.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tests {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)

// The contract's rows, and of its actions what a broker alone asks for: each is in a final block of
// its own at once, or is refused. Threads: any.
class ChainInMemory : base::Pinned {
  public:
    static constexpr chain::Name kContract = "bps"_n;

    ChainInMemory() {
        bps::rows::Broker row;
        row.id = 1;
        row.account = "broker1"_n;
        put_quietly(row, 1);
    }

    // Of blocks from now on, in milliseconds since 1970.
    void set_time(std::int64_t time) {
        const std::scoped_lock lock(mutex_);
        time_ = time;
    }
    // Where blocks go from now on; empty: nowhere.
    void follow(std::function<void(bps::FinalRows)> on_final) {
        const std::scoped_lock lock(mutex_);
        on_final_ = std::move(on_final);
    }
    // The next action is refused with this text.
    void refuse_next(std::string reason) {
        const std::scoped_lock lock(mutex_);
        refusal_ = std::move(reason);
    }
    bps::FinalRows all() {
        const std::scoped_lock lock(mutex_);
        bps::FinalRows rows = block();
        for (const auto& [id, value] : rows_)
            rows.changes.push_back({{std::get<0>(id), std::get<1>(id), std::get<2>(id)}, value});
        return rows;
    }
    base::Result<void> submit(chain::PackedTransaction packed,
                              const std::function<void(base::Result<void>)>& answered) {
        const std::scoped_lock lock(mutex_);
        const auto decoded = chain::decode_transaction(std::move(packed));
        must(decoded.has_value());
        const chain::Action& action = (*decoded)->content.actions.at(0);
        actions_.push_back(action.name.to_string());
        if (auto reason = std::exchange(refusal_, std::nullopt)) {
            answered(base::fail(base::Errc::invalid, *reason));
            return {};
        }
        carry_out(action);
        answered({});
        finish((*decoded)->id);
        return {};
    }
    template <class Row>
    void put(const Row& row, std::uint64_t key, chain::Name scope = kContract) {
        const std::scoped_lock lock(mutex_);
        put_quietly(row, key, scope);
        finish({});
    }
    template <class Row>
    void erase(std::uint64_t key, chain::Name scope = kContract) {
        const std::scoped_lock lock(mutex_);
        rows_.erase({Row::kTable, scope, key});
        changes_.push_back({{Row::kTable, scope, key}, std::nullopt});
        finish({});
    }
    bps::rows::Broker broker() {
        const std::scoped_lock lock(mutex_);
        return get<bps::rows::Broker>(1);
    }
    bps::rows::Partition partition(bps::PartitionId id) {
        const std::scoped_lock lock(mutex_);
        return get<bps::rows::Partition>(id.log());
    }
    std::vector<std::string> actions() {
        const std::scoped_lock lock(mutex_);
        return actions_;
    }
    // Topic 7, `t`, of alice, with one partition on this broker.
    void add_topic() {
        const bps::rows::Broker row = broker();
        bps::rows::Partition partition;
        partition.topic = 7;
        partition.replicas = {{1, row.generation}};
        partition.leader = 1;
        partition.leader_boot = row.boot;
        partition.leader_epoch = 1;
        const std::scoped_lock lock(mutex_);
        put_quietly(partition, bps::PartitionId{7, 0}.log());
        put_quietly(bps::rows::Topic{.id = 7,
                                     .name = "t",
                                     .owner = "alice"_n,
                                     .partitions = 1,
                                     .settings = {{"bor.max.stale.ms", "-1"}}},
                    7);
        finish({});
    }

  private:
    // On the broker's thread, too, where nothing is checked otherwise.
    static void must(bool holds) {
        if (!holds) throw std::runtime_error("what the broker asks of its chain is none of it");
    }
    template <class Row>
    Row get(std::uint64_t key) {
        const auto row = chain::unpack<Row>(rows_.at({Row::kTable, kContract, key}), "row");
        must(row.has_value());
        return *row;
    }
    template <class Row>
    void put_quietly(const Row& row, std::uint64_t key, chain::Name scope = kContract) {
        base::Bytes bytes = chain::pack(row);
        changes_.push_back({{Row::kTable, scope, key}, bytes});
        rows_[{Row::kTable, scope, key}] = std::move(bytes);
    }
    [[nodiscard]] bps::FinalRows block() const {
        bps::FinalRows rows{.block = {}, .time = time_, .changes = {}, .executed = {}};
        for (std::size_t i = 0; i < 4; ++i)
            rows.block.bytes[i] = static_cast<std::byte>(height_ >> (8 * (3 - i)));
        return rows;
    }
    void finish(const chain::TransactionId& executed) {
        ++height_;
        bps::FinalRows rows = block();
        rows.changes = std::exchange(changes_, {});
        rows.executed = {executed};
        if (on_final_) on_final_(std::move(rows));
    }
    void carry_out(const chain::Action& action) {
        if (action.name == bps::actions::RegBroker::kName) {
            const auto said = chain::unpack<bps::actions::RegBroker>(action.data, "action");
            must(said.has_value());
            register_broker(*said);
        } else if (action.name == bps::actions::Elect::kName) {
            const auto said = chain::unpack<bps::actions::Elect>(action.data, "action");
            must(said.has_value());
            for (const auto& each : said->partitions)
                elect({each.topic, static_cast<std::int32_t>(each.partition)});
        }
    }
    void register_broker(const bps::actions::RegBroker& said) {
        auto row = get<bps::rows::Broker>(1);
        const bool is_same =
            row.log_id == said.log_id && std::ranges::count(said.earlier, row.start_id) == 1;
        if (row.boot == 0 || !is_same) ++row.generation;
        row.boot = said.boot;
        row.start_id = said.start_id;
        row.log_id = said.log_id;
        row.listeners = said.listeners;
        row.fenced = false;
        put_quietly(row, 1);
    }
    void elect(bps::PartitionId id) {
        auto row = get<bps::rows::Partition>(id.log());
        row.leader_boot = get<bps::rows::Broker>(1).boot;
        ++row.leader_epoch;
        put_quietly(row, id.log());
    }

    std::mutex mutex_;
    std::int64_t time_ = 1'000;
    std::map<std::tuple<chain::Name, chain::Name, std::uint64_t>, base::Bytes> rows_;
    std::vector<bps::FinalRows::Change> changes_;  // Of the next block.
    std::uint32_t height_ = 1;
    std::optional<std::string> refusal_;
    std::vector<std::string> actions_;
    std::function<void(bps::FinalRows)> on_final_;
};

}  // namespace tests
