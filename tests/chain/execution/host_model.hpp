#pragma once

#include "base/rng.hpp"
#include "host_fixture.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace host_test {

// The tables of nodeos in the simplest form that can be right: sorted sets, and lists of what
// each iterator stands for. Written apart from the code under test; steps are chosen at random.

struct ModelRow {
    chain::Name payer;
    std::string key;    // Secondary key as bytes; empty in a primary table.
    std::string value;  // Of a primary table.
};

// Whether one secondary key comes before another.
using KeyLess = bool (*)(const std::string&, const std::string&);

// All tables of one kind, and the iterators of one action.
class TableModel {
  public:
    explicit TableModel(KeyLess less) : less_(less) {}

    using Place = std::pair<std::uint64_t, std::uint64_t>;  // Scope, primary key.

    [[nodiscard]] bool exists(std::uint64_t scope) const { return tables_.contains(scope); }
    [[nodiscard]] const ModelRow* find(Place place) const {
        const auto table = tables_.find(place.first);
        if (table == tables_.end()) return nullptr;
        const auto row = table->second.rows.find(place.second);
        return row == table->second.rows.end() ? nullptr : &row->second;
    }

    std::int32_t end(std::uint64_t scope) {
        const auto table = tables_.find(scope);
        if (table == tables_.end()) return -1;
        const auto [at, added] =
            ends_of_.try_emplace({scope, table->second.generation}, ends_.size());
        if (added) ends_.push_back({scope, table->second.generation});
        return -static_cast<std::int32_t>(at->second) - 2;
    }
    std::int32_t iterator(Place place) {
        end(place.first);
        const auto [at, added] = iterators_of_.try_emplace(place, iterators_.size());
        if (added) iterators_.emplace_back(place);
        return static_cast<std::int32_t>(at->second);
    }

    std::int32_t store(Place place, const ModelRow& row) {
        auto [table, added] = tables_.try_emplace(place.first);
        if (added) table->second = {++generation_, row.payer, {}};
        table->second.rows[place.second] = row;
        return iterator(place);
    }
    void update(Place place, const ModelRow& row) { tables_[place.first].rows[place.second] = row; }
    void remove(Place place) {
        iterators_[iterators_of_.at(place)] = std::nullopt;
        iterators_of_.erase(place);
        auto table = tables_.find(place.first);
        table->second.rows.erase(place.second);
        if (table->second.rows.empty()) tables_.erase(table);
    }

    // Places of a table in the order of the index.
    [[nodiscard]] std::vector<std::uint64_t> in_order(std::uint64_t scope) const {
        std::vector<std::uint64_t> order;
        for (const auto& [primary, row] : tables_.at(scope).rows)
            order.push_back(primary);
        const auto& rows = tables_.at(scope).rows;
        std::ranges::stable_sort(order, [&](std::uint64_t a, std::uint64_t b) {
            return less_ != nullptr && less_(rows.at(a).key, rows.at(b).key);
        });
        return order;
    }

    // What a call on an iterator must do: nothing stands for a refusal.
    [[nodiscard]] std::optional<Place> place_of(std::int32_t iterator) const {
        if (iterator < 0 || static_cast<std::size_t>(iterator) >= iterators_.size()) {
            return std::nullopt;
        }
        return iterators_[static_cast<std::size_t>(iterator)];
    }
    [[nodiscard]] std::size_t iterators() const { return iterators_.size(); }
    [[nodiscard]] std::size_t ends() const { return ends_.size(); }
    // The scope of an end; -1: its table has gone.
    [[nodiscard]] std::optional<std::uint64_t> scope_of_end(std::int32_t iterator) const {
        const auto [scope, generation] = ends_[static_cast<std::size_t>(-iterator - 2)];
        const auto table = tables_.find(scope);
        if (table == tables_.end() || table->second.generation != generation) return std::nullopt;
        return scope;
    }

    // Bytes that a payer owes: for rows of `row_bytes` and their values, and for tables.
    [[nodiscard]] std::uint64_t owed(chain::Name payer, std::uint64_t row_bytes) const {
        std::uint64_t sum = 0;
        for (const auto& [scope, table] : tables_) {
            if (table.payer == payer) sum += 112;
            for (const auto& [primary, row] : table.rows) {
                if (row.payer == payer) sum += row_bytes + row.value.size();
            }
        }
        return sum;
    }

  private:
    struct TableRows {
        std::uint64_t generation = 0;
        chain::Name payer;
        std::map<std::uint64_t, ModelRow> rows;
    };

    KeyLess less_;
    std::uint64_t generation_ = 0;
    std::map<std::uint64_t, TableRows> tables_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ends_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> ends_of_;
    std::vector<std::optional<Place>> iterators_;
    std::map<Place, std::size_t> iterators_of_;
};

// Random calls of db_<prefix>* on both, with few scopes and keys so that they meet.
class Walk {
  public:
    Walk(std::uint64_t seed, KeyLess less) : rng(seed), model(less) {}

  protected:
    static constexpr std::uint32_t kKey = 1000;
    static constexpr std::uint32_t kPrimary = 2000;
    static constexpr std::uint64_t kMark = 0xABAD'1DEA'ABAD'1DEA;
    static constexpr std::uint64_t kTable = ("table"_n).value;
    static constexpr std::uint64_t kCode = ("contract"_n).value;

