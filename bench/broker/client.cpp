#include "bench/broker/client.hpp"

#include "bench/broker/requests.hpp"
#include "bench/broker/wire.hpp"
#include "bench/ledger/measure.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <poll.h>
#include <vector>

namespace bench {

namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

base::ByteView wait_for_frame(Wire& wire) {
    while (true) {
        if (const auto frame = wire.frame()) return *frame;
        if (!wire.fill()) give_up("the server has closed");
    }
}

std::unique_ptr<Wire> connect(const Server& server) {
    auto wire = Wire::connect(server.address, server.has_tls);
    if (!server.token.empty()) {
        for (const base::Bytes& each :
             {handshake_request(), login_request("alice@active", server.token)}) {
            wire->send(each);
            check_login(wait_for_frame(*wire));
        }
    }
    wire->send(greeting_request(server.topic));
    (void)wait_for_frame(*wire);
    return wire;
}

// The offset behind the last record of the topic: all that is there is fetched.
std::int64_t end_of(Wire& wire, const Server& server) {
    std::int64_t offset = 0;
    while (true) {
        wire.send(fetch_request(server.topic, {.offset = offset, .wait_ms = 0, .bytes_min = 0}));
        const Fetched fetched = read_fetched(wait_for_frame(wire), offset);
        if (fetched.bytes == 0) return offset;
        offset = fetched.next_offset;
    }
}

void add_rate(Report& report, std::size_t bytes, double seconds, double cpu) {
    const double mebibytes = static_cast<double>(bytes) / kMebibyte;
    report.add("bytes", mebibytes, "MiB");
    report.add("rate", mebibytes / seconds, "MiB/s");
    report.add("seconds", seconds, "s");
    report.add("client's CPU", cpu / mebibytes * 1e3, "ms a MiB");
}

// Consumers at the end of a topic.
class Idle {
  public:
    Idle(const Server& server, std::size_t consumers) {
        for (std::size_t i = 0; i < consumers; ++i) {
            auto& wire = wires_.emplace_back(connect(server));
            if (i == 0) end_ = end_of(*wire, server);
            waiting_.push_back({.fd = wire->socket(), .events = POLLIN, .revents = 0});
        }
        request_ = fetch_request(server.topic, {.offset = end_});
        for (const auto& wire : wires_)
            wire->send(request_);
    }

    // Whose answer has come asks again; how many.
    std::size_t step() {
        if (::poll(waiting_.data(), waiting_.size(), 1'000) < 0) give_up("poll");
        std::size_t answers = 0;
        for (std::size_t i = 0; i < waiting_.size(); ++i) {
            if (waiting_[i].revents != 0 && has_answer(*wires_[i])) ++answers;
        }
        return answers;
    }

  private:
    bool has_answer(Wire& wire) const {
        if (!wire.fill()) give_up("the server has closed");
        const auto frame = wire.frame();
        if (!frame) return false;
        if (read_fetched(*frame, end_).bytes != 0) give_up("a record where none was made");
        wire.send(request_);
        return true;
    }

    std::vector<std::unique_ptr<Wire>> wires_;
    std::vector<pollfd> waiting_;
    std::int64_t end_ = 0;
    base::Bytes request_;
};

}  // namespace

void measure_produce(const Server& server, const Produce& what, Report& report) {
    const base::Bytes batch = make_batch(what.records, what.record_bytes);
    base::Bytes request = produce_request(server.topic, what.acks, batch);
    const std::size_t count = std::max<std::size_t>((what.megabytes << 20U) / batch.size(), 1);
    const auto wire = connect(server);
    std::deque<double> sent_at;
    std::vector<double> waited;
    const double began = wall();
    const double cpu = process_cpu();
    std::size_t sent = 0;
    while (waited.size() < count) {
        while (sent < count && sent_at.size() < what.in_flight) {
            set_correlation(request, static_cast<std::int32_t>(sent++));
            sent_at.push_back(wall());
            wire->send(request);
        }
        if (!wire->fill()) give_up("the server has closed");
        while (const auto frame = wire->frame()) {
            check_produced(*frame);
            waited.push_back(wall() - sent_at.front());
            sent_at.pop_front();
        }
    }
    const double seconds = wall() - began;
    add_rate(report, count * batch.size(), seconds, process_cpu() - cpu);
    std::ranges::sort(waited);
    report.add("answered, half", waited[waited.size() / 2] * 1e3, "ms");
    report.add("answered, 99 of 100", waited[waited.size() * 99 / 100] * 1e3, "ms");
}

void measure_fetch(const Server& server, std::size_t megabytes, Report& report) {
    const auto wire = connect(server);
    const double began = wall();
    const double cpu = process_cpu();
    std::size_t bytes = 0;
    std::int64_t offset = 0;
    while (bytes < megabytes << 20U) {
        wire->send(fetch_request(server.topic, {.offset = offset}));
        const Fetched fetched = read_fetched(wait_for_frame(*wire), offset);
        if (fetched.bytes == 0) break;
        bytes += fetched.bytes;
        offset = fetched.next_offset;
    }
    add_rate(report, bytes, wall() - began, process_cpu() - cpu);
}

void measure_idle(const Server& server,
                  std::size_t consumers,
                  std::size_t seconds,
                  Report& report) {
    Idle idle(server, consumers);
    const double began = wall();
    std::size_t answers = 0;
    while (wall() - began < static_cast<double>(seconds))
        answers += idle.step();
    report.add("consumers", static_cast<double>(consumers), "");
    report.add("answers", static_cast<double>(answers) / (wall() - began), "a second");
}

}  // namespace bench
