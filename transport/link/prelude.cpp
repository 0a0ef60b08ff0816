#include "transport/link/prelude.hpp"

#include "base/check.hpp"
#include "base/codec.hpp"
#include "transport/link/frame.hpp"

#include <string>

namespace transport::link {

namespace {

constexpr std::uint32_t kMagic = 0x70526f42;  // "BoRp".

Kind read_kind(base::Reader& in) {
    const std::uint8_t kind = in.u8("kind");
    if (kind < static_cast<std::uint8_t>(Kind::rdma) ||
        kind > static_cast<std::uint8_t>(Kind::sim)) {
        in.set_error("kind", "is no kind besides TCP");
    }
    return static_cast<Kind>(kind);
}

base::Bytes read_parameters(base::Reader& in, std::string_view field) {
    return base::to_bytes(in.bytes(field, kParametersBytesMax));
}

prelude::Offers read_offers(base::Reader& in, std::uint32_t attempt) {
    prelude::Offers out{.attempt = attempt};
    const std::size_t count = in.count("offers", kOffersMax, 2);
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
        const Kind kind = read_kind(in);
        for (const Offer& other : out.offers) {
            if (other.kind == kind) in.set_error("offers", "has a kind twice");
        }
        out.offers.push_back({kind, read_parameters(in, "address")});
    }
    return out;
}

Prelude read_body(base::Reader& in, std::uint8_t type) {
    if (type >= std::variant_size_v<Prelude>) in.set_error("type", "is unknown");
    const std::uint32_t attempt = in.u32("attempt");
    switch (type) {
        case 0:
            return read_offers(in, attempt);
        case 1:
            return prelude::Accept{.attempt = attempt,
                                   .kind = read_kind(in),
                                   .parameters = read_parameters(in, "parameters")};
        case 2:
            return prelude::Probed{.attempt = attempt, .nonce = in.u64("nonce")};
        case 4: {
            prelude::Resume out{.attempt = attempt};
            for (std::uint64_t& next : out.next)
                next = in.u64("next number");
            return out;
        }
        default:
            return prelude::Switch{.attempt = attempt};
    }
}

void write(base::Writer& out, const prelude::Offers& offers) {
    out.varuint32(static_cast<std::uint32_t>(offers.offers.size()));
    for (const Offer& offer : offers.offers) {
        out.u8(static_cast<std::uint8_t>(offer.kind));
        out.bytes(offer.address);
    }
}

void write(base::Writer& out, const prelude::Accept& accept) {
    out.u8(static_cast<std::uint8_t>(accept.kind));
    out.bytes(accept.parameters);
}

void write(base::Writer& out, const prelude::Probed& probed) {
    out.u64(probed.nonce);
}

void write(base::Writer& /*out*/, const prelude::Switch& /*change*/) {}

void write(base::Writer& out, const prelude::Resume& resume) {
    for (const std::uint64_t next : resume.next)
        out.u64(next);
}

}  // namespace

base::Bytes encode(const Prelude& prelude) {
    base::Writer out;
    out.u32(kMagic);
    out.u16(kPreludeVersion);
    out.u8(static_cast<std::uint8_t>(prelude.index()));
    std::visit(
        [&](const auto& each) {
            out.u32(each.attempt);
            write(out, each);
        },
        prelude);
    CHECK(out.view().size() <= kPreludeBytesMax);
    return out.take();
}

base::Result<Prelude> decode_prelude(base::ByteView payload) {
    base::Reader in(payload);
    if (in.u32("magic") != kMagic || !in.ok()) {
        return base::fail(base::Errc::malformed, "prelude: the peer is no BoR node");
    }
    const std::uint16_t version = in.u16("version");
    if (in.ok() && version != kPreludeVersion) {
        return base::fail(base::Errc::malformed,
                          "prelude: the peer speaks version " + std::to_string(version) +
                              ", we speak " + std::to_string(kPreludeVersion));
    }
    const std::uint8_t type = in.u8("type");
    Prelude prelude = read_body(in, type);
    if (auto done = in.finish(); !done) return base::fail(done.error());
    return prelude;
}

}  // namespace transport::link
