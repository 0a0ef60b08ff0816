#pragma once

#include "base/bytes.hpp"
#include "base/rng.hpp"
#include "node/bps/core/codec/writer.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

// Kafka's messages as vectors/kafka/messages.txt describes them, read without the tables of the
// codec: the other opinion about how each version of each message looks.
namespace description {

struct Versions {
    int first = 0;
    int last = -1;  // Below `first`: none.

    [[nodiscard]] bool hold(int version) const { return version >= first && version <= last; }
};

inline Versions versions_of(const std::string& text) {
    constexpr int kOpen = 1000;
    if (text == "none") return {};
    const int first = std::stoi(text);
    if (text.back() == '+') return {first, kOpen};
    const auto dash = text.find('-');
    return {first, dash == std::string::npos ? first : std::stoi(text.substr(dash + 1))};
}

struct Field {
    std::string name;
    std::string type;
    Versions versions;
    Versions null;
    std::optional<int> tag;
    std::vector<Field> fields;
};

struct Message {
    int key = 0;
    std::string name;
    Versions versions;
    Versions flexible;
    std::vector<Field> fields;
};

inline Field read_field(std::istringstream& line) {
    Field field;
    std::string versions;
    line >> field.name >> field.type >> versions;
    field.versions = versions_of(versions);
    for (std::string word; line >> word;) {
        if (word == "null") {
            line >> versions;
            field.null = versions_of(versions);
        } else if (word == "tag") {
            int tag = 0;
            line >> tag >> versions;
            field.tag = tag;
        }
    }
    return field;
}

inline Message read_message(std::istringstream& line) {
    Message message;
    std::string word;
    line >> message.key >> message.name >> word;
    message.versions = versions_of(word);
    while (line >> word && word != "flexible") {
    }
    line >> word;
    message.flexible = versions_of(word);
    return message;
}

// A file of vectors/.
inline std::string data_file(const std::string& name) {
    const char* folder = std::getenv("BOR_TEST_DATA");
    return std::string(folder == nullptr ? "tests" : folder) + "/vectors/" + name;
}

// By name.
inline std::map<std::string, Message> read_messages() {
    std::ifstream in(data_file("kafka/messages.txt"));
    std::map<std::string, Message> messages;
    Message* message = nullptr;
    for (std::string text; std::getline(in, text);) {
        if (text.empty() || text[0] == '#') continue;
        std::istringstream line(text);
        const std::size_t depth = text.find_first_not_of(' ') / 2;
        if (depth == 0) {
            Message read = read_message(line);
            message = &(messages[read.name] = read);
            continue;
        }
        std::vector<Field>* fields = &message->fields;
        for (std::size_t i = 1; i < depth; ++i) {
            fields = &fields->back().fields;
        }
        fields->push_back(read_field(line));
    }
    REQUIRE(messages.size() > 60);
    return messages;
}

// Tagged fields of responses that this broker never sends.
inline bool is_left_out(const Field& field) {
    static const std::set<std::string> kLeftOut{"DivergingEpoch",
                                                "CurrentLeader",
                                                "SnapshotId",
                                                "SupportedFeatures",
                                                "FinalizedFeaturesEpoch",
                                                "FinalizedFeatures",
                                                "ZkMigrationReady"};
    return field.tag && kLeftOut.contains(field.name);
}

// Makes messages of one version with values drawn by chance.
class Maker {
  public:
    Maker(int version, bool flexible, std::uint64_t seed)
        : version_(version), flexible_(flexible), rng_(seed) {}

    [[nodiscard]] base::Bytes make(const Message& message) {
        bps::Writer out;
        structure(out, message.fields);
        return out.take();
    }

  private:
    void structure(bps::Writer& out, const std::vector<Field>& fields) {
        std::map<int, base::Bytes> tagged;
        for (const Field& field : fields) {
            if (!field.versions.hold(version_) || is_left_out(field)) continue;
            if (!field.tag) {
                value(out, field, field.type, field.null.hold(version_));
            } else if (rng_.below(2) == 0) {
                bps::Writer content;
                value(content, field, field.type, false);
                tagged[*field.tag] = content.take();
            }
        }
        if (!flexible_) return;
        out.unsigned_varint(static_cast<std::uint32_t>(tagged.size()));
        for (const auto& [tag, content] : tagged) {
            out.unsigned_varint(static_cast<std::uint32_t>(tag));
            out.unsigned_varint(static_cast<std::uint32_t>(content.size()));
            out.raw(content);
        }
    }
    void value(bps::Writer& out, const Field& field, const std::string& type, bool may_be_null) {
        const bool is_records = field.name == "Records" && field.type == "records";
        if (type.starts_with("[]")) {
            if (may_be_null && rng_.below(3) == 0) return length(out, -1, false);
            const auto count = static_cast<int>(rng_.below(4));
            length(out, count, false);
            for (int i = 0; i < count; ++i) {
                value(out, field, type.substr(2), false);
            }
        } else if (type == "string" || type == "bytes" || type == "records") {
            // A fetch that finds nothing answers with no records rather than with null.
            if (may_be_null && !is_records && rng_.below(3) == 0) {
                return length(out, -1, type == "string");
            }
            text(out, type == "string");
        } else if (!scalar(out, type)) {
            structure(out, field.fields);
        }
    }
    void text(bps::Writer& out, bool is_string) {
        const std::size_t size = rng_.below(8) == 0 ? 200 : rng_.below(6);
        length(out, static_cast<int>(size), is_string);
        for (std::size_t i = 0; i < size; ++i) {
            out.integer(static_cast<std::uint8_t>('a' + rng_.below(26)));
        }
    }
    // Never 0: that is the default of a tagged field, which is not written then.
    bool scalar(bps::Writer& out, const std::string& type) {
        static const std::map<std::string, int> kBytes{
            {"int8", 1}, {"int16", 2}, {"int32", 4}, {"int64", 8}, {"uuid", 16}};
        if (type == "bool") {
            out.boolean(rng_.below(2) == 1);
            return true;
        }
        const auto at = kBytes.find(type);
        if (at == kBytes.end()) return false;
        for (int i = 0; i < at->second; ++i) {
            out.integer(static_cast<std::uint8_t>(1 + rng_.below(255)));
        }
        return true;
    }
    void length(bps::Writer& out, int size, bool is_short) const {
        if (flexible_) {
            out.unsigned_varint(static_cast<std::uint32_t>(size + 1));
        } else if (is_short) {
            out.integer(static_cast<std::int16_t>(size));
        } else {
            out.integer(static_cast<std::int32_t>(size));
        }
    }

    int version_;
    bool flexible_;
    base::Rng rng_;
};

}  // namespace description
