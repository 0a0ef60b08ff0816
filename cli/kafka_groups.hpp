#pragma once

#include "cli/kafka.hpp"

#include <cstdint>
#include <string>
#include <vector>

// What may be asked of the coordinators of groups. Thread: that of the client.
namespace cli {

struct KafkaOffset {
    std::string topic;
    std::int32_t partition = 0;
    std::int64_t offset = 0;  // Negative: none is kept.
};

struct KafkaGroup {
    std::string name;
    std::string state;
};

struct KafkaMember {
    std::string id;
    std::string client;
    std::string host;
    std::vector<KafkaOffset> partitions;  // That it has; without offsets.
};

struct KafkaGroupDetails {
    std::string state;  // "Dead": there is none.
    std::string assignor;
    std::int32_t coordinator = -1;
    std::vector<KafkaMember> members;
};

// Those that the caller may see.
[[nodiscard]] KafkaResult<std::vector<KafkaGroup>> list_groups(KafkaClient& client);
[[nodiscard]] KafkaResult<KafkaGroupDetails> describe_group(KafkaClient& client,
                                                            const std::string& group);
// What a group keeps, by topic and partition.
[[nodiscard]] KafkaResult<std::vector<KafkaOffset>> kept_offsets(KafkaClient& client,
                                                                 const std::string& group);
// Of a group without members.
[[nodiscard]] KafkaResult<void> keep_offsets(KafkaClient& client,
                                             const std::string& group,
                                             const std::vector<KafkaOffset>& offsets);
[[nodiscard]] KafkaResult<void> delete_group(KafkaClient& client, const std::string& group);

}  // namespace cli
