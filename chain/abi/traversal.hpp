#pragma once

#include "base/result.hpp"
#include "chain/types/exception.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chain::abi {

inline constexpr std::size_t kDepthMax = 32;  // As nodeos.

// Where a translation is and what it may still cost. The first error sticks.
class Traversal {
  public:
    // Names the type at the root of the path as nodeos does.
    Traversal(std::string_view root, std::size_t budget) : root_(root), budget_(budget) {}

    // One more level; false (and an error) at the 32nd. Each enter() needs a leave().
    bool enter();
    void leave() { --depth_; }
    // Pays for work or for memory; false (and an error) when the budget is spent.
    bool spend(std::size_t amount);

    void push_field(std::string_view name) { path_.push_back({name, 0, Part::field}); }
    void push_variant(std::string_view type, std::uint32_t index) {
        path_.push_back({type, index, Part::variant});
    }
    void push_index() { path_.push_back({{}, 0, Part::index}); }
    void set_index(std::size_t index) { path_.back().index = index; }
    void pop() { path_.pop_back(); }
    // "derived.e[0].<variant(1)=name[]>".
    [[nodiscard]] std::string path() const;

    void fail(Exception exception, std::string detail);
    void fail(base::Error error);
    [[nodiscard]] bool ok() const { return ok_; }
    [[nodiscard]] base::Error take_error() { return std::move(error_); }

  private:
    enum class Part : std::uint8_t { field, index, variant };
    struct Item {
        std::string_view text;
        std::size_t index;
        Part part;
    };

    std::string_view root_;
    std::size_t budget_;
    std::size_t depth_ = 0;
    std::vector<Item> path_;
    bool ok_ = true;
    base::Error error_{base::Errc::malformed, {}};
};

}  // namespace chain::abi
