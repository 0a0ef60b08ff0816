#include <catch2/catch.hpp>

// After Catch2, whose macros it uses.
#include "tests/support/certificates.hpp"
#include "tests/support/elections.hpp"

// What a node keeps of certificates on its disk.

namespace {

using support::certificate_of;
using support::Cluster;

chain::Certificate notarize(const chain::Block& block, const chain::ChainId& chain_id) {
    return certificate_of(block, chain::VoteKind::notarize, chain_id);
}

// A node that is told what a test says, and the judgements that it answers with.
struct Listener {
    Cluster& cluster;
    std::size_t node;
    std::vector<p2p::input::Judged> judged;
    std::size_t proved = 0;  // Certificates whose signatures were checked and are good.

    Listener(Cluster& all, std::size_t at) : cluster(all), node(at) {
        cluster[node].to_peers = [this](const p2p::Input& said) {
            if (const auto* one = std::get_if<p2p::input::Judged>(&said)) judged.push_back(*one);
            if (std::holds_alternative<p2p::input::VotesProved>(said)) ++proved;
        };
    }
    p2p::Verdict say(const chain::Certificate& certificate) {
        judged.clear();
        cluster[node].step(node::input::FromPeers{
            p2p::effect::CertificateArrived{Cluster::channel(0), {}, certificate}});
        REQUIRE(judged.size() == 1);
        return judged.front().verdict;
    }
};

}  // namespace

TEST_CASE("a NOTARIZE certificate that comes late does not take the place of a newer one",
          "[network]") {
    Cluster cluster(4);
    cluster.run(1, 4);
    cluster.kill(1);
    cluster.kill(2);
    // Blocks of the two that are left: nothing certifies them.
    cluster.run(5, 8);
    const auto blocks = cluster[3].view().reversible;
    REQUIRE(blocks.size() == 2);
    const chain::Block& older = *blocks[0]->block;
    const chain::Block& newer = *blocks[1]->block;
    REQUIRE(newer.header.previous == older.id);
    REQUIRE(newer.header.justify.slot < older.header.slot);
    const chain::ChainId chain_id = cluster[3].genesis().chain_id();
    for (const chain::Block* block : {&newer, &older}) {
        cluster.send(
            0,
            3,
            p2p::effect::CertificateArrived{Cluster::channel(0), {}, notarize(*block, chain_id)});
        cluster.deliver();
    }
    CHECK(cluster.refused.empty());

    // Its lock may be on the newer block: after a restart it must be able to show others why.
    cluster.kill(3);
    std::vector<chain::Slot> shown;
    cluster[3].to_peers = [&](const p2p::Input& said) {
        const auto* passed = std::get_if<p2p::input::PassCertificate>(&said);
        if (passed == nullptr) return;
        const chain::VoteData& data = passed->certificate.data;
        if (data.kind == chain::VoteKind::notarize) shown.push_back(data.slot);
    };
    cluster[3].start();
    cluster[3].step(node::input::FromPeers{p2p::effect::PeerReady{Cluster::channel(0), {}, {}}});
    REQUIRE(shown.size() == 1);
    CHECK(shown[0] == newer.header.slot);
}

TEST_CASE("a certificate that was good under one schedule is not under two", "[network]") {
    Cluster cluster(4, 1, 12);
    support::elect_standby(cluster);
    cluster.run(24, 25);
    for (std::size_t i = 0; i < cluster.size(); ++i)
        cluster.cut(i, 3);
    cluster.tick_at(26);
    const chain::Block& block = *cluster[0].view().head;
    REQUIRE(block.header.slot == 26);
    // Of a quorum of the active schedule; the pending one needs four of five.
    const chain::Certificate certificate =
        certificate_of(block, chain::VoteKind::commit, cluster[0].genesis().chain_id());
    Listener listener(cluster, 3);
    const chain::Slot before = cluster[3].view().finalized->header.slot;
    REQUIRE(before == 25);
    CHECK(listener.say(certificate) == p2p::Verdict::good);
    cluster[3].step(node::input::FromPeers{
        p2p::effect::BlockArrived{Cluster::channel(0), cluster[0].view().head, false}});
    REQUIRE(cluster[3].view().head->id == block.id);
    CHECK(listener.say(certificate) == p2p::Verdict::bad);
    CHECK(cluster[3].view().finalized->header.slot == before);
}

