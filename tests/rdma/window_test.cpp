// Two machines that share memory by PCI: one asks, one answers, over channels that begin with TCP
// and go on by the memory. ivshmem.sh runs a test case in each of two virtual machines.
#include "transport/ntb/pci_kind.hpp"
#include "transport/tcp/peers.hpp"

#include <cstdio>
#include <cstdlib>

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace tests {

namespace ntb = transport::ntb;

namespace {

constexpr const char* kAddress = "10.77.0.1:7000";
constexpr unsigned kOutstanding = 32;

const ntb::PciKind* kind = nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

std::string setting(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? "" : value;
}

unsigned number(const char* name) {
    return static_cast<unsigned>(std::atoi(setting(name).c_str()));
}

base::Bytes message(unsigned number) {
    const std::size_t size = number % 20 == 0 ? 300'000 : 4 + number * 97 % 9'000;
    base::Bytes out = pattern(size, number);
    std::memcpy(out.data(), &number, sizeof number);
    return out;
}

Lane lane_of(unsigned number) {
    return number % 3 == 0 ? Lane::data : Lane::control;
}

// Looks that the channel goes by the memory, and by doorbells if there are any.
void check_way(Node& node) {
    const auto& counters = node.thread->counters();
    CHECK(counters.fast == 1);
    const bool has_doorbells = kind->offered().position.has_value();
    CHECK(has_doorbells == (setting("WINDOW_DOORBELLS") == "yes"));
    CHECK((kind->counters().rung > 0) == has_doorbells);
    CHECK((kind->counters().heard > 0) == has_doorbells);
    std::printf("%u shares of %llu bytes, doorbells: %llu rung, %llu heard\n",
                kind->offered().shares,
                static_cast<unsigned long long>(kind->offered().end_bytes),
                static_cast<unsigned long long>(kind->counters().rung),
                static_cast<unsigned long long>(kind->counters().heard));
}

}  // namespace

std::vector<std::unique_ptr<link::FastKind>> make_fast_kinds() {
    auto memory = ntb::open_pci_memory(
        {.slot = setting("WINDOW_SLOT"), .inbound = setting("WINDOW_INBOUND")});
    if (!memory) FAIL(memory.error().detail);
    auto made = ntb::PciKind::create(std::move(*memory));
    if (!made) FAIL(made.error().detail);
    kind = made->get();
    std::vector<std::unique_ptr<link::FastKind>> out;
    out.push_back(std::move(*made));
    return out;
}

TEST_CASE("a machine that answers", "[.]") {
    Node node({.listen = {kAddress}});
    unsigned answered = 0;
    for (bool is_done = false; !is_done; ++answered) {
        auto received = node.next<event::Received>();
        REQUIRE(received);
        base::Bytes bytes = bytes_of(received->message);
        is_done = bytes.size() == 1;
        if (is_done) check_way(node);
        node.send(received->channel,
                  received->message.lane,
                  received->message.priority,
                  std::move(bytes));
    }
    REQUIRE(node.next<event::Down>());  // The last answer has come.
    std::printf("%u messages answered\n", answered);
    // Also some of who was killed.
    CHECK(answered > number("WINDOW_MESSAGES") + number("WINDOW_OTHERS"));
}

TEST_CASE("a machine that asks", "[.]") {
    const unsigned messages = number("WINDOW_MESSAGES");
    Node node({.listen = {"127.0.0.1:0"}});
    node.post(command::Connect{kAddress, {}});
    const auto up = node.next<event::Up>();
    REQUIRE(up);
    REQUIRE(becomes_fast(node));
    const auto begin = std::chrono::steady_clock::now();
    std::array<unsigned, transport::kLanes> next{};  // Of each lane, the answer that comes next.
    const auto skip_to_lane = [](unsigned number, std::size_t lane) {
        while (static_cast<std::size_t>(lane_of(number)) != lane)
            ++number;
        return number;
    };
    for (std::size_t lane = 0; lane < next.size(); ++lane)
        next[lane] = skip_to_lane(0, lane);
    std::size_t bytes_back = 0;
    for (unsigned sent = 0, come = 0; come < messages; ++come) {
        for (; sent < messages && sent < come + kOutstanding; ++sent)
            node.send(up->channel, lane_of(sent), 3, message(sent));
        const auto received = node.next<event::Received>();
        REQUIRE(received);
        const auto lane = static_cast<std::size_t>(received->message.lane);
        const base::Bytes bytes = bytes_of(received->message);
        REQUIRE(bytes == message(next[lane]));
        bytes_back += bytes.size();
        next[lane] = skip_to_lane(next[lane] + 1, lane);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf(
        "%u messages, %zu bytes there and back in %.1f s\n", messages, bytes_back, took.count());
    check_way(node);
    node.send(up->channel, Lane::control, 0, base::Bytes(1));
    REQUIRE(node.next<event::Received>());
}

}  // namespace tests
// NOLINTEND(bugprone-unchecked-optional-access)
