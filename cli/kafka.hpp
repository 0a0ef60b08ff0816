#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

// librdkafka with owners: how `bps produce`, `consume`, `groups` and `lag` speak to brokers.
//
// Thread: one. The library's own threads do the network and call nothing of ours: tokens, errors
// and deliveries wait until serve() or next() is called, so whoever waits calls these.
namespace cli {

// Destroys what a C library made.
template <auto destroy>
struct DestroyBy {
    template <class T>
    void operator()(T* object) const {
        destroy(object);
    }
};
template <class T, auto destroy>
using Owner = std::unique_ptr<T, DestroyBy<destroy>>;

using KafkaQueue = Owner<rd_kafka_queue_t, rd_kafka_queue_destroy>;
using KafkaEvent = Owner<rd_kafka_event_t, rd_kafka_event_destroy>;
using KafkaMessage = Owner<rd_kafka_message_t, rd_kafka_message_destroy>;
using KafkaTopic = Owner<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using KafkaPlaces = Owner<rd_kafka_topic_partition_list_t, rd_kafka_topic_partition_list_destroy>;

struct KafkaError {
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    std::string reason;
};
template <class T>
using KafkaResult = tl::expected<T, KafkaError>;

struct KafkaToken {
    std::string text;
    std::string principal;
    std::int64_t expires_ms = 0;  // Since 1970.
};

struct KafkaSettings {
    std::string brokers;  // "HOST:PORT,HOST:PORT"
    bool is_tls = false;
    std::string ca_file;  // Who may have signed the broker's certificate; else the system's.
    std::string certificate_file;  // Of the client, with its key.
    std::string key_file;
    // A new token, whenever one is due; none: no login.
    std::function<base::Result<KafkaToken>()> make_token;
    std::chrono::milliseconds patience{10'000};  // With one request.
};

// A client of the brokers: what producing, reading and asking have in common.
class KafkaClient : base::Pinned {
  public:
    enum class Role : std::uint8_t { producer, reader, group_member };
    using Property = std::pair<std::string, std::string>;
    using Delivered = std::function<void(const rd_kafka_message_t& message)>;

    // Nothing is sent yet. Fails where a setting is wrong, or no token can be made.
    [[nodiscard]] static KafkaResult<std::unique_ptr<KafkaClient>> make(
        Role role,
        KafkaSettings settings,
        const std::vector<Property>& properties = {},
        Delivered delivered = nullptr);
    virtual ~KafkaClient();

    [[nodiscard]] rd_kafka_t* get() const { return handle_.get(); }
    [[nodiscard]] std::chrono::milliseconds patience() const { return settings_.patience; }

    // Takes what came, waits for it at most that long. Fails once and for all where a login is
    // refused, or the library gives up. Not for a member of a group, which calls check() instead.
    [[nodiscard]] KafkaResult<void> serve(std::chrono::milliseconds wait);
    [[nodiscard]] KafkaResult<void> check() const;
    // What the network said last, until take_trouble().
    [[nodiscard]] std::optional<KafkaError> take_trouble() { return std::exchange(trouble_, {}); }
    // Of a code that says less than what the network said last.
    [[nodiscard]] KafkaError error_of(rd_kafka_resp_err_t code, const char* text = nullptr) const;

    // The numbers of a topic's partitions: the first request of each command, so it finds out
    // whether a broker answers at all.
    [[nodiscard]] KafkaResult<std::vector<std::int32_t>> partitions(const std::string& topic);
    // The first offset of a partition and the one after the last.
    [[nodiscard]] KafkaResult<std::pair<std::int64_t, std::int64_t>> range(const std::string& topic,
                                                                           std::int32_t partition);
    // The answer to an administrator's request, which `ask` sends to the queue.
    [[nodiscard]] KafkaResult<KafkaEvent> ask(
        rd_kafka_admin_op_t operation,
        const std::function<void(const rd_kafka_AdminOptions_t*, rd_kafka_queue_t*)>& send);

    // Of a member: the partitions that it has; nothing: the group has not given it any yet.
    [[nodiscard]] const std::optional<std::set<std::int32_t>>& assigned() const {
        return assigned_;
    }

  private:
    KafkaClient(KafkaSettings settings, Delivered delivered)
        : settings_(std::move(settings)), delivered_(std::move(delivered)) {}

    [[nodiscard]] KafkaResult<void> open(Role role, const std::vector<Property>& properties);
    [[nodiscard]] std::vector<Property> security() const;
    [[nodiscard]] KafkaResult<void> renew_token();
    [[nodiscard]] KafkaResult<const rd_kafka_metadata_t*> metadata(rd_kafka_topic_t* topic);
    static void on_error(rd_kafka_t* handle, int code, const char* reason, void* self);
    static void on_token_due(rd_kafka_t* handle, const char* config, void* self);
    static void on_delivered(rd_kafka_t* handle, const rd_kafka_message_t* message, void* self);
    static void on_rebalance(rd_kafka_t* handle,
                             rd_kafka_resp_err_t code,
                             rd_kafka_topic_partition_list_t* partitions,
                             void* self);

    const KafkaSettings settings_;
    const Delivered delivered_;
    std::optional<KafkaError> trouble_;  // What the network said last,
    std::optional<KafkaError> fatal_;    // and what does not pass by itself.
    bool is_cut_off_ = false;            // No broker answers.
    std::int64_t token_fresh_until_ms_ = 0;
    std::optional<std::set<std::int32_t>> assigned_;
    Owner<rd_kafka_t, rd_kafka_destroy> handle_;  // Last: its end still calls back.
};

}  // namespace cli
