// Records for the broker from a shell: one for each line of standard input.
#include "cli/bps_client.hpp"
#include "cli/interrupts.hpp"
#include "cli/lines.hpp"
#include "cli/output.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace cli {

namespace {

using base::fail;
using std::chrono::milliseconds;

constexpr std::size_t kLineBytesMax = std::size_t{1} << 20;
constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr milliseconds kSlice{100};

// What became of the records.
struct Outcome {
    std::uint64_t acknowledged = 0;
    std::uint64_t failed = 0;
    std::optional<KafkaError> first;  // Why the first of these failed.

    void add(const KafkaError& error) {
        ++failed;
        if (!first) first = error;
    }
};

struct Target {
    KafkaClient& client;
    rd_kafka_topic_t* topic;
    std::int32_t partition;
    std::string separator;
    Outcome& outcome;
};

// Hands a record over; waits where too many are on their way.
KafkaResult<void> send_record(const Target& target, KeyedLine& record) {
    while (rd_kafka_produce(target.topic,
                            target.partition,
                            RD_KAFKA_MSG_F_COPY,
                            record.value.data(),
                            record.value.size(),
                            record.key ? record.key->data() : nullptr,
                            record.key ? record.key->size() : 0,
                            nullptr) != 0) {
        const auto code = rd_kafka_last_error();
        if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            return tl::unexpected(target.client.error_of(code));
        }
        if (auto served = target.client.serve(kSlice); !served) return served;
    }
    return {};
}

// All whole lines. False: a record could not be sent, so that none after it is.
base::Result<bool> send_lines(const Target& target, Lines& lines) {
    while (true) {
        auto line = lines.next();
        if (!line) return fail(line.error());
        if (!*line) return true;
        auto record = keyed_line(std::move(**line), target.separator, lines.number());
        if (!record) return fail(record.error());
        if (auto sent = send_record(target, *record); !sent) {
            target.outcome.add(sent.error());
            return false;
        }
    }
}

// Until standard input ends, somebody interrupts, or a record cannot be sent.
base::Result<void> send_input(const Target& target, Interrupts& interrupts) {
    Lines lines(kLineBytesMax);
    std::array<char, kReadBytes> bytes{};
    while (!interrupts.came() && target.client.serve(milliseconds(0))) {
        std::array<pollfd, 2> waits{pollfd{STDIN_FILENO, POLLIN, 0},
                                    pollfd{interrupts.descriptor(), POLLIN, 0}};
        (void)::poll(waits.data(), waits.size(), static_cast<int>(kSlice.count()));
        if (waits[0].revents == 0) continue;
        const ssize_t size = ::read(STDIN_FILENO, bytes.data(), bytes.size());
        if (size > 0) lines.add({bytes.data(), static_cast<std::size_t>(size)});
        if (size <= 0) lines.end();
        const auto sent = send_lines(target, lines);
        if (!sent) return fail(sent.error());
        if (!*sent || size <= 0) break;
    }
    return {};
}

// Each record is acknowledged, or fails within the library's patience.
void await_all(const Target& target) {
    bool is_given_up = false;
    while (rd_kafka_outq_len(target.client.get()) > 0) {
        if (target.client.serve(kSlice) || is_given_up) continue;
        is_given_up = true;
        (void)rd_kafka_purge(target.client.get(),
                             RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    }
}

base::Result<void> tell(const Session& session,
                        const Arguments& arguments,
                        const Outcome& outcome) {
    if (session.json) {
        (void)print_json({{"acknowledged", outcome.acknowledged}, {"failed", outcome.failed}});
    } else {
        fmt::print("records acknowledged by all replicas in sync: {}\n", outcome.acknowledged);
    }
    if (outcome.failed == 0) return {};
    const AskedOf asked{.topic = arguments.at("topic"), .right = "produce"};
    const KafkaError why = outcome.first.value_or(KafkaError{});
    const base::Error error = explained(session, arguments, why, asked);
    return fail(error.code,
                fmt::format("{} of {} records were not acknowledged: {}",
                            outcome.failed,
                            outcome.failed + outcome.acknowledged,
                            error.detail));
}

std::vector<KafkaClient::Property> properties_of(const KafkaSettings& settings) {
    return {{"acks", "all"},
            {"enable.idempotence", "true"},  // Sent again after a lost answer, it is written once.
            {"partitioner", "murmur2_random"},  // As other clients: a key is in one partition.
            {"message.timeout.ms", std::to_string(settings.patience.count())}};
}

base::Result<void> produce(const Session& session, const Arguments& arguments) {
    const auto partition = arguments.number("partition", 0, 0, INT32_MAX);
    if (!partition) return fail(partition.error());
    auto settings = client_settings(session, arguments);
    if (!settings) return fail(settings.error());
    const AskedOf asked{.topic = arguments.at("topic"), .right = "produce"};
    Interrupts interrupts;
    Outcome outcome;
    const auto client =
        KafkaClient::make(KafkaClient::Role::producer,
                          *settings,
                          properties_of(*settings),
                          [&](const rd_kafka_message_t& message) {
                              if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
                                  ++outcome.acknowledged;
                              } else {
                                  outcome.add({message.err, rd_kafka_err2str(message.err)});
                              }
                          });
    if (!client) return fail(explained(session, arguments, client.error(), asked));
    if (const auto known = (*client)->partitions(asked.topic); !known) {
        return fail(explained(session, arguments, known.error(), asked));
    }
    const KafkaTopic topic(rd_kafka_topic_new((*client)->get(), asked.topic.c_str(), nullptr));
    const Target target{.client = **client,
                        .topic = topic.get(),
                        .partition = arguments.has("partition")
                                         ? static_cast<std::int32_t>(*partition)
                                         : RD_KAFKA_PARTITION_UA,
                        .separator = arguments.get("key-separator"),
                        .outcome = outcome};
    const auto read = send_input(target, interrupts);
    await_all(target);
    // What the network said of the last record says more than that its time was over.
    if (outcome.first) *outcome.first = (*client)->error_of(outcome.first->code);
    auto told = tell(session, arguments, outcome);
    return told && !read ? fail(read.error()) : told;
}

}  // namespace

void add_bps_produce_command(std::vector<Command>& commands) {
    commands.push_back(
        {"bps produce",
         "Write a record for each line of standard input; done when all replicas in sync have them",
         {{"topic", "its name"}},
         with_client_options(
             {{"key-separator", 0, "TEXT", "what is before it in a line is the record's key"},
              {"partition", 0, "NUMBER", "write to this one (default: by the key, or any)"}}),
         produce});
}

}  // namespace cli
