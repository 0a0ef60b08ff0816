#pragma once

#include "transport/link/fast_path.hpp"
#include "transport/tcp/thread.hpp"

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Which way the messages go.
enum class Way : std::uint8_t { tcp, shm, rdma };
[[nodiscard]] std::string_view to_string(Way way);

// The IP addresses of the RDMA devices that nodes have in turn; none: the first device.
void use_devices(std::vector<std::string> addresses);
[[nodiscard]] const std::vector<std::string>& used_devices();
// Why no RDMA kind can be made on these devices; empty: one can.
[[nodiscard]] std::string why_no_rdma();
// What a node's `number`-th way needs besides TCP; null: nothing.
[[nodiscard]] std::unique_ptr<transport::link::FastKind> make_kind(Way way, unsigned number);

[[nodiscard]] transport::SharedBytes message_of(std::size_t bytes);

// An I/O thread and its host, which answers on it as a core thread would, by lists of commands.
// Benchmarks say what happens with messages.
class Node : public transport::Host {
  public:
    struct Setting {
        Way way = Way::tcp;
        unsigned number = 0;  // Nodes of other numbers have other devices.
        // Instead of the way's.
        std::unique_ptr<transport::link::FastKind> kind{};
        transport::tcp::Options options{.listen = {"127.0.0.1:0"}};
    };

    explicit Node(Setting setting);
    Node(Way way, unsigned number) : Node(Setting{.way = way, .number = number}) {}
    ~Node() override { stop(); }

    [[nodiscard]] const std::string& address() const { return thread_->addresses().front(); }
    [[nodiscard]] const transport::tcp::Thread& thread() const { return *thread_; }
    // Any node of any host.
    void call(const std::string& address);
    // Calls, and waits until messages go the way that they should.
    void connect(const Node& other);
    void wait_for_peers(std::size_t count) const;
    [[nodiscard]] std::size_t peers() const;

    void send(transport::Lane lane,
              transport::Priority priority,
              const transport::SharedBytes& bytes) {
        send_to(channel_, lane, priority, bytes);
    }
    void send_to(transport::ChannelId channel,
                 transport::Lane lane,
                 transport::Priority priority,
                 const transport::SharedBytes& bytes) {
        commands_.emplace_back(transport::command::Send{channel, lane, priority, bytes});
    }
    // Another thread's way to hand over what it sent; before messages come.
    void begin();
    void wait_until_done();

    [[nodiscard]] transport::Verdict admit(const transport::PeerKey& /*peer*/,
                                           bool /*outbound*/) override {
        return {true, {}};
    }
    void on_events(std::vector<transport::Event>& events) override;

  protected:
    // On the I/O thread.
    virtual void on_received(transport::event::Received& received) = 0;
    virtual void on_down() {}
    void finish();
    // Every descendant's destructor: no message comes any more.
    void stop() { thread_->stop(); }
    [[nodiscard]] transport::tcp::Thread& io() { return *thread_; }

  private:
    class NoLog : public base::LogSink {
      public:
        [[nodiscard]] bool enabled(base::Level /*level*/) const override { return false; }
        void write(base::Level /*level*/, std::string_view, std::string_view) override {}
    };

    void set_channel(transport::ChannelId channel);

    Way way_;
    base::crypto::PrivateKey key_;
    NoLog log_;
    std::mutex mutex_;
    std::condition_variable changed_;
    transport::ChannelId channel_{};
    bool is_done_ = false;
    std::vector<transport::Command> commands_;
    std::optional<transport::tcp::Thread> thread_;
};

// Answers each message of priority 0 with one as long, each `bulk_bytes` of others with a byte.
class Echo final : public Node {
  public:
    Echo(Way way, unsigned number, std::size_t bytes, std::size_t bulk_bytes = 1)
        : Node(way, number),
          answer_(message_of(bytes)),
          credit_(message_of(1)),
          bulk_bytes_(bulk_bytes) {}
    ~Echo() override { stop(); }

  private:
    void on_received(transport::event::Received& received) override {
        if (received.message.priority == 0) return send(transport::Lane::control, 0, answer_);
        unanswered_ += received.message.bytes.size();
        if (unanswered_ < bulk_bytes_) return;
        unanswered_ = 0;
        send(transport::Lane::control, 1, credit_);
    }

    transport::SharedBytes answer_;
    transport::SharedBytes credit_;
    std::size_t bulk_bytes_;
    std::size_t unanswered_ = 0;
};
