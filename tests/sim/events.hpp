#pragma once

#include "base/time.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace sim {

// What will happen, in order of virtual time; at one time in the order in which it was added.
template <class Event>
class EventQueue {
  public:
    void add(base::Timestamp at, Event event) {
        heap_.push_back({at, next_++, std::move(event)});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    [[nodiscard]] bool empty() const { return heap_.empty(); }
    [[nodiscard]] base::Timestamp next_at() const { return heap_.front().at; }
    Event take() {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        Event event = std::move(heap_.back().event);
        heap_.pop_back();
        return event;
    }

  private:
    struct Entry {
        base::Timestamp at;
        std::uint64_t number = 0;
        Event event;
    };
    static bool later(const Entry& a, const Entry& b) {
        return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
    std::vector<Entry> heap_;
    std::uint64_t next_ = 0;
};

}  // namespace sim