TEST_CASE("a false certificate costs its sender, also of a block that is not here", "[network]") {
    Cluster cluster(4, 1, 12);
    support::elect_standby(cluster);
    const chain::ChainId chain_id = cluster[0].genesis().chain_id();
    const auto head = [&] { return *cluster[0].view().head; };
    const chain::Block old = head();
    for (std::size_t i = 0; i < cluster.size(); ++i)
        cluster.cut(i, 3);
    Listener listener(cluster, 3);
    const auto last_is_wrong = [&](const chain::Block& block) {
        chain::Certificate certificate = notarize(block, chain_id);
        certificate.signatures.back() = certificate.signatures.front();
        return certificate;
    };
    SECTION("where its last signature is wrong") {
        cluster.tick_at(24);
        CHECK(listener.say(last_is_wrong(head())) == p2p::Verdict::bad);
        // An honest one is taken.
        CHECK(listener.say(notarize(head(), chain_id)) == p2p::Verdict::good);
    }
    SECTION("where it has no quorum, or no list at all") {
        cluster.tick_at(24);
        chain::Certificate certificate = notarize(head(), chain_id);
        certificate.bitmaps[0] = base::Bytes{std::byte{0b0011}};
        certificate.signatures.pop_back();
        CHECK(listener.say(certificate) == p2p::Verdict::bad);
        certificate.bitmaps.clear();
        CHECK(listener.say(certificate) == p2p::Verdict::bad);
    }
    SECTION("unless its schedules may be others: then nothing is checked") {
        cluster.run(24, 26);
        chain::Certificate certificate = notarize(head(), chain_id);
        certificate.bitmaps.push_back(base::Bytes{std::byte{0b1111}});
        CHECK(listener.say(certificate) == p2p::Verdict::unsure);
        certificate.data.schedule_version += 1;
        CHECK(listener.say(certificate) == p2p::Verdict::unsure);
        CHECK(listener.proved == 0);
    }
    SECTION("one of a block that was dropped long ago is not checked any more") {
        chain::Block dropped = old;
        dropped.id.bytes[9] ^= std::byte{1};
        for (int again = 0; again < 3; ++again)
            CHECK(listener.say(last_is_wrong(dropped)) == p2p::Verdict::duplicate);
    }
}

namespace {

// Of all that have signed `certificate` and of validator 3, whose signature comes last; nobody has
// kept the others'.
chain::Certificate with_another(const chain::Certificate& certificate,
                                const chain::ChainId& chain_id,
                                unsigned char signs = 10) {
    chain::Certificate made = certificate;
    made.bitmaps[0] = base::Bytes{std::byte{0b1111}};
    for (auto& signature : made.signatures)
        signature.compact[40] ^= std::byte{1};
    made.signatures.push_back(support::key_of(signs).sign(made.data.digest(chain_id)));
    return made;
}

}  // namespace

TEST_CASE("of many certificates of a block one is looked at, then only who is new", "[network]") {
    Cluster cluster(4);
    cluster.run(1, 8);
    const chain::ChainId chain_id = cluster[0].genesis().chain_id();
    for (std::size_t i = 0; i < cluster.size(); ++i)
        cluster.cut(i, 3);
    Listener listener(cluster, 3);
    cluster.tick_at(9);
    const chain::Certificate first = notarize(*cluster[0].view().head, chain_id);
    CHECK(listener.say(with_another(first, chain_id)) == p2p::Verdict::bad);
    CHECK(listener.say(first) == p2p::Verdict::good);
    CHECK(listener.proved == 1);
    CHECK(listener.say(with_another(first, chain_id, 7)) == p2p::Verdict::bad);
    CHECK(listener.proved == 1);
    for (int again = 0; again < 3; ++again) {
        CHECK(listener.say(with_another(first, chain_id)) == p2p::Verdict::good);
        CHECK(listener.proved == 2);  // His vote is heard.
    }
    // Nothing but the first one is kept and passed on.
    cluster[3].step(node::input::FromPeers{
        p2p::effect::BlockArrived{Cluster::channel(0), cluster[0].view().head, false}});
    std::size_t passed = 0;
    cluster[3].to_peers = [&](const p2p::Input& said) {
        const auto* one = std::get_if<p2p::input::PassCertificate>(&said);
        if (one == nullptr || one->certificate.data != first.data) return;
        ++passed;
        CHECK(one->certificate == first);
    };
    cluster[3].step(node::input::FromPeers{p2p::effect::PeerReady{Cluster::channel(0), {}, {}}});
    CHECK(passed == 1);
}

TEST_CASE("where the votes were counted here a certificate of others costs nothing", "[network]") {
    Cluster cluster(4);
    cluster.run(1, 8);
    const chain::Block& block = *cluster[3].view().finalized;
    REQUIRE(block.header.slot == 8);
    const chain::ChainId chain_id = cluster[0].genesis().chain_id();
    Listener listener(cluster, 3);
    const auto commit = certificate_of(block, chain::VoteKind::commit, chain_id);
    CHECK(listener.say(with_another(commit, chain_id, 9)) == p2p::Verdict::duplicate);
    CHECK(listener.say(with_another(notarize(block, chain_id), chain_id)) == p2p::Verdict::good);
    CHECK(listener.proved <= 1);
}

// All say it on to each other.
TEST_CASE("who comes and goes has a node say its clock once a second more", "[network]") {
    Cluster cluster(4);
    cluster.run(1, 4);
    std::size_t said = 0;
    cluster[3].to_peers = [&](const p2p::Input& input) {
        said += std::holds_alternative<p2p::input::PushClock>(input) ? 1U : 0U;
    };
    const auto come = [&] {
        cluster[3].step(
            node::input::FromPeers{p2p::effect::PeerReady{Cluster::channel(0), {}, {}}});
    };
    for (int i = 0; i < 100; ++i)
        come();
    CHECK(said == 1);
    cluster.tick_at(20);
    said = 0;
    come();
    CHECK(said == 1);
}
