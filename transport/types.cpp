#include "transport/types.hpp"

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
    switch (reason) {
        case CloseReason::local:
            return "local";
        case CloseReason::peer:
            return "peer";
        case CloseReason::lost:
            return "lost";
        case CloseReason::timed_out:
            return "timed_out";
        case CloseReason::refused:
            return "refused";
        case CloseReason::violation:
            return "violation";
        case CloseReason::limit:
            return "limit";
    }
    return "unknown";
}

}  // namespace transport
