#pragma once

#include "node/bps/core/directory.hpp"
#include "node/bps/core/rights.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace support {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)

// The rows of the contract as broker 1, whose account is broker1, reads them. Topics belong to
// `owner` unless a test says otherwise, and are served however old the last final block is.
struct ChainView {
    static constexpr chain::Name kContract = "bps"_n;
    static constexpr chain::Name kOwner = "owner"_n;

    ChainView() { broker(1); }

    template <class Row>
    void put(const Row& row, std::uint64_t key, chain::Name scope = kContract) {
        const base::Bytes bytes = chain::pack(row);
        apply({Row::kTable, scope, key}, base::ByteView(bytes));
    }
    template <class Row>
    void erase(std::uint64_t key, chain::Name scope = kContract) {
        apply({Row::kTable, scope, key}, std::nullopt);
    }
    void apply(const bps::RowId& id, std::optional<base::ByteView> value) {
        const bool taken = rights.apply(id, value) && directory.apply(id, value);
        if (!taken) throw std::runtime_error("a row that is not taken");
        rights.check_invariants();
    }
    void on_final(std::int64_t now) { rights.on_final(100, now); }

    // A broker that has started and is not fenced.
    static bps::rows::Broker broker_row(std::int32_t id) {
        bps::rows::Broker row;
        row.id = id;
        row.account = *chain::Name::from_string("broker" + std::to_string(id));
        row.listeners = {{"PLAINTEXT", id == 1 ? "broker.example" : "other.example", 9092},
                         {"SSL", "tls.example", 9093}};
        row.boot = 1;
        row.generation = 1;
        row.fenced = false;
        return row;
    }
    void broker(const bps::rows::Broker& row) { put(row, static_cast<std::uint64_t>(row.id)); }
    void broker(std::int32_t id) { broker(broker_row(id)); }

    void topic(const bps::rows::Topic& row) { put(row, row.id); }
    void topic(std::uint32_t id, const std::string& name, std::uint32_t partitions) {
        topic({.id = id,
               .name = name,
               .owner = kOwner,
               .partitions = partitions,
               .settings = {{"bor.max.stale.ms", "-1"}}});
    }
    // A partition whose replicas are all in sync; the first one leads.
    void partition(bps::PartitionId id,
                   std::int32_t epoch,
                   const std::vector<std::int32_t>& replicas = {1}) {
        bps::rows::Partition row;
        row.topic = id.topic;
        row.partition = static_cast<std::uint32_t>(id.index);
        for (const std::int32_t broker : replicas)
            row.replicas.push_back({broker, 1});
        row.leader = replicas.at(0);
        row.leader_boot = 1;
        row.leader_epoch = epoch;
        partition(row);
    }
    void partition(const bps::rows::Partition& row) {
        put(row, bps::PartitionId{row.topic, static_cast<std::int32_t>(row.partition)}.log());
    }
    // Lets an account do this with all topics of an owner.
    void grant(chain::Name account, bps::rows::Operation operation, chain::Name owner = kOwner) {
        bps::rows::Grant row;
        row.prefixed = true;
        row.account = account;
        row.operation = operation;
        row.id = id_of(account, operation);
        put(row, row.id, owner);
    }
    void revoke(chain::Name account, bps::rows::Operation operation, chain::Name owner = kOwner) {
        erase<bps::rows::Grant>(id_of(account, operation), owner);
    }
    void grant_all(chain::Name account, chain::Name owner = kOwner) {
        for (const auto operation : {bps::rows::Operation::produce,
                                     bps::rows::Operation::consume,
                                     bps::rows::Operation::admin})
            grant(account, operation, owner);
    }
    // Which producer ids are the account's.
    void id_space(chain::Name account, std::uint32_t number) {
        put(bps::rows::IdSpace{.account = account, .number = number}, account.value);
    }
    // Lets broker 1 do these actions on all names of an owner.
    void delegate(chain::Name owner, const std::vector<chain::Name>& actions) {
        put(bps::rows::Delegation{.account = "broker1"_n,
                                  .broker = 1,
                                  .actions = actions,
                                  .prefix = {},
                                  .until = {0xFFFF'FFFF}},
            ("broker1"_n).value,
            owner);
    }

    bps::Rights rights{{.contract = kContract,
                        .broker = 1,
                        .broker_account = "broker1"_n,
                        .anonymous = std::nullopt}};
    bps::Directory directory;

  private:
    static std::uint64_t id_of(chain::Name account, bps::rows::Operation operation) {
        return (account.value & ~std::uint64_t{3}) + static_cast<std::uint64_t>(operation);
    }
};

}  // namespace support
