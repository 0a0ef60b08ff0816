#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

namespace sim {

// What a pure function said lately, of arguments and of results that are nothing but bytes.
//
// Exact: a result is given for equal arguments only. Bounded: each place is of the last arguments
// that fell there.
template <class Key, class Value>
class Memo {
    static_assert(std::has_unique_object_representations_v<Key>);

  public:
    explicit Memo(std::size_t places) : entries_(places) {}

    // `place`: any number, the same for the same key; `make` is asked for what is not known.
    template <class Make>
    const Value& get(const Key& key, std::size_t place, const Make& make) {
        Entry& entry = entries_[place % entries_.size()];
        if (entry.is_used && std::memcmp(&entry.key, &key, sizeof key) == 0) return entry.value;
        entry.is_used = false;
        entry.value = make();
        entry.key = key;
        entry.is_used = true;
        return entry.value;
    }

  private:
    struct Entry {
        Key key{};
        Value value{};
        bool is_used = false;
    };
    std::vector<Entry> entries_;
};

}  // namespace sim
