#include "node/bps/core/codec/requests.hpp"

#include "base/check.hpp"
#include "node/bps/core/codec/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace bps {

namespace {

template <std::size_t... I>
constexpr auto apis_of(std::index_sequence<I...> /*each*/) {
    return std::array{std::variant_alternative_t<I, Request>::kApi...};
}

constexpr std::array kApis = apis_of(std::make_index_sequence<std::variant_size_v<Request>>{});
static_assert(std::ranges::is_sorted(kApis, {}, &Api::key));

using Decode = base::Result<Request> (*)(base::ByteView body, std::int16_t version);

template <class T>
base::Result<Request> decode_as(base::ByteView body, std::int16_t version) {
    Decoder decoder(body, version, T::kApi.is_flexible(version));
    Request request(std::in_place_type<T>);
    decoder.structure(std::get<T>(request));
    // As Kafka's own brokers do, what is behind the last field is passed over: librdkafka 2.0 sets
    // three zeros behind OffsetFetch 7 for all topics, and one behind ListGroups 4.
    if (const auto done = decoder.status(); !done) {
        return base::fail(done.error().code,
                          fmt::format("{} {}: {}", T::kApi.name, version, done.error().detail));
    }
    return request;
}

template <std::size_t... I>
constexpr auto decoders_of(std::index_sequence<I...> /*each*/) {
    return std::array<Decode, sizeof...(I)>{&decode_as<std::variant_alternative_t<I, Request>>...};
}

constexpr std::array kDecoders =
    decoders_of(std::make_index_sequence<std::variant_size_v<Request>>{});

// In both forms of the header its length has 2 bytes.
std::optional<std::string_view> read_client_id(Reader& in) {
    const auto size = in.integer<std::int16_t>("ClientId");
    if (size == -1) return std::nullopt;
    if (size < 0) in.set_error("ClientId", fmt::format("a length of {}", size));
    return base::as_text(in.raw(in.ok() ? static_cast<std::size_t>(size) : 0, "ClientId"));
}

// No tagged field of a request header is known.
void pass_tagged(Reader& in) {
    for (auto left = in.unsigned_varint("tagged fields"); left > 0 && in.ok(); --left) {
        (void)in.unsigned_varint("tag");
        (void)in.raw(in.unsigned_varint("size of a tagged field"), "tagged field");
    }
}

}  // namespace

std::span<const Api> listed_apis() {
    return kApis;
}

const Api* find_api(std::int16_t key) {
    const auto* const at = std::ranges::lower_bound(kApis, key, {}, &Api::key);
    return at != kApis.end() && at->key == key ? at : nullptr;
}

base::Result<RequestFrame> read_request_frame(base::ByteView frame) {
    RequestFrame found;
    Reader in(frame);
    found.header.key = in.integer<std::int16_t>("RequestApiKey");
    found.header.version = in.integer<std::int16_t>("RequestApiVersion");
    found.header.correlation = in.integer<std::int32_t>("CorrelationId");
    if (const auto read = in.status(); !read) return base::fail(read.error());
    const Api* api = find_api(found.header.key);
    if (api == nullptr || !api->lists(found.header.version)) return found;
    found.api = api;
    found.header.client_id = read_client_id(in);
    if (api->is_flexible(found.header.version)) pass_tagged(in);
    found.body = frame.subspan(in.offset());
    if (const auto read = in.status(); !read) return base::fail(read.error());
    return found;
}

base::Result<Request> decode_request(const RequestFrame& frame) {
    CHECK(frame.api != nullptr);
    return kDecoders[static_cast<std::size_t>(frame.api - kApis.data())](frame.body,
                                                                         frame.header.version);
}

}  // namespace bps
