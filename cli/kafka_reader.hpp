#pragma once

#include "cli/kafka.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace cli {

// Reads records of one topic: of given partitions from an offset on, or as a member of a group,
// which keeps how far it is. Thread: that of the client.
class KafkaReader : base::Pinned {
  public:
    static constexpr std::int64_t kBeginning = RD_KAFKA_OFFSET_BEGINNING;
    static constexpr std::int64_t kEnd = RD_KAFKA_OFFSET_END;

    // Nothing in `partitions`: all there are.
    struct From {
        std::vector<std::int32_t> partitions{};
        std::int64_t offset = kBeginning;
    };

    [[nodiscard]] static KafkaResult<std::unique_ptr<KafkaReader>> of_partitions(
        const KafkaSettings& settings, const std::string& topic, const From& from);
    [[nodiscard]] static KafkaResult<std::unique_ptr<KafkaReader>> of_group(
        const KafkaSettings& settings, const std::string& topic, const std::string& group);
    ~KafkaReader();

    // The next record; null: none came within that time. Fails where waiting does not help.
    [[nodiscard]] KafkaResult<KafkaMessage> next(std::chrono::milliseconds wait);
    // Whether each partition that it reads was read to the end that it had then. A member reads
    // those that the group gave it.
    [[nodiscard]] bool is_at_end() const;
    // Of a group: what came before `message` and itself are done. Kept by commit(), and now and
    // then.
    void done_with(const rd_kafka_message_t& message);
    [[nodiscard]] KafkaResult<void> commit();

    [[nodiscard]] KafkaClient& client() { return *client_; }

  private:
    KafkaReader(std::unique_ptr<KafkaClient> client, std::string topic, bool is_member);

    [[nodiscard]] KafkaResult<void> start(const From& from);
    [[nodiscard]] KafkaResult<void> join();
    [[nodiscard]] bool passes(const rd_kafka_message_t& message);

    const std::unique_ptr<KafkaClient> client_;
    const std::string name_;
    const bool is_member_;
    KafkaTopic topic_;
    KafkaQueue queue_;
    std::set<std::int32_t> partitions_;  // That it reads, outside of groups.
    std::set<std::int32_t> ended_;
};

}  // namespace cli
