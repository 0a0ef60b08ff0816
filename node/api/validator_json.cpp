#include "node/api/validator_json.hpp"

namespace node::api {

namespace {

Json promise_to_json(const std::optional<Promise>& promise) {
    if (!promise) return nullptr;
    return {{"kind", promise->kind == chain::VoteKind::commit ? "commit" : "notarize"},
            {"block_num", promise->height},
            {"slot", chain::abi::json_integer(promise->slot)}};
}

}  // namespace

std::string_view evidence_name(std::uint8_t kind) {
    if (kind == 0) return "two headers of one slot";
    if (kind == 1) return "two votes of one slot";
    return "a COMMIT against an earlier NOTARIZE";
}

Json milliseconds_to_json(std::optional<std::int64_t> nanoseconds) {
    constexpr std::int64_t kMicrosecond = 1000;
    if (!nanoseconds) return nullptr;
    const std::int64_t microseconds = *nanoseconds / kMicrosecond;
    return static_cast<double>(microseconds) / 1000.0;
}

Json validator_to_json(const ValidatorStatus& validator) {
    Json json{{"producer", validator.entry.producer.to_string()},
              {"signing_key", validator.entry.signing_key.to_string()},
              {"vote_key", validator.entry.vote_key.to_string()},
              {"own", validator.own},
              {"journal_lost", validator.journal_lost},
              {"stopped", validator.stopped},
              {"lacks_lock", validator.lacks_lock},
              {"twin", validator.twin},
              {"waits", validator.waits},
              {"signing_failure", nullptr},
              {"connected", validator.connected},
              {"voted_final", nullptr},
              {"last_vote", promise_to_json(validator.last_vote)},
              {"lock", promise_to_json(validator.lock)},
              {"head", nullptr},
              {"clock_offset_ms", milliseconds_to_json(validator.clock_nanoseconds)},
              {"clock_error_ms", nullptr}};
    if (validator.clock_nanoseconds) {
        json["clock_error_ms"] = milliseconds_to_json(validator.clock_error_nanoseconds);
    }
    if (!validator.signing_failure.empty()) json["signing_failure"] = validator.signing_failure;
    if (validator.voted_final) json["voted_final"] = *validator.voted_final;
    if (validator.head) json["head"] = *validator.head;
    return json;
}

bool has_signed(const chain::Certificate& certificate, std::size_t index) {
    if (certificate.bitmaps.empty()) return false;
    const base::Bytes& bits = certificate.bitmaps.front();
    if (index / 8 >= bits.size()) return false;
    return ((std::to_integer<unsigned>(bits[index / 8]) >> (index % 8)) & 1U) != 0;
}

}  // namespace node::api
