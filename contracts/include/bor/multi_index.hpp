#pragma once

#include <bor/action.hpp>
#include <bor/secondary_key.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

namespace bor {

// Says that rows are also ordered by what `Member`, a const member function of the row, returns:
// uint64_t, uint128_t, double, long double or Checksum256.
template <Name IndexName, auto Member>
struct Index {
    static constexpr Name kName = IndexName;
    template <class Row>
    static auto key_of(const Row& row) {
        return std::remove_cvref_t<decltype((row.*Member)())>((row.*Member)());
    }
};

// Rows of one scope of a contract's table, ordered by `uint64_t Row::primary_key() const` and by up
// to sixteen secondary indexes, as Antelope stores them: an index has the table's name with its
// position in the low four bits.
//
// Iterators hold a copy of their row, which stays as it was when the row changes.
// Only the contract that owns the table changes it. A payer pays for the row's RAM.
template <Name TableName, class Row, class... Indexes>
class MultiIndex {
  public:
    class Iterator {
      public:
        const Row& operator*() const { return row_; }
        const Row* operator->() const { return &row_; }
        bool operator==(const Iterator& other) const { return handle_ == other.handle_; }
        Iterator& operator++() {
            check(handle_ >= 0, "cannot increment end iterator");
            uint64_t id = 0;
            load(host::db_next_i64(handle_, &id));
            return *this;
        }
        Iterator& operator--() {
            uint64_t id = 0;
            const int32_t previous = handle_ == -1 ? -1 : host::db_previous_i64(handle_, &id);
            check(previous >= 0, "cannot decrement iterator at beginning of table");
            load(previous);
            return *this;
        }

      private:
        friend class MultiIndex;
        explicit Iterator(int32_t handle) { load(handle); }
        void load(int32_t handle) {
            handle_ = handle;
            if (handle < 0) return;
            // Most rows are small: then one call does, and nothing is allocated.
            char small[kSmallRowBytes];
            const auto read = static_cast<uint32_t>(host::db_get_i64(handle, small, sizeof(small)));
            if (read < sizeof(small)) {
                row_ = unpack<Row>(small, read);
                return;
            }
            Bytes data(static_cast<std::size_t>(host::db_get_i64(handle, nullptr, 0)));
            host::db_get_i64(handle, data.data(), data.size());
            row_ = unpack<Row>(data);
        }
        static constexpr std::size_t kSmallRowBytes = 256;
        int32_t handle_ = -1;
        Row row_{};
    };

    // The rows in the order of the Position-th secondary index (from 0).
    template <std::size_t Position>
    class View {
        using IndexType = std::tuple_element_t<Position, std::tuple<Indexes...>>;
        using Key = decltype(IndexType::key_of(std::declval<const Row&>()));
        using Access = SecondaryKey<Key>;

      public:
        class Iterator {
          public:
            const Row& operator*() const { return *primary_; }
            const Row* operator->() const { return &*primary_; }
            bool operator==(const Iterator& other) const { return handle_ == other.handle_; }
            Iterator& operator++() {
                check(handle_ >= 0, "cannot increment end iterator");
                uint64_t id = 0;
                load(Access::next(handle_, &id), id);
                return *this;
            }
            Iterator& operator--() {
                uint64_t id = 0;
                const int32_t previous = handle_ == -1 ? -1 : Access::previous(handle_, &id);
                check(previous >= 0, "cannot decrement iterator at beginning of index");
                load(previous, id);
                return *this;
            }

          private:
            friend class View;
            Iterator(const MultiIndex& table, int32_t handle, uint64_t id)
                : table_(&table), primary_(table.end()) {
                load(handle, id);
            }
            void load(int32_t handle, uint64_t id) {
                handle_ = handle;
                if (handle >= 0) primary_ = table_->find(id);
            }
            const MultiIndex* table_;
            int32_t handle_ = -1;
            typename MultiIndex::Iterator primary_;
        };

        [[nodiscard]] Iterator begin() const { return lower_bound(Access::lowest()); }
        [[nodiscard]] Iterator end() const {
            return Iterator(table_, Access::end(code(), scope(), name()), 0);
        }
        // The first row with this key.
        [[nodiscard]] Iterator find(const Key& key) const {
            uint64_t id = 0;
            const int32_t found = Access::find_secondary(code(), scope(), name(), key, &id);
            return Iterator(table_, found, id);
        }
        [[nodiscard]] Iterator lower_bound(Key key) const {
            uint64_t id = 0;
            const int32_t found = Access::lower_bound(code(), scope(), name(), key, &id);
            return Iterator(table_, found, id);
        }
        [[nodiscard]] Iterator upper_bound(Key key) const {
            uint64_t id = 0;
            const int32_t found = Access::upper_bound(code(), scope(), name(), key, &id);
            return Iterator(table_, found, id);
        }
        template <class Update>
        void modify(const Iterator& at, Name payer, Update&& update) {
            check(at.handle_ >= 0, "cannot pass end iterator to modify");
            table_.modify(at.primary_, payer, std::forward<Update>(update));
        }
        void erase(const Iterator& at) {
            check(at.handle_ >= 0, "cannot pass end iterator to erase");
            table_.erase(at.primary_);
        }

