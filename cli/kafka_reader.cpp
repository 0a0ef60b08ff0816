#include "cli/kafka_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace cli {

namespace {

using std::chrono::milliseconds;

tl::unexpected<KafkaError> fail(rd_kafka_resp_err_t code, std::string reason) {
    return tl::unexpected(KafkaError{code, std::move(reason)});
}

// What the library goes on after by itself.
bool is_passing(rd_kafka_resp_err_t code) {
    constexpr std::array kCodes = {RD_KAFKA_RESP_ERR__TRANSPORT,
                                   RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
                                   RD_KAFKA_RESP_ERR__TIMED_OUT,
                                   RD_KAFKA_RESP_ERR__RESOLVE,
                                   RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
                                   RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
                                   RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
                                   RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
                                   RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
                                   RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE,
                                   RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED};
    return std::ranges::find(kCodes, code) != kCodes.end();
}

}  // namespace

KafkaReader::KafkaReader(std::unique_ptr<KafkaClient> client, std::string topic, bool is_member)
    : client_(std::move(client)), name_(std::move(topic)), is_member_(is_member) {}

KafkaReader::~KafkaReader() {
    for (const std::int32_t partition : partitions_)
        (void)rd_kafka_consume_stop(topic_.get(), partition);
    if (is_member_) (void)rd_kafka_consumer_close(client_->get());
}

KafkaResult<std::unique_ptr<KafkaReader>> KafkaReader::of_partitions(const KafkaSettings& settings,
                                                                     const std::string& topic,
                                                                     const From& from) {
    auto client = KafkaClient::make(KafkaClient::Role::reader,
                                    settings,
                                    {{"enable.partition.eof", "true"}, {"check.crcs", "true"}});
    if (!client) return tl::unexpected(std::move(client.error()));
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
    std::unique_ptr<KafkaReader> reader(new KafkaReader(*std::move(client), topic, false));
    if (auto started = reader->start(from); !started) {
        return tl::unexpected(std::move(started.error()));
    }
    return reader;
}

KafkaResult<void> KafkaReader::start(const From& from) {
    const auto known = client_->partitions(name_);
    if (!known) return tl::unexpected(known.error());
    for (const std::int32_t partition : from.partitions) {
        if (std::ranges::find(*known, partition) == known->end()) {
            return fail(
                RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
                fmt::format("the topic '{}' has {} partitions, from 0 on, and no partition {}",
                            name_,
                            known->size(),
                            partition));
        }
    }
    topic_.reset(rd_kafka_topic_new(client_->get(), name_.c_str(), nullptr));
    queue_.reset(rd_kafka_queue_new(client_->get()));
    for (const std::int32_t partition : from.partitions.empty() ? *known : from.partitions) {
        if (!partitions_.insert(partition).second) continue;
        if (rd_kafka_consume_start_queue(topic_.get(), partition, from.offset, queue_.get()) != 0) {
            partitions_.erase(partition);
            return tl::unexpected(client_->error_of(rd_kafka_last_error()));
        }
    }
    return {};
}

KafkaResult<std::unique_ptr<KafkaReader>> KafkaReader::of_group(const KafkaSettings& settings,
                                                                const std::string& topic,
                                                                const std::string& group) {
    auto client = KafkaClient::make(KafkaClient::Role::group_member,
                                    settings,
                                    {{"group.id", group},
                                     {"auto.offset.reset", "earliest"},
                                     {"enable.auto.offset.store", "false"},
                                     {"enable.partition.eof", "true"},
                                     {"check.crcs", "true"}});
    if (!client) return tl::unexpected(std::move(client.error()));
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
    std::unique_ptr<KafkaReader> reader(new KafkaReader(*std::move(client), topic, true));
    if (auto joined = reader->join(); !joined) return tl::unexpected(std::move(joined.error()));
    return reader;
}

KafkaResult<void> KafkaReader::join() {
    if (const auto known = client_->partitions(name_); !known) {
        return tl::unexpected(known.error());
    }
    (void)rd_kafka_poll_set_consumer(client_->get());
    const KafkaPlaces topics(rd_kafka_topic_partition_list_new(1));
    (void)rd_kafka_topic_partition_list_add(topics.get(), name_.c_str(), RD_KAFKA_PARTITION_UA);
    const auto code = rd_kafka_subscribe(client_->get(), topics.get());
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return tl::unexpected(client_->error_of(code));
    return {};
}

KafkaResult<KafkaMessage> KafkaReader::next(milliseconds wait) {
    const int time = static_cast<int>(wait.count());
    KafkaMessage message(is_member_ ? rd_kafka_consumer_poll(client_->get(), time)
                                    : rd_kafka_consume_queue(queue_.get(), time));
    const auto served = is_member_ ? client_->check() : client_->serve(milliseconds(0));
    if (!served) return tl::unexpected(served.error());
    if (message == nullptr || passes(*message)) return message;
    if (is_passing(message->err) || message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        return KafkaMessage();
    }
    return tl::unexpected(client_->error_of(message->err, rd_kafka_message_errstr(message.get())));
}

// A record; the end of a partition is remembered.
bool KafkaReader::passes(const rd_kafka_message_t& message) {
    if (message.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) ended_.insert(message.partition);
    if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) ended_.erase(message.partition);
    return message.err == RD_KAFKA_RESP_ERR_NO_ERROR;
}

bool KafkaReader::is_at_end() const {
    if (!is_member_) return std::ranges::includes(ended_, partitions_);
    return client_->assigned() && std::ranges::includes(ended_, *client_->assigned());
}

void KafkaReader::done_with(const rd_kafka_message_t& message) {
    if (!is_member_) return;
    const KafkaPlaces places(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(places.get(), name_.c_str(), message.partition)->offset =
        message.offset + 1;
    // A partition that was taken away meanwhile is another member's now.
    (void)rd_kafka_offsets_store(client_->get(), places.get());
}

KafkaResult<void> KafkaReader::commit() {
    if (!is_member_) return {};
    const auto code = rd_kafka_commit(client_->get(), nullptr, 0);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR__NO_OFFSET) return {};
    return tl::unexpected(client_->error_of(code));
}

}  // namespace cli
