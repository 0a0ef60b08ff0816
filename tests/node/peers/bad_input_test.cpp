// Bad input to a whole node over real TLS connections: what is cut short, too long, said again,
// before its time, or a thousand times as often as it may be.
#include "caller.hpp"

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace tests {

using p2p::MessageType;
using p2p::Reason;

namespace {

// One of each type but hello and go_away. They need not be true, only well-formed.
std::vector<std::pair<p2p::Body, p2p::Mark>> one_of_each(const Server& server) {
    chain::BlockHeader header;
    header.height = 9;
    const auto signature = server.system.sign(base::Hash256{});
    const auto block = chain::make_block({header, signature}, {}, {});
    const chain::VoteData data{.slot = 3, .height = 9, .block_id = block->id};
    chain::PackedTransaction transaction;
    transaction.packed_trx = pattern(60);
    const p2p::BlockPoint first{.height = 1, .id = {}};
    return {{p2p::Notice{.finalized = first, .head = first}, {}},
            {p2p::TimeStamps{.transmit = 5}, {}},
            {p2p::Request{p2p::Wanted::blocks, {block->id}}, {.correlation = 1}},
            {p2p::SyncRequest{.from = 2, .to = 5}, {.correlation = 2}},
            {p2p::HeaderPush{{header, signature}, {}}, {}},
            {p2p::Blocks{{block}}, {}},
            {transaction, {}},
            {chain::Vote{data, server.validator.public_key(), signature}, {}},
            {chain::Certificate{data, {base::Bytes{std::byte{1}}}, {signature}}, {}},
            {p2p::SnapshotRequest{.piece = {.part = p2p::SnapshotPart::chunk, .index = 1}}, {}},
            {p2p::SnapshotChunk{
                 .piece = {.index = 1}, .is_known = true, .count = 2, .bytes = base::Bytes(100)},
             {}},
            {p2p::Ack{.messages = 7}, {}}};
}

Reason reason_for(MessageType type) {
    if (type == MessageType::header || type == MessageType::blocks) return Reason::bad_block;
    if (type == MessageType::transaction) return Reason::bad_transaction;
    if (type == MessageType::vote || type == MessageType::certificate) return Reason::bad_vote;
    return Reason::wrong_version;
}

void set_length(base::Bytes& bytes) {
    const std::size_t length = bytes.size() - p2p::kEnvelopeBytes;
    for (std::size_t i = 0; i < 4; ++i)
        bytes[4 + i] = static_cast<std::byte>(length >> (8 * i) & 0xFFU);
}

}  // namespace

TEST_CASE("before hello nothing else is heard") {
    Server server;
    for (const auto& [body, mark] : one_of_each(server)) {
        Caller caller(server);
        caller.say(body, mark);
        caller.check_gone(Reason::wrong_version, "before its time");
    }
    check_goes_on(server);
}

TEST_CASE("what is cut short says which message does not decode") {
    Server server;
    for (const auto& [body, mark] : one_of_each(server)) {
        const MessageType type = p2p::type_of(body);
        Caller caller(server);
        caller.greet();
        base::Bytes bytes = *p2p::pack_message(body, mark);
        bytes.resize(bytes.size() - 1);
        set_length(bytes);
        caller.say_bytes(type, bytes);
        caller.check_gone(reason_for(type), std::string(p2p::to_string(type)) + " does not decode");
    }
    check_goes_on(server);
}

TEST_CASE("what is longer than its type may be is not read") {
    Server server;
    for (const auto& [body, mark] : one_of_each(server)) {
        const MessageType type = p2p::type_of(body);
        const std::size_t size = p2p::kEnvelopeBytes + p2p::carriage_of(type).body_bytes_max + 1;
        if (size > transport::kMessageBytesMax) continue;  // The transport refuses it itself.
        Caller caller(server);
        caller.greet();
        base::Bytes bytes = *p2p::pack_message(body, mark);
        bytes.resize(size);
        set_length(bytes);
        caller.say_bytes(type, std::move(bytes));
        caller.check_gone(Reason::wrong_version, std::string(p2p::to_string(type)));
    }
    check_goes_on(server);
}

TEST_CASE("what is no message is refused") {
    Server server;
    const auto gone = [&](base::Bytes bytes, const std::string& text) {
        Caller caller(server);
        caller.greet();
        caller.say_bytes(MessageType::notice, std::move(bytes));
        caller.check_gone(Reason::wrong_version, text);
    };
    gone(pattern(10), "");
    base::Bytes bytes = *p2p::pack_message(p2p::Ack{});
    bytes[0] = std::byte{77};
    gone(bytes, "type");
    bytes[0] = std::byte{14};
    bytes[2] = std::byte{9};
    gone(bytes, "version");
    check_goes_on(server);
}

TEST_CASE("what is said again does nothing") {
    Server server;
    Caller caller(server);
    caller.greet();
    const auto push = caller.hear<p2p::Blocks>();
    REQUIRE(push);
    const auto certificate = caller.hear<chain::Certificate>();
    REQUIRE(certificate);
    for (int i = 0; i < 5; ++i) {
        caller.say(push->second);
        caller.say(certificate->second);
    }
    // Still spoken to: a question is answered.
    caller.say(p2p::TimeStamps{.transmit = 5});
    const auto answer = caller.hear<p2p::TimeStamps>();
    REQUIRE(answer);
    check_goes_on(server);
    CHECK(server.log_text().find("go_away") == std::string::npos);
}

TEST_CASE("a thousand times the rate is flooding") {
    Server server;
    for (const auto& [body, mark] : one_of_each(server)) {
        const MessageType type = p2p::type_of(body);
        // The first of these is found false, whatever the rate.
        if (reason_for(type) != Reason::wrong_version) continue;
        Caller caller(server);
        caller.greet();
        const base::Bytes bytes = *p2p::pack_message(body, mark);
        INFO(p2p::to_string(type));
        for (int i = 0; i < 5'000; ++i)
            caller.say_bytes(type, bytes);
        caller.check_gone(Reason::flooding, "");
    }
    check_goes_on(server);
}

}  // namespace tests
// NOLINTEND(bugprone-unchecked-optional-access)
