#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace bps {

// What is due when. Ids that are due at one time come ascending.
template <class Id>
class Deadlines {
  public:
    void add(std::int64_t at, const Id& id) { due_.emplace(at, id); }
    void remove(std::int64_t at, const Id& id) { due_.erase({at, id}); }
    [[nodiscard]] std::optional<std::int64_t> first() const {
        return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
    }
    // Takes out all that are due.
    [[nodiscard]] std::vector<Id> take(std::int64_t now) {
        std::vector<Id> ids;
        while (!due_.empty() && due_.begin()->first <= now) {
            ids.push_back(due_.begin()->second);
            due_.erase(due_.begin());
        }
        return ids;
    }

  private:
    std::set<std::pair<std::int64_t, Id>> due_;
};

}  // namespace bps
