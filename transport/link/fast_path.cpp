#include "transport/link/fast_path.hpp"

#include "base/check.hpp"

namespace transport::link {

void FastPath::land(std::span<const Part> /*parts*/) {
    CHECK(has_landings());
}

base::Result<void> FastPath::take_landing(const Landing& /*landing*/,
                                          std::span<std::byte> /*out*/) {
    return base::fail(base::Errc::invalid, "the peer names a landing, and this path has none");
}

}  // namespace transport::link
