#include "chain/types/trace.hpp"

#include "base/crypto/hash.hpp"

#include <array>

namespace chain {

namespace {

constexpr std::uint8_t kTraceVersion = 1;

// Messages whose values clients find apart in a trace.
constexpr std::array<std::string_view, 7> kKnownFormats = {
    "assertion failure with message: ${s}",
    "assertion failure with error code: ${error_code}",
    "missing authority of ${account}",
    "action's authorizing actor '${account}' does not exist",
    "read-only action '${name}' cannot have authorizations",
    "transaction declares authority '${auth}', but does not have signatures for it under a "
    "provided "
    "delay of ${provided_delay} ms, provided permissions ${provided_permissions}, provided keys "
    "${provided_keys}, and a delay max limit of ${delay_max_limit_ms} ms",
    "${receiver} <= ${account}::${action} pending console output: ${console}"};

// Whether `text` is `format` with its ${names} filled in; the values then go to `values`. Each
// value is the shortest text before what the format has next.
bool match(std::string_view format, std::string_view text, TraceMessage& message) {
    message = {std::string(format), {}};
    while (true) {
        const std::size_t open = format.find("${");
        const std::string_view literal = format.substr(0, open);
        if (!text.starts_with(literal)) return false;
        text.remove_prefix(literal.size());
        if (open == std::string_view::npos) return text.empty();
        const std::size_t close = format.find('}', open);
        const std::string_view name = format.substr(open + 2, close - open - 2);
        format.remove_prefix(close + 1);
        const std::string_view next = format.substr(0, format.find("${"));
        const std::size_t end = next.empty() ? text.size() : text.find(next);
        if (end == std::string_view::npos) return false;
        message.values.emplace_back(name, text.substr(0, end));
        text.remove_prefix(end);
    }
}

TraceMessage message_of(const std::string& text) {
    TraceMessage message;
    for (const std::string_view format : kKnownFormats) {
        if (match(format, text, message)) return message;
    }
    return {text, {}};
}

}  // namespace

Digest ActionReceipt::digest() const {
    return base::crypto::sha256(pack(*this));
}

Digest action_digest(const Action& action, base::ByteView return_value) {
    base::Writer who;
    encode(who, action.account);
    encode(who, action.name);
    encode_list(who, action.authorization);
    base::Writer what;
    what.bytes(action.data);
    what.bytes(return_value);
    base::Writer both;
    both.hash(base::crypto::sha256(who.view()));
    both.hash(base::crypto::sha256(what.view()));
    return base::crypto::sha256(both.view());
}

std::string TraceMessage::text() const {
    std::string text;
    std::size_t at = 0;
    while (true) {
        const std::size_t open = format.find("${", at);
        const std::size_t close = open == std::string::npos ? open : format.find('}', open);
        if (close == std::string::npos) break;
        text.append(format, at, open - at);
        const std::string_view name = std::string_view(format).substr(open + 2, close - open - 2);
        bool found = false;
        for (const auto& [key, value] : values) {
            if (key != name || found) continue;
            text += value;
            found = true;
        }
        if (!found) text.append(format, open, close + 1 - open);
        at = close + 1;
    }
    return text.append(format, at);
}

TraceException TraceException::from_error(const base::Error& error) {
    TraceException except{exception_of(error), {}};
    for (const std::string& detail : details_of(error)) {
        except.stack.push_back(message_of(detail));
    }
    return except;
}

base::Error TraceException::to_error() const {
    base::Error error = make_error(code, stack.empty() ? std::string() : stack.front().text());
    for (std::size_t i = 1; i < stack.size(); ++i) {
        error = with_detail(std::move(error), stack[i].text());
    }
    return error;
}

void encode(base::Writer& out, TraceVersion /*version*/) {
    out.u8(kTraceVersion);
}

void decode(base::Reader& in, TraceVersion /*version*/, std::string_view field) {
    const std::uint8_t version = in.u8(field);
    if (in.ok() && version != kTraceVersion) in.set_error(field, "unknown version of a trace");
}

void encode(base::Writer& out, const TraceMessage& message) {
    out.string(message.format);
    out.varuint32(static_cast<std::uint32_t>(message.values.size()));
    for (const auto& [name, value] : message.values) {
        out.string(name);
        out.string(value);
    }
}

void decode(base::Reader& in, TraceMessage& message, std::string_view field) {
    message.format = in.string(field, kTraceTextMax);
    message.values.clear();
    const std::size_t count = in.count(field, kTraceItemsMax, 2);
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
        std::string name = in.string(field, kTraceTextMax);
        std::string value = in.string(field, kTraceTextMax);
        message.values.emplace_back(std::move(name), std::move(value));
    }
}

void encode(base::Writer& out, const TraceException& except) {
    out.u32(static_cast<std::uint32_t>(except.code));
    encode_list(out, except.stack);
}

void decode(base::Reader& in, TraceException& except, std::string_view field) {
    except.code = static_cast<Exception>(in.u32(field));
    decode_list(in, except.stack, {kTraceItemsMax, 2}, field);
}

}  // namespace chain
