#include "node/final_permissions.hpp"

#include <algorithm>

namespace node {

namespace {

// What the largest authorities of a few levels take; one that is larger satisfies nobody here.
constexpr std::uint64_t kUnits = 10'000'000;

}  // namespace

std::uint32_t FinalPermissions::height() const {
    return runtime_.published()->finalized->header.height;
}

bool FinalPermissions::satisfies(chain::Name account,
                                 chain::Name permission,
                                 const std::vector<base::crypto::PublicKey>& keys) const {
    const auto view = runtime_.published();
    chain::Provided provided{.keys = keys, .permissions = {}, .delay_seconds = 0};
    std::ranges::sort(provided.keys);
    chain::vm::Meter meter(kUnits);
    const chain::AuthoritySource source{
        .state = *view->final_state, .cache = cache_, .meter = meter};
    chain::AuthorityChecker checker(source, provided);
    return checker.satisfied({account, permission});
}

}  // namespace node