    [[nodiscard]] std::uint64_t scope() { return rng.below(3); }
    [[nodiscard]] std::uint64_t primary() {
        return rng.below(10) == 0 ? ~std::uint64_t{0} - rng.below(2) : rng.below(25);
    }
    [[nodiscard]] chain::Name payer() { return rng.below(2) == 0 ? "alice"_n : "bob"_n; }
    [[nodiscard]] std::int32_t some_iterator() {
        const auto count = static_cast<std::int32_t>(model.iterators());
        const auto ends = static_cast<std::int32_t>(model.ends());
        const auto choices = static_cast<std::uint64_t>(std::int64_t{count} + ends + 1);
        return static_cast<std::int32_t>(rng.below(choices)) - ends - 1;
    }
    static std::uint32_t slot(std::int32_t iterator) {
        return static_cast<std::uint32_t>(iterator);
    }

    // next or previous with `name`, against the order of the model.
    void step_along(const std::string& name, bool forward) {
        const std::int32_t from = some_iterator();
        const auto place = model.place_of(from);
        // A refusal ends the action; those have tests of their own.
        if (from == -1 || (from >= 0 && !place)) return;
        CAPTURE(name, from);
        host.write(kPrimary, kMark);
        const std::int32_t got = host.i32(name, {slot(from), kPrimary});
        std::int32_t expected = -1;
        std::uint64_t expected_primary = kMark;
        const auto found = forward ? after(from, place) : before(from, place);
        if (found) {
            expected = model.iterator(*found);
            expected_primary = found->second;
        } else if (forward && from >= 0) {
            expected = model.end(place->first);
        }
        REQUIRE(got == expected);
        REQUIRE(host.read<std::uint64_t>(kPrimary) == expected_primary);
    }

    using Place = TableModel::Place;

    [[nodiscard]] std::optional<Place> after(std::int32_t from, std::optional<Place> place) const {
        if (from < 0) return std::nullopt;
        const auto order = model.in_order(place->first);
        const auto at = std::ranges::find(order, place->second);
        if (at + 1 == order.end()) return std::nullopt;
        return Place{place->first, *(at + 1)};
    }
    [[nodiscard]] std::optional<Place> before(std::int32_t from, std::optional<Place> place) const {
        if (from < 0) {
            const auto scope = model.scope_of_end(from);
            if (!scope) return std::nullopt;
            return Place{*scope, model.in_order(*scope).back()};
        }
        const auto order = model.in_order(place->first);
        const auto at = std::ranges::find(order, place->second);
        if (at == order.begin()) return std::nullopt;
        return Place{place->first, *(at - 1)};
    }

    void compare_ram(std::uint64_t row_bytes) {
        for (const chain::Name name : {"alice"_n, "bob"_n}) {
            REQUIRE(host.transaction->find_account(name)->ram_usage == model.owed(name, row_bytes));
        }
    }

    base::Rng rng;
    Host host;
    TableModel model;
};

// Over db_*_i64.
class PrimaryWalk : Walk {
  public:
    explicit PrimaryWalk(std::uint64_t seed) : Walk(seed, nullptr) {}

    void step() {
        switch (rng.below(9)) {
            case 0:
            case 1:
                return store();
            case 2:
                return update();
            case 3:
                return remove();
            case 4:
                return step_along("db_next_i64", true);
            case 5:
                return step_along("db_previous_i64", false);
            case 6:
                return look_up();
            case 7:
                return bound("db_lowerbound_i64", false);
            default:
                return bound("db_upperbound_i64", true);
        }
    }
    void check_ram() { compare_ram(112); }

  private:
    std::string value() {
        std::string text(rng.below(20), 'x');
        for (char& letter : text)
            letter = static_cast<char>('a' + rng.below(26));
        return text;
    }

    void store() {
        const Place place{scope(), primary()};
        if (model.find(place) != nullptr) return;
        const ModelRow row{payer(), {}, value()};
        host.write_text(kKey, row.value);
        const std::int32_t got =
            host.i32("db_store_i64",
                     {place.first, kTable, row.payer.value, place.second, kKey, row.value.size()});
        REQUIRE(got == model.store(place, row));
    }

    void update() {
        const std::int32_t iterator = some_iterator();
        const auto place = model.place_of(iterator);
        if (!place) return;
        ModelRow row = *model.find(*place);
        row.value = value();
        const bool keep = rng.below(2) == 0;
        if (!keep) row.payer = payer();
        host.write_text(kKey, row.value);
        REQUIRE(host.call("db_update_i64",
                          {slot(iterator), keep ? 0 : row.payer.value, kKey, row.value.size()})
                    .has_value());
        model.update(*place, row);
    }

    void remove() {
        const std::int32_t iterator = some_iterator();
        const auto place = model.place_of(iterator);
        if (!place) return;
        REQUIRE(host.call("db_remove_i64", {slot(iterator)}).has_value());
        model.remove(*place);
    }

    void look_up() {
        const Place place{scope(), primary()};
        const std::int32_t got =
            host.i32("db_find_i64", {kCode, place.first, kTable, place.second});
        const ModelRow* row = model.find(place);
        if (row == nullptr) {
            REQUIRE(got == model.end(place.first));
            return;
        }
        REQUIRE(got == model.iterator(place));
        const std::int32_t size = host.i32("db_get_i64", {slot(got), kKey, 100});
        REQUIRE(host.hex(kKey, static_cast<std::size_t>(size)) ==
                base::to_hex(base::as_bytes(row->value)));
    }

    void bound(const std::string& name, bool upper) {
        const Place place{scope(), primary()};
        const std::int32_t got = host.i32(name, {kCode, place.first, kTable, place.second});
        if (!model.exists(place.first)) {
            REQUIRE(got == -1);
            return;
        }
        const std::int32_t end = model.end(place.first);
        for (const std::uint64_t each : model.in_order(place.first)) {
            if (each < place.second || (upper && each == place.second)) continue;
            REQUIRE(got == model.iterator({place.first, each}));
            return;
        }
        REQUIRE(got == end);
    }
};

}  // namespace host_test
