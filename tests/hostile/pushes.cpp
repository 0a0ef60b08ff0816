#include "tests/hostile/pushes.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace hostile {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kRate = 3'000;  // A second.
constexpr std::size_t kThreads = 64;
constexpr std::size_t kNetWords = 1'000;
constexpr std::uint32_t kExpiresIn = 300;  // Seconds.

// All that the node answers to one request over a new connection; empty: there was none.
std::string ask(const sockaddr_in& node, const std::string& path, const std::string& body) {
    const std::string request = fmt::format(
        "POST {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
        path,
        body.size(),
        body);
    const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
    std::string answer;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the sockets API wants it.
    if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&node), sizeof node) == 0 &&
        ::send(descriptor, request.data(), request.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(request.size())) {
        std::array<char, 4096> part;  // NOLINT(*-member-init): received.
        ssize_t got = 0;
        while ((got = ::recv(descriptor, part.data(), part.size(), 0)) > 0)
            answer.append(part.data(), static_cast<std::size_t>(got));
    }
    ::close(descriptor);
    return answer;
}

sockaddr_in address_of(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(text.substr(colon + 1))));
    ::inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr);
    return address;
}

// Bodies of requests to push a transaction, each another one.
std::vector<std::string> make_bodies(const Plan& plan, const sockaddr_in& node, std::size_t count) {
    const std::string answer = ask(node, "/v1/chain/get_info", "");
    const auto info = nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
    const auto id = base::from_hex(info.at("head_block_id").get<std::string>());
    chain::BlockId head;
    std::ranges::copy(*id, head.bytes.begin());
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::system_clock::now().time_since_epoch());
    const auto eosio = *chain::Name::from_string("eosio");
    std::vector<std::string> bodies;
    bodies.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        chain::SignedTransaction transaction;
        transaction.expiration.seconds = static_cast<std::uint32_t>(now.count()) + kExpiresIn;
        transaction.ref_block_num =
            static_cast<std::uint16_t>(info.at("head_block_num").get<std::uint32_t>());
        transaction.ref_block_prefix = chain::ref_block_prefix_of(head);
        // A limit, each another one.
        transaction.max_net_usage_words = static_cast<std::uint32_t>(kNetWords + i);
        transaction.actions.push_back({eosio,
                                       *chain::Name::from_string("reqauth"),
                                       {{eosio, *chain::Name::from_string("active")}},
                                       chain::pack(eosio)});
        const auto digest = transaction.signing_digest(plan.genesis.chain_id(), {});
        transaction.signatures.push_back(plan.signing->sign(digest));
        const auto packed = chain::PackedTransaction::pack(transaction);
        bodies.push_back(
            nlohmann::json{{"signatures", {transaction.signatures.front().to_string()}},
                           {"compression", "none"},
                           {"packed_context_free_data", ""},
                           {"packed_trx", base::to_hex(packed.packed_trx)}}
                .dump());
    }
    return bodies;
}

}  // namespace

void push_by_connections(const Plan& plan) {
    const sockaddr_in node = address_of(plan.http);
    const std::size_t count = kRate * static_cast<std::size_t>(plan.time.count());
    const auto bodies = make_bodies(plan, node, count);
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::map<std::string, std::size_t> answers;  // By their first line.
    const auto begun = Clock::now();
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
            for (std::size_t at = next++; at < count; at = next++) {
                std::this_thread::sleep_until(begun +
                                              at * std::chrono::microseconds(1'000'000) / kRate);
                const std::string answer = ask(node, "/v1/chain/send_transaction", bodies[at]);
                const std::scoped_lock lock(mutex);
                ++answers[answer.substr(0, answer.find('\r'))];
            }
        });
    }
    threads.clear();
    fmt::print("{} pushes in {:.1f} s\n",
               count,
               std::chrono::duration<double>(Clock::now() - begun).count());
    for (const auto& [line, times] : answers)
        fmt::print("{} times {}\n", times, line.empty() ? "no answer" : line);
}

}  // namespace hostile
