#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace base {

// First in, first out. It keeps its memory, which a std::deque gives back: a queue that is always
// in use allocates nothing.
template <class T>
class Queue {
  public:
    [[nodiscard]] bool empty() const { return first_ == items_.size(); }
    [[nodiscard]] std::size_t size() const { return items_.size() - first_; }
    // The oldest; there is one. Until the next push() or take().
    [[nodiscard]] const T& front() const { return items_[first_]; }

    void push(T item) { items_.push_back(std::move(item)); }
    // Removes the oldest; there is one.
    T take() {
        T oldest = std::move(items_[first_]);
        ++first_;
        if (empty()) {
            clear();
        } else if (first_ > items_.size() / 2 + kSlack) {
            items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
            first_ = 0;
        }
        return oldest;
    }
    void clear() {
        items_.clear();
        first_ = 0;
    }

  private:
    static constexpr std::size_t kSlack = 16;

    std::vector<T> items_;  // Those before `first_` were taken.
    std::size_t first_ = 0;
};

}  // namespace base
