#pragma once

#include "node/bps/core/refusal.hpp"

#include <cstddef>
#include <string_view>

// What names of topics and groups look like, as Kafka has it and the contract, too.
namespace bps {

inline constexpr std::size_t kTopicNameBytesMax = 249;

[[nodiscard]] constexpr bool is_topic_letter(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' || letter == '-';
}

// invalid_topic_exception: it has not Kafka's form, or not the length.
[[nodiscard]] Verdict<void> check_topic_name(std::string_view name);

}  // namespace bps
