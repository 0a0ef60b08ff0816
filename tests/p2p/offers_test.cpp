#include "p2p/stranger.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

// Transactions are offered by id, and by nobody twice: who offers one first and does not send it
// does not keep it from us.

using namespace p2p;
using namespace p2p::test;

namespace {

struct Offers {
    Stranger test;
    ChannelId silent = test.greet();
    ChannelId honest = test.greet({.number = 6});

    void offer(ChannelId channel, const std::vector<base::Hash256>& ids) {
        Notice notice = test.notice();
        notice.transactions = {SyncMode::normal, static_cast<std::uint32_t>(ids.size()), ids};
        test.say(channel, notice);
    }
    [[nodiscard]] std::vector<base::Hash256> asked(ChannelId channel) const {
        std::vector<base::Hash256> ids;
        for (const Body& body : test.heard(channel)) {
            const auto* request = std::get_if<Request>(&body);
            if (request == nullptr || request->wanted != Wanted::transactions) continue;
            ids.insert(ids.end(), request->ids.begin(), request->ids.end());
        }
        return ids;
    }
};

std::vector<base::Hash256> ids_of(std::uint32_t first, std::size_t count) {
    std::vector<base::Hash256> ids(count);
    for (base::Hash256& id : ids) {
        for (std::size_t i = 0; i < 4; ++i)
            id.bytes[i] = static_cast<std::byte>(first >> (8 * i) & 0xFFU);
        ++first;
    }
    return ids;
}

const std::vector<base::Hash256> kOne{transaction_of(1).packed_digest()};

}  // namespace

TEST_CASE("a transaction that its first offerer does not send is asked of the next",
          "[p2p][offers]") {
    Offers offers;
    offers.offer(offers.silent, kOne);
    offers.offer(offers.honest, kOne);
    CHECK(offers.asked(offers.silent) == kOne);
    CHECK(offers.asked(offers.honest).empty());
    offers.test.tick(milliseconds(900));
    CHECK(offers.asked(offers.honest).empty());
    offers.test.tick(milliseconds(500));
    CHECK(offers.asked(offers.honest) == kOne);
    offers.test.say(offers.honest, transaction_of(1));
    CHECK(offers.test.effects<effect::TransactionArrived>().size() == 1);
    offers.test.tick(seconds(3));
    CHECK(offers.asked(offers.silent) == kOne);
    CHECK(offers.asked(offers.honest) == kOne);
}

TEST_CASE("and also if the first one goes, and another has its place", "[p2p][offers]") {
    Offers offers;
    offers.offer(offers.silent, kOne);
    offers.offer(offers.honest, kOne);
    offers.test.step(input::ChannelDown{offers.silent, "gone"});
    const ChannelId other = offers.test.greet();
    offers.test.tick(milliseconds(1'500));
    CHECK(offers.asked(other).empty());
    CHECK(offers.asked(offers.honest) == kOne);
    // All three have offered it now, and each is asked once.
    offers.offer(other, kOne);
    offers.test.tick(milliseconds(1'500));
    CHECK(offers.asked(other) == kOne);
    offers.test.tick(seconds(2));
    CHECK(offers.asked(other) == kOne);
    CHECK(offers.asked(offers.honest) == kOne);
}

TEST_CASE("what one peer offers without end takes no other's place", "[p2p][offers]") {
    Offers offers;
    offers.offer(offers.silent, kOne);
    offers.offer(offers.honest, kOne);
    for (std::uint32_t round = 0; round < 20; ++round)
        offers.offer(offers.silent, ids_of(round * kIdsMax, kIdsMax));
    CHECK(offers.asked(offers.silent).size() == kIdsMax);
    offers.test.tick(milliseconds(1'500));
    CHECK(offers.asked(offers.honest) == kOne);
    // What did not come is forgotten, and may be offered again.
    offers.test.out.clear();
    offers.offer(offers.silent, ids_of(1'000'000, 1));
    CHECK(offers.asked(offers.silent).size() == 1);
}

TEST_CASE("many transactions that one does not send are asked of the next in few requests",
          "[p2p][offers]") {
    Offers offers;
    for (std::uint32_t i = 0; i < 40; ++i) {
        offers.offer(offers.silent, ids_of(i * 10, 10));
        offers.offer(offers.honest, ids_of(i * 10, 10));
        offers.test.tick(milliseconds(50));
    }
    offers.test.tick(milliseconds(1'500));
    CHECK(offers.asked(offers.honest).size() == 400);
    const auto bodies = offers.test.heard(offers.honest);
    CHECK(std::ranges::count_if(bodies, [](const Body& body) {
              return std::holds_alternative<Request>(body);
          }) <= 10);
}