      private:
        friend class MultiIndex;
        explicit View(MultiIndex& table) : table_(table) {}
        [[nodiscard]] uint64_t code() const { return table_.code_.value; }
        [[nodiscard]] uint64_t scope() const { return table_.scope_; }
        [[nodiscard]] static uint64_t name() { return index_name(Position); }
        MultiIndex& table_;
    };

    MultiIndex(Name code, uint64_t scope) : code_(code), scope_(scope) {}

    [[nodiscard]] Iterator begin() const { return lower_bound(0); }
    [[nodiscard]] Iterator end() const {
        return Iterator(host::db_end_i64(code_.value, scope_, TableName.value));
    }
    [[nodiscard]] Iterator find(uint64_t key) const {
        return Iterator(host::db_find_i64(code_.value, scope_, TableName.value, key));
    }
    [[nodiscard]] bool contains(uint64_t key) const {
        return host::db_find_i64(code_.value, scope_, TableName.value, key) >= 0;
    }
    [[nodiscard]] bool found(const Iterator& at) const { return at.handle_ >= 0; }
    [[nodiscard]] Iterator lower_bound(uint64_t key) const {
        return Iterator(host::db_lowerbound_i64(code_.value, scope_, TableName.value, key));
    }
    [[nodiscard]] Iterator upper_bound(uint64_t key) const {
        return Iterator(host::db_upperbound_i64(code_.value, scope_, TableName.value, key));
    }
    // Fails the transaction with `message` when there is no such row.
    [[nodiscard]] Iterator get(uint64_t key, const char* message = "unable to find key") const {
        Iterator at = find(key);
        check(at.handle_ >= 0, message);
        return at;
    }
    // One more than the greatest key in use.
    [[nodiscard]] uint64_t available_primary_key() const {
        const int32_t end = host::db_end_i64(code_.value, scope_, TableName.value);
        uint64_t last = 0;
        // -1 is the end of a table that does not exist, before which there is nothing to ask for.
        if (end == -1 || host::db_previous_i64(end, &last) < 0) return 0;
        check(last < UINT64_MAX - 1, "next primary key in table is at autoincrement limit");
        return last + 1;
    }

    // Adds the row that `construct(Row&)` fills in.
    template <class Construct>
    void emplace(Name payer, Construct&& construct) {
        check(code_ == current_receiver(), "cannot create objects in table of another contract");
        Row row{};
        construct(row);
        const uint64_t id = row.primary_key();
        const Bytes data = pack(row);
        host::db_store_i64(scope_, TableName.value, payer.value, id, data.data(), data.size());
        each_index([&]<std::size_t Position, class IndexType>() {
            const auto key = IndexType::key_of(row);
            SecondaryKey<std::remove_cv_t<decltype(key)>>::store(
                scope_, index_name(Position), payer.value, id, key);
        });
    }

    // Changes the row by `update(Row&)`; kSamePayer leaves its payer.
    template <class Update>
    void modify(const Iterator& at, Name payer, Update&& update) {
        check(at.handle_ >= 0, "cannot pass end iterator to modify");
        check(code_ == current_receiver(), "cannot modify objects in table of another contract");
        Row row = at.row_;
        const uint64_t id = row.primary_key();
        update(row);
        check(id == row.primary_key(),
              "updater cannot change primary key when modifying an object");
        const Bytes data = pack(row);
        host::db_update_i64(at.handle_, payer.value, data.data(), data.size());
        each_index([&]<std::size_t Position, class IndexType>() {
            const auto key = IndexType::key_of(row);
            if (key == IndexType::key_of(at.row_)) return;
            using Access = SecondaryKey<std::remove_cv_t<decltype(key)>>;
            auto old = key;
            Access::update(Access::find_primary(code_.value, scope_, index_name(Position), old, id),
                           payer.value,
                           key);
        });
    }

    void erase(const Iterator& at) {
        check(at.handle_ >= 0, "cannot pass end iterator to erase");
        check(code_ == current_receiver(), "cannot erase objects in table of another contract");
        const uint64_t id = at.row_.primary_key();
        host::db_remove_i64(at.handle_);
        each_index([&]<std::size_t Position, class IndexType>() {
            auto key = IndexType::key_of(at.row_);
            using Access = SecondaryKey<decltype(key)>;
            const int32_t found =
                Access::find_primary(code_.value, scope_, index_name(Position), key, id);
            if (found >= 0) Access::remove(found);
        });
    }

    // The rows ordered by the index of this name.
    template <Name IndexName>
    [[nodiscard]] auto index() {
        return View<position_of<IndexName>()>(*this);
    }

  private:
    static constexpr uint64_t index_name(std::size_t position) {
        return (TableName.value & ~uint64_t{15}) | position;
    }
    template <Name IndexName>
    static constexpr std::size_t position_of() {
        constexpr std::array<Name, sizeof...(Indexes)> kNames = {Indexes::kName...};
        std::size_t position = 0;
        while (kNames[position] != IndexName)
            ++position;
        return position;
    }
    template <class Visit>
    static void each_index(Visit&& visit) {
        [&]<std::size_t... Position>(std::index_sequence<Position...>) {
            (visit.template operator()<Position, Indexes>(), ...);
        }(std::index_sequence_for<Indexes...>());
    }

    Name code_;
    uint64_t scope_;
};

}  // namespace bor
