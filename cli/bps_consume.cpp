// Records of the broker in a shell: printed as they come.
#include "cli/bps_client.hpp"
#include "cli/interrupts.hpp"
#include "cli/kafka_reader.hpp"
#include "cli/output.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace cli {

namespace {

using base::Errc;
using base::fail;
using std::chrono::milliseconds;

constexpr milliseconds kSlice{100};
constexpr std::uint64_t kFlushEvery = 1'000;  // While records come without a pause.

std::string_view bytes_of(const void* data, std::size_t size) {
    return data == nullptr ? std::string_view()
                           : std::string_view(static_cast<const char*>(data), size);
}

// A text, if it is one; else, as NAME_hex, its bytes.
void add_bytes(Json& json, const std::string& name, const void* data, std::size_t size) {
    const std::string text(bytes_of(data, size));
    if (data == nullptr) {
        json[name] = nullptr;
    } else if (chain::abi::parse_json(chain::abi::dump_json(Json(text))).value_or(Json()) == text) {
        json[name] = text;
    } else {
        json[name + "_hex"] = base::to_hex(base::as_bytes(text));
    }
}

Json headers_of(const rd_kafka_message_t& message) {
    Json list = Json::array();
    rd_kafka_headers_t* headers = nullptr;
    if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return list;
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i) {
        Json header = {{"name", name}};
        add_bytes(header, "value", value, size);
        list.push_back(std::move(header));
    }
    return list;
}

// One line, so that other programs can take it line by line.
void print_as_json(const rd_kafka_message_t& message) {
    Json json = {{"partition", message.partition},
                 {"offset", message.offset},
                 {"timestamp", rd_kafka_message_timestamp(&message, nullptr)}};
    add_bytes(json, "key", message.key, message.key_len);
    add_bytes(json, "value", message.payload, message.len);
    json["headers"] = headers_of(message);
    fmt::print("{}\n", chain::abi::dump_json(json));
}

void print_bytes(std::string_view bytes) {
    (void)std::fwrite(bytes.data(), 1, bytes.size(), stdout);
}

void print_as_line(const rd_kafka_message_t& message, const Arguments& arguments) {
    if (arguments.has("key-separator")) {
        print_bytes(bytes_of(message.key, message.key_len));
        print_bytes(arguments.get("key-separator"));
    }
    print_bytes(bytes_of(message.payload, message.len));
    print_bytes("\n");
}

// Prints records, and says that they are done once they are out.
class Printer {
  public:
    Printer(const Session& session, const Arguments& arguments, KafkaReader& reader)
        : session_(session), arguments_(arguments), reader_(reader) {}

    void print(KafkaMessage message) {
        if (session_.json) {
            print_as_json(*message);
        } else {
            print_as_line(*message, arguments_);
        }
        ++count_;
        printed_[message->partition] = std::move(message);
    }
    // False: whoever read it reads no more.
    [[nodiscard]] bool flush() {
        if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return false;
        for (const auto& [partition, message] : printed_)
            reader_.done_with(*message);
        printed_.clear();
        return true;
    }
    [[nodiscard]] std::uint64_t count() const { return count_; }

  private:
    const Session& session_;
    const Arguments& arguments_;
    KafkaReader& reader_;
    std::map<std::int32_t, KafkaMessage> printed_;  // The last of each partition.
    std::uint64_t count_ = 0;
};

// Once for each trouble: it may take long, and the library goes on trying.
void tell_trouble(KafkaClient& client, std::string& last) {
    const auto trouble = client.take_trouble();
    if (!trouble || trouble->reason == last) return;
    last = trouble->reason;
    fmt::print(stderr, "{}; trying again\n", last);
}

struct Until {
    bool end = false;
    std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
};

