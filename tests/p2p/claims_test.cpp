#include "p2p/stranger.hpp"

#include <catch2/catch.hpp>

#include <limits>

// What a peer names as final, and does not give, counts for a while only.

namespace {

using namespace p2p;        // NOLINT(google-build-using-namespace): the tests are about it.
using namespace p2p::test;  // NOLINT(google-build-using-namespace): as above.

struct Claims : Stranger {
    ChannelId liar = greet();

    void lie() {
        Notice high = notice();
        high.finalized.height = high.head.height = std::numeric_limits<chain::Height>::max();
        high.finalized.id.bytes[0] = high.head.id.bytes[0] = std::byte{0xff};
        say(liar, high);
    }
    // Our chain grows, or not, and the peer says what it said.
    void pass(int seconds_passed, bool grows) {
        for (int i = 0; i < seconds_passed; ++i) {
            if (grows) ledger.grow(1);
            step(ledger.view());
            lie();
            tick(seconds(1));
        }
    }
    [[nodiscard]] SyncMode mode() const { return network->status().sync.mode; }
};

TEST_CASE("who names a final block and gives none that we lack is not believed for long") {
    Claims test;
    test.pass(3, true);
    CHECK(test.mode() == SyncMode::last_irr_catch_up);
    test.pass(37, true);
    CHECK(test.mode() == SyncMode::normal);
    CHECK(test.network->status().sync.target == test.ledger.head->header.height);
    SECTION("nor asked") {
        test.out.clear();
        test.pass(5, true);
        for (const Body& body : test.heard(test.liar))
            CHECK_FALSE(std::holds_alternative<SyncRequest>(body));
    }
    SECTION("nor when it says less meanwhile") {
        test.say(test.liar, test.notice());
        test.pass(2, true);
        CHECK(test.mode() == SyncMode::normal);
    }
    SECTION("nor when it comes anew") {
        test.step(input::ChannelDown{test.liar, "it went"});
        test.liar = test.greet();
        test.pass(2, true);
        CHECK(test.mode() == SyncMode::normal);
    }
    SECTION("but once our final block stands still") {
        test.pass(7, false);
        CHECK(test.mode() == SyncMode::last_irr_catch_up);
    }
}

}  // namespace
