#include "node/bps/core/topic_name.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bps {

Verdict<void> check_topic_name(std::string_view name) {
    if (name.empty() || name == "." || name == ".." || name.size() > kTopicNameBytesMax) {
        return refuse(ErrorCode::invalid_topic_exception,
                      fmt::format("the name of a topic has 1 to {} bytes and is neither . nor ..; "
                                  "this one has {} bytes",
                                  kTopicNameBytesMax,
                                  name.size()));
    }
    if (!std::ranges::all_of(name, is_topic_letter)) {
        return refuse(ErrorCode::invalid_topic_exception,
                      "the name of a topic has only a-z A-Z 0-9 . _ - in it: choose another one");
    }
    return {};
}

}  // namespace bps
