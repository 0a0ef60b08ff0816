#include "base/codec.hpp"

#include <catch2/catch.hpp>

// The Reader is the first thing that foreign bytes reach. Each test feeds what Writer never
// produces and requires a refusal that names the field.
TEST_CASE("Reader reads back what Writer wrote", "[base][codec]") {
    base::Writer out;
    out.u8(7);
    out.u32(0x01020304);
    out.i64(-2);
    out.varuint32(300);
    out.string("abc");
    base::Reader in(out.view());
    CHECK(in.u8("a") == 7);
    CHECK(in.u32("b") == 0x01020304);
    CHECK(in.i64("c") == -2);
    CHECK(in.varuint32("d") == 300);
    CHECK(in.string("e", 3) == "abc");
    CHECK(in.finish().has_value());
}

TEST_CASE("Reader refuses truncated, trailing and non-minimal input", "[base][codec]") {
    SECTION("a short integer") {
        const base::Bytes bytes(3);
        base::Reader in(bytes);
        CHECK(in.u32("width") == 0);
        REQUIRE_FALSE(in.finish().has_value());
        CHECK(in.finish().error().detail == "width at offset 0: needs 4 bytes, 3 are left");
    }
    SECTION("trailing bytes") {
        const base::Bytes bytes(2);
        base::Reader in(bytes);
        CHECK(in.u8("a") == 0);
        REQUIRE_FALSE(in.finish().has_value());
    }
    SECTION("a length in a longer form than needed") {
        const base::Bytes bytes{std::byte{0x81}, std::byte{0x00}};
        base::Reader in(bytes);
        CHECK(in.varuint32("n") == 0);
        CHECK_FALSE(in.ok());
    }
    SECTION("a varuint32 beyond 32 bits") {
        const base::Bytes bytes(5, std::byte{0x7F});
        base::Bytes wide(4, std::byte{0xFF});
        wide.push_back(std::byte{0x1F});
        base::Reader in(wide);
        CHECK(in.varuint32("n") == 0);
        CHECK_FALSE(in.ok());
    }
    SECTION("a count that cannot fit") {
        base::Writer out;
        out.varuint32(1000);
        base::Reader in(out.view());
        CHECK(in.count("items", 5000, 8) == 0);
        CHECK_FALSE(in.ok());
    }
}
