#include "chain/abi/traversal.hpp"

#include <fmt/format.h>

#include <utility>

namespace chain::abi {

bool Traversal::enter() {
    if (++depth_ >= kDepthMax) {
        fail(Exception::abi_recursion_depth_exception,
             fmt::format("recursive definition, max_recursion_depth {} ", kDepthMax));
    }
    return ok_;
}

bool Traversal::spend(std::size_t amount) {
    if (amount > budget_) {
        fail(Exception::abi_serialization_deadline_exception,
             "the value takes more work than an ABI translation may cost");
        return false;
    }
    budget_ -= amount;
    return ok_;
}

std::string Traversal::path() const {
    std::string text(root_);
    for (const Item& item : path_) {
        switch (item.part) {
            case Part::field:
                text += fmt::format(".{}", item.text);
                break;
            case Part::index:
                text += fmt::format("[{}]", item.index);
                break;
            case Part::variant:
                text += fmt::format(".<variant({})={}>", item.index, item.text);
                break;
        }
    }
    return text;
}

void Traversal::fail(Exception exception, std::string detail) {
    fail(make_error(exception, std::move(detail)));
}

void Traversal::fail(base::Error error) {
    if (!ok_) return;
    ok_ = false;
    error_ = std::move(error);
}

}  // namespace chain::abi
