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
        std::size_t place = events_.size();
        if (free_.empty()) {
            events_.push_back(std::move(event));
        } else {
            place = free_.back();
            free_.pop_back();
            events_[place] = std::move(event);
        }
        heap_.push_back({at, next_++, place});
        std::push_heap(heap_.begin(), heap_.end(), Later());
    }
    [[nodiscard]] bool empty() const { return heap_.empty(); }
    [[nodiscard]] base::Timestamp next_at() const { return heap_.front().at; }
    Event take() {
        std::pop_heap(heap_.begin(), heap_.end(), Later());
        const std::size_t place = heap_.back().place;
        heap_.pop_back();
        free_.push_back(place);
        return std::move(events_[place]);
    }

  private:
    struct Entry {
        base::Timestamp at;
        std::uint64_t number = 0;
        std::size_t place = 0;  // In events_: what is sorted is small.
    };
    struct Later {  // A type: a pointer to a function would be called for each comparison.
        bool operator()(const Entry& a, const Entry& b) const {
            return a.at != b.at ? a.at > b.at : a.number > b.number;
        }
    };
    std::vector<Entry> heap_;
    std::vector<Event> events_;
    std::vector<std::size_t> free_;
    std::uint64_t next_ = 0;
};

}  // namespace sim
