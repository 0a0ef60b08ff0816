#include "cli/load.hpp"

#include "cli/output.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <unistd.h>

namespace cli {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Tcp = asio::ip::tcp;

constexpr auto kAnswerPatience = std::chrono::seconds(30);
constexpr auto kFinalPatience = std::chrono::seconds(30);
// Where validators lack time, a block that had a transaction may lose to others within this.
constexpr auto kSettled = std::chrono::seconds(1);

// One kept-open connection with one request at a time; connects again after a failure.
class Connection {
  public:
    // The status, 0 when there was no answer, and the answer's body.
    using Done = std::function<void(int, const std::string&)>;

    Connection(asio::io_context& context, const LoadPlan& plan, Tcp::resolver::results_type found)
        : context_(context), plan_(plan), found_(std::move(found)) {}

    void post(const char* path, const std::string& body, Done done) {
        done_ = std::move(done);
        request_ = http::request<http::string_body>(http::verb::post, path, 11);
        request_.set(http::field::host, plan_.host + ":" + plan_.port);
        request_.set(http::field::content_type, "application/json");
        request_.body() = body;
        request_.prepare_payload();
        if (stream_) {
            write();
            return;
        }
        stream_.emplace(context_);
        stream_->expires_after(kAnswerPatience);
        stream_->async_connect(found_, [this](beast::error_code error, const auto& /*endpoint*/) {
            if (error) return finish(0);
            beast::error_code ignored;
            stream_->socket().set_option(Tcp::no_delay(true), ignored);
            write();
        });
    }

  private:
    void write() {
        stream_->expires_after(kAnswerPatience);
        http::async_write(*stream_, request_, [this](beast::error_code error, std::size_t) {
            if (error) return finish(0);
            answer_ = {};
            http::async_read(
                *stream_, buffer_, answer_, [this](beast::error_code read, std::size_t) {
                    if (read) return finish(0);
                    finish(static_cast<int>(answer_.result_int()));
                });
        });
    }
    void finish(int status) {
        if (status == 0 || !answer_.keep_alive()) {
            stream_.reset();
            buffer_.clear();
        }
        const Done done = std::move(done_);
        done(status, answer_.body());
    }

    asio::io_context& context_;
    const LoadPlan& plan_;
    Tcp::resolver::results_type found_;
    std::optional<beast::tcp_stream> stream_;
    beast::flat_buffer buffer_;
    http::request<http::string_body> request_;
    http::response<http::string_body> answer_;
    Done done_;
};

class Load {
  public:
    Load(asio::io_context& context, const LoadPlan& plan, const Tcp::resolver::results_type& found)
        : plan_(plan), tick_(context), poll_(context), poller_(context, plan, found) {
        for (std::size_t i = 0; i < plan.connections; ++i) {
            connections_.push_back(std::make_unique<Connection>(context, plan, found));
            idle_.push_back(connections_.back().get());
        }
        result.answers.resize(plan.bodies.size());
    }

    void start() {
        result.start = LoadClock::now();
        result.last_answer = result.start;
        ask_info();
        tick();
    }

    LoadResult result;

  private:
    [[nodiscard]] LoadClock::time_point due(std::size_t index) const {
        return result.start + std::chrono::nanoseconds(index * 1'000'000'000ULL / plan_.rate);
    }

    void tick() {
        send_due();
        show_progress();
        if (next_ == plan_.bodies.size()) return;
        tick_.expires_at(std::max(due(next_), LoadClock::now() + std::chrono::milliseconds(1)));
        tick_.async_wait([this](beast::error_code /*never cancelled*/) { tick(); });
    }

    void send_due() {
        const auto now = LoadClock::now();
        while (!idle_.empty() && next_ < plan_.bodies.size() && due(next_) <= now) {
            Connection* connection = idle_.back();
            idle_.pop_back();
            const std::size_t index = next_++;
            connection->post("/v1/chain/send_transaction2",
                             plan_.bodies[index],
                             [this, index, connection](int status, const std::string& body) {
                                 take_answer(index, status, body);
                                 idle_.push_back(connection);
                                 send_due();
                             });
        }
    }

    void take_answer(std::size_t index, int status, const std::string& body) {
        result.last_answer = LoadClock::now();
        result.answers[index] = {due(index), result.last_answer, status};
        ++answered_;
        if ((status < 200 || status > 299) && result.first_refusal.empty()) {
            result.first_refusal = status == 0 ? "no answer" : body;
        }
    }

    void ask_info() {
        poller_.post("/v1/chain/get_info", "", [this](int status, const std::string& body) {
            const auto now = LoadClock::now();
            if (status == 200) take_info(body, now);
            const bool all_answered = answered_ == plan_.bodies.size();
            if (all_answered && wanted_final_ == UINT64_MAX &&
                now > result.last_answer + kSettled) {
                wanted_final_ = head_ + 2;
            }
            if (all_answered && final_ >= wanted_final_) return;
            if (all_answered && now > result.last_answer + kFinalPatience) return;
            poll_.expires_after(plan_.poll);
            poll_.async_wait([this](beast::error_code /*never cancelled*/) { ask_info(); });
        });
    }

    void take_info(const std::string& body, LoadClock::time_point now) {
        const auto info = chain::abi::parse_json(body);
        if (!info) return;
        head_ = number_of(*info, "head_block_num");
        final_ = number_of(*info, "last_irreversible_block_num");
        result.heads.try_emplace(head_, now);
        result.finals.try_emplace(final_, now);
    }

    void show_progress() {
        const auto now = LoadClock::now();
        if (::isatty(STDERR_FILENO) == 0 || now < shown_ + std::chrono::seconds(1)) return;
        shown_ = now;
        fmt::print(stderr, "\rsent {} of {}, head {} ", next_, plan_.bodies.size(), head_);
        if (next_ == plan_.bodies.size()) fmt::print(stderr, "\n");
    }

    const LoadPlan& plan_;
    asio::steady_timer tick_;
    asio::steady_timer poll_;
    Connection poller_;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<Connection*> idle_;
    std::size_t next_ = 0;
    std::size_t answered_ = 0;
    std::uint64_t head_ = 0;
    std::uint64_t final_ = 0;
    std::uint64_t wanted_final_ = UINT64_MAX;
    LoadClock::time_point shown_;
};

}  // namespace

base::Result<LoadResult> run_load(const LoadPlan& plan) {
    asio::io_context context(1);
    Tcp::resolver resolver(context);
    beast::error_code failure;
    const auto found = resolver.resolve(plan.host, plan.port, failure);
    if (failure) {
        return base::fail(base::Errc::unavailable,
                          fmt::format("{}:{}: {}", plan.host, plan.port, failure.message()));
    }
    Load load(context, plan, found);
    load.start();
    context.run();
    return std::move(load.result);
}

std::int64_t percentile(std::vector<std::int64_t>& samples, unsigned percent) {
    if (samples.empty()) return 0;
    std::ranges::sort(samples);
    const std::size_t rank = (samples.size() * percent + 99) / 100;
    return samples[std::min(samples.size(), std::max<std::size_t>(rank, 1)) - 1];
}

}  // namespace cli
