#include "transport/rdma/landing.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace transport::rdma {

namespace {

// Positions that no ring reaches: so keys that no ring has.
constexpr std::uint64_t kBeyondRings = std::uint64_t{1} << 63U;
// A write more is a header and a request, which cost less than such bytes.
constexpr std::size_t kGapBytesMax = 4096;

std::uint64_t position_of(std::uint64_t token) {
    return kBeyondRings | token * link::kLandingBytes;
}

std::size_t place_of(std::uint64_t token, std::size_t bytes) {
    return static_cast<std::size_t>(token % (bytes / kLandingPlaceBytes)) * kLandingPlaceBytes;
}

tl::unexpected<base::Error> invalid(const std::string& what) {
    return base::fail(base::Errc::invalid, what);
}

}  // namespace

std::optional<LandingWriter::Written> LandingWriter::Written::go_on(const Written& next) {
    const std::size_t end = at + bytes.size();
    if (!bytes.empty() && next.at >= end && next.at - end <= kGapBytesMax) {
        bytes = {bytes.data(), next.at - at + next.bytes.size()};
        return std::nullopt;
    }
    const Written before = std::exchange(*this, next);
    return before.bytes.empty() ? std::nullopt : std::optional(before);
}

LandingWriter::LandingWriter(std::span<std::byte> mirror, const base::Hash256& secret)
    : mirror_(mirror), seal_(secret, ring::Seal::Use::seal) {
    CHECK(mirror.size() % kLandingPlaceBytes == 0 && count() <= kLandingsMax);
}

LandingWriter::Written LandingWriter::write(base::ByteView plain) {
    CHECK(room() > 0 && !plain.empty() && plain.size() <= link::kLandingBytes);
    const std::size_t at = place_of(written_, mirror_.size());
    const std::span<std::byte> out = mirror_.subspan(at, plain.size() + ring::kTagBytes);
    seal_.seal(position_of(written_), plain.size(), plain, out);
    ++written_;
    return {.at = at, .bytes = out};
}

base::Result<void> LandingWriter::take_credit(std::uint64_t taken) {
    if (taken < taken_ || taken > written_) {
        return invalid("the peer took " + std::to_string(taken) + " landings, between " +
                       std::to_string(taken_) + " and " + std::to_string(written_) +
                       " are possible");
    }
    taken_ = taken;
    return {};
}

LandingReader::LandingReader(std::span<const std::byte> memory, const base::Hash256& secret)
    : memory_(memory), seal_(secret, ring::Seal::Use::open) {
    CHECK(memory.size() % kLandingPlaceBytes == 0);
}

std::uint64_t LandingReader::freed(std::size_t window) const {
    const std::size_t count = memory_.size() / kLandingPlaceBytes;
    const std::uint64_t withheld = count - std::min(window, count);
    return taken_ - std::min(taken_, withheld);
}

base::Result<void> LandingReader::check(const link::Landing& landing) const {
    const std::string name = "the peer named landing " + std::to_string(landing.token);
    if (landing.token < taken_) return invalid(name + ", which was taken before");
    if (landing.token != taken_) return invalid(name + " before number " + std::to_string(taken_));
    if (memory_.empty()) return invalid(name + ", and was given none");
    if (landing.bytes > link::kLandingBytes)
        return invalid(name + " with " + std::to_string(landing.bytes) + " bytes, 64 KiB at most");
    return {};
}

base::Result<void> LandingReader::take(const link::Landing& landing, std::span<std::byte> out) {
    if (auto right = check(landing); !right) return right;
    CHECK(out.size() == landing.bytes);
    const std::byte* const place = memory_.data() + place_of(landing.token, memory_.size());
    ring::Seal::Tag tag{};
    std::memcpy(out.data(), place, out.size());
    std::memcpy(tag.data(), place + out.size(), tag.size());
    if (!seal_.open(position_of(landing.token), out.size(), out, tag)) {
        return invalid("landing " + std::to_string(landing.token) +
                       " holds what its peer did not seal");
    }
    ++taken_;
    return {};
}

}  // namespace transport::rdma
