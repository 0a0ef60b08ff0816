#pragma once

#include "node/bps/core/refusal.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

namespace bps {

inline constexpr std::size_t kRequestItemsMax = 1'000;

// What a request of administration names. Kafka refuses an item each time it is named if that is
// more than once: nobody knows which is meant. And a request costs what it names: too many are
// refused, all of them.
template <class Name>
class RequestItems {
  public:
    // `name_of` says what an item names. The items outlive this. `most`: so many are not too many.
    template <class List, class NameOf>
    RequestItems(const List& items, NameOf name_of, std::size_t most = kRequestItemsMax)
        : count_(items.size()), most_(most) {
        std::set<Name> seen;
        for (const auto& item : items) {
            const Name name = name_of(item);
            if (!seen.insert(name).second) repeated_.insert(name);
        }
    }
    // invalid_request: it is named more than once, or too much is named.
    [[nodiscard]] Verdict<void> check(const Name& name) const {
        if (count_ > most_) {
            return refuse(
                ErrorCode::invalid_request,
                fmt::format("the request names {} things: name at most {}", count_, most_));
        }
        if (!repeated_.contains(name)) return {};
        return refuse(ErrorCode::invalid_request,
                      "the request names it more than once: name it once");
    }

  private:
    std::size_t count_;
    std::size_t most_;
    std::set<Name> repeated_;
};
template <class List, class NameOf>
RequestItems(const List&, NameOf, std::size_t = 0)
    -> RequestItems<std::invoke_result_t<NameOf, const typename List::value_type&>>;

// The partitions that a request of data names: each once, and not too many, since it costs what it
// names.
class PartitionsNamed {
  public:
    static constexpr std::size_t kMax = 10'000;

    // False: it was named before, or is one too many. The name outlives this.
    [[nodiscard]] bool take(std::string_view topic, std::int32_t partition) {
        return seen_.size() < kMax && seen_.emplace(topic, partition).second;
    }

  private:
    std::set<std::pair<std::string_view, std::int32_t>> seen_;
};

}  // namespace bps
