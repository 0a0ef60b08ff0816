#include "node/findings_watch.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

using namespace node;

namespace {

struct Lines : base::LogSink {
    std::vector<std::string> lines;

    [[nodiscard]] bool enabled(base::Level) const override { return true; }
    void write(base::Level level, std::string_view, std::string_view line) override {
        lines.push_back((level == base::Level::warn ? "warn " : "info ") + std::string(line));
    }
};

using Kind = api::Finding::Kind;

void look(FindingsLog& log, int times, const std::vector<api::Finding>& findings) {
    for (int i = 0; i < times; ++i)
        log.note(findings);
}

}  // namespace

TEST_CASE("what is wrong is logged once when it has come, and once when it has gone") {
    Lines lines;
    FindingsLog log(base::Log(lines, "watch"));
    const api::Finding down{Kind::down, "bora", "bora is down"};
    look(log, FindingsLog::kLooks - 1, {down});
    CHECK(lines.lines.empty());
    look(log, 1, {{Kind::down, "bora", "bora is down, for longer"}});
    CHECK(lines.lines == std::vector<std::string>{"warn down: bora is down, for longer"});
    look(log, 20, {down, {Kind::down, "borb", "borb is down"}});
    CHECK(lines.lines.size() == 2);
    CHECK(lines.lines.back() == "warn down: borb is down");
    look(log, FindingsLog::kLooks - 1, {});
    CHECK(lines.lines.size() == 2);
    look(log, 1, {});
    REQUIRE(lines.lines.size() == 4);
    CHECK(lines.lines[2] == "info down is over: bora");
    CHECK(lines.lines[3] == "info down is over: borb");
    look(log, FindingsLog::kLooks, {{Kind::clock, "", "the clock"}});
    look(log, FindingsLog::kLooks, {});
    CHECK(lines.lines.back() == "info clock is over");
}

TEST_CASE("what comes and goes within a few looks is not logged") {
    Lines lines;
    FindingsLog log(base::Log(lines, "watch"));
    const api::Finding silent{Kind::silent, "bora", "bora does not vote"};
    for (int i = 0; i < 10; ++i) {
        look(log, FindingsLog::kLooks - 1, {silent});
        look(log, 1, {});
    }
    CHECK(lines.lines.empty());
    look(log, FindingsLog::kLooks, {silent});
    for (int i = 0; i < 10; ++i) {
        look(log, FindingsLog::kLooks - 1, {});
        look(log, 1, {silent});
    }
    CHECK(lines.lines.size() == 1);
}

TEST_CASE("the watch looks until it is stopped, and may be started again") {
    Lines lines;
    std::atomic<int> looks = 0;
    FindingsWatch watch([&] { return ++looks, std::vector<api::Finding>(); },
                        base::Log(lines, "watch"));
    for (int starts = 0; starts < 2; ++starts) {
        const int before = looks;
        watch.start();
        while (looks == before)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        watch.stop();
        const int after = looks;
        CHECK(looks == after);
    }
}
