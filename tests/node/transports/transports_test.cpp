// Which ways to peers a node has: what this host or this build lacks is left out with the reason,
// in what the node answers and in its log, and never ends it.
#include "node/transports.hpp"

#include "transport/tcp/thread.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace tests {

namespace {

using base::crypto::KeyType;
using base::crypto::PrivateKey;
using transport::Kind;

class Nobody final : public transport::Host {
  public:
    [[nodiscard]] transport::Verdict admit(const transport::PeerKey& /*peer*/, bool) override {
        return {false, "nobody"};
    }
    void on_events(std::vector<transport::Event>& events) override { events.clear(); }
};

class Lines final : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level /*level*/) const override { return true; }
    void write(base::Level /*level*/, std::string_view, std::string_view line) override {
        text += std::string(line) + "\n";
    }
    std::string text;
};

// A node's ways, and what it wrote when it looked for them.
struct Ways {
    explicit Ways(const node::TransportSettings& settings)
        : thread({}, PrivateKey::generate(KeyType::r1), host, base::Log(log, "transport")),
          transports(settings, thread, base::Log(log, "transport")) {}

    [[nodiscard]] std::string why_not(Kind kind) const {
        for (const auto& each : transports.kinds())
            if (each.kind == kind) return each.why_not;
        FAIL("no such kind");
        return transports.choice();
    }
    // The reason stands in the log too.
    void check_logged(Kind kind) const {
        CHECK_THAT(log.text,
                   Catch::Contains("kind=" + std::string(transport::to_string(kind))) &&
                       Catch::Contains(why_not(kind)));
    }

    Nobody host;
    Lines log;
    transport::tcp::Thread thread;
    node::Transports transports;
};

}  // namespace

TEST_CASE("a node has what its host has, best first, and TCP always") {
    const Ways ways({});
    std::vector<Kind> kinds;
    for (const auto& each : ways.transports.kinds())
        kinds.push_back(each.kind);
    CHECK(kinds == std::vector<Kind>{Kind::shm, Kind::ntb, Kind::rdma, Kind::tcp});
    CHECK(ways.why_not(Kind::tcp).empty());
    CHECK(ways.why_not(Kind::shm).empty());
    CHECK(ways.why_not(Kind::ntb) == "no device is named by ntb-device");
    ways.check_logged(Kind::rdma);
}

TEST_CASE("RDMA that is not to be had is left out with the reason") {
    const Ways ways({.rdma_address = "192.0.2.77"});
#if BOR_HAS_RDMA
    CHECK_THAT(ways.why_not(Kind::rdma), Catch::Contains("RDMA device"));
#else
    CHECK(ways.why_not(Kind::rdma) == "no RDMA: libibverbs was not there when this was built");
#endif
    ways.check_logged(Kind::rdma);
    CHECK(ways.why_not(Kind::tcp).empty());
}

TEST_CASE("a PCI device that is not there is left out with the reason") {
    const Ways ways({.ntb_device = "0000:ff:1f.7"});
    CHECK_THAT(ways.why_not(Kind::ntb), Catch::Contains("0000:ff:1f.7 is no ivshmem device"));
    ways.check_logged(Kind::ntb);
    CHECK(ways.why_not(Kind::shm).empty());
}

TEST_CASE("kinds stand in the order in which they are preferred") {
    const Ways ways({.choice = "rdma,shm"});
    std::vector<Kind> kinds;
    for (const auto& each : ways.transports.kinds())
        kinds.push_back(each.kind);
    CHECK(kinds == std::vector<Kind>{Kind::rdma, Kind::shm, Kind::tcp, Kind::ntb});
    CHECK(ways.why_not(Kind::ntb) == "transport = rdma,shm");
    CHECK(ways.why_not(Kind::shm).empty());
}

TEST_CASE("what was not chosen is left out by that reason, and not looked for") {
    const Ways ways({.choice = "tcp", .rdma_address = "192.0.2.77"});
    for (const Kind kind : {Kind::shm, Kind::ntb, Kind::rdma})
        CHECK(ways.why_not(kind) == "transport = tcp");
    CHECK(ways.why_not(Kind::tcp).empty());
    CHECK(ways.log.text.empty());
}

}  // namespace tests
