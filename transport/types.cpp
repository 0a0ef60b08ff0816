#include "transport/types.hpp"

#include <array>

namespace transport {

std::string_view to_string(Kind kind) {
    switch (kind) {
        case Kind::tcp:
            return "tcp";
        case Kind::rdma:
            return "rdma";
        case Kind::ntb:
            return "ntb";
        case Kind::shm:
            return "shm";
        case Kind::sim:
            return "sim";
    }
    return "unknown";
}

std::string_view to_string(CloseReason reason) {
    static constexpr std::array<std::string_view, 7> kNames{
        "local", "peer", "lost", "timed_out", "refused", "violation", "limit"};
    return kNames.at(static_cast<std::size_t>(reason));
}

}  // namespace transport