KafkaResult<void> read_on(Printer& printer,
                          KafkaReader& reader,
                          Interrupts& interrupts,
                          const Until& until) {
    std::string trouble;
    while (!interrupts.came() && printer.count() < until.count) {
        auto message = reader.next(kSlice);
        if (!message) return tl::unexpected(message.error());
        if (*message != nullptr) {
            printer.print(*std::move(message));
            if (printer.count() % kFlushEvery != 0) continue;
        }
        if (!printer.flush()) break;
        if (until.end && reader.is_at_end()) break;
        tell_trouble(reader.client(), trouble);
    }
    if (printer.flush()) return reader.commit();
    return {};
}

base::Result<KafkaReader::From> from_of(const Arguments& arguments) {
    KafkaReader::From from;
    for (const std::string& text : arguments.all("partition")) {
        const auto number = whole_number("the number of a partition", text, 0, INT32_MAX);
        if (!number) return fail(number.error());
        from.partitions.push_back(static_cast<std::int32_t>(*number));
    }
    const auto offset = offset_of(arguments.get("from", "beginning"));
    if (!offset) return fail(offset.error());
    from.offset = *offset;
    return from;
}

base::Result<Until> until_of(const Arguments& arguments) {
    Until until{.end = arguments.has("until-end")};
    const auto count = arguments.number("count", until.count, 1, INT64_MAX);
    if (!count) return fail(count.error());
    until.count = *count;
    return until;
}

KafkaResult<std::unique_ptr<KafkaReader>> open_reader(const KafkaSettings& settings,
                                                      const Arguments& arguments,
                                                      const KafkaReader::From& from) {
    const std::string topic = arguments.at("topic");
    return arguments.has("group") ? KafkaReader::of_group(settings, topic, arguments.get("group"))
                                  : KafkaReader::of_partitions(settings, topic, from);
}

base::Result<void> consume(const Session& session, const Arguments& arguments) {
    if (arguments.has("group") && (arguments.has("from") || arguments.has("partition"))) {
        return fail(Errc::invalid,
                    "a group shares out the partitions, and goes on where it was: without --from "
                    "and --partition; 'bor-cli bps groups reset' sets it elsewhere");
    }
    const auto from = from_of(arguments);
    if (!from) return fail(from.error());
    const auto until = until_of(arguments);
    if (!until) return fail(until.error());
    const auto settings = client_settings(session, arguments);
    if (!settings) return fail(settings.error());
    const AskedOf asked{.topic = arguments.at("topic"), .group = arguments.get("group")};
    Interrupts interrupts;
    const auto reader = open_reader(*settings, arguments, *from);
    if (!reader) return fail(explained(session, arguments, reader.error(), asked));
    Printer printer(session, arguments, **reader);
    if (const auto read = read_on(printer, **reader, interrupts, *until); !read) {
        return fail(explained(session, arguments, read.error(), asked));
    }
    return {};
}

}  // namespace

base::Result<std::int64_t> offset_of(const std::string& text) {
    if (text == "beginning") return KafkaReader::kBeginning;
    if (text == "end") return KafkaReader::kEnd;
    const auto number = whole_number("an offset", text, 0, INT64_MAX);
    if (number) return static_cast<std::int64_t>(*number);
    return fail(Errc::invalid, number.error().detail + ", or 'beginning', or 'end'");
}

void add_bps_consume_command(std::vector<Command>& commands) {
    commands.push_back(
        {"bps consume",
         "Print a topic's records, a line each, until Ctrl-C",
         {{"topic", "its name"}},
         with_client_options(
             {{"group", 0, "GROUP", "read as a member of it, which goes on where the group was"},
              {"partition", 0, "NUMBER", "only of this one; several times (default: all)"},
              {"from", 0, "OFFSET", "or 'beginning', 'end' (default: beginning)"},
              {"until-end", 0, "", "stop at the end"},
              {"count", 0, "NUMBER", "stop after so many"},
              {"key-separator", 0, "TEXT", "print the key and this before the value"}}),
         consume});
}

}  // namespace cli
