// bor-hostile: what a registered node may do to validators that it means to hold up.
#include "base/crypto/hash.hpp"
#include "tests/hostile/guests.hpp"
#include "tests/hostile/header_variants.hpp"
#include "tests/hostile/many_signatures.hpp"
#include "tests/hostile/plan.hpp"
#include "tests/hostile/pushes.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

using base::crypto::KeyType;
using base::crypto::PrivateKey;
using hostile::Plan;
using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "usage: bor-hostile unsigned-blocks GENESIS SECONDS [--key NODE_KEY_FILE]... "
    "[--target ADDRESS#KEY]...\n"
    "Blocks of the right producer and slot, with 2,000 transactions each, that he did not sign, "
    "to\n"
    "all targets at once. The keys come one after another: who is found out is not let in again.\n"
    "   or: bor-hostile header-variants GENESIS SECONDS --key NODE_KEY_FILE --signing KEY_FILE "
    "[--target ADDRESS#KEY]...\n"
    "Good headers of a validator's own slots, 28 to each target, other ones to each.\n"
    "   or: bor-hostile many-signatures GENESIS SECONDS [--key NODE_KEY_FILE]... "
    "[--target ADDRESS#KEY]...\n"
    "Transactions with 64 signatures of keys that may sign nothing, to all targets.\n"
    "   or: bor-hostile come-and-go | claims GENESIS SECONDS [--key NODE_KEY_FILE]... "
    "[--target ADDRESS#KEY]...\n"
    "Comes to all targets and goes at once, again and again; or says that all heights are final.\n"
    "   or: bor-hostile pushes GENESIS SECONDS --signing KEY_FILE --http HOST:PORT\n"
    "Good transactions of eosio, 3,000 a second, each over a connection of its own.\n"
    "Ends after SECONDS, or later where an attack takes longer, and says what was sent.\n";
constexpr std::size_t kTransactions = 2'000;
constexpr std::size_t kVolley = 60;  // Blocks that a peer's budget lets through at once.

[[noreturn]] void end(const std::string& text) {
    fmt::print(stderr, "bor-hostile: {}\n{}", text, kUsage);
    std::exit(2);
}

std::string text_of(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream out;
    out << in.rdbuf();
    if (!in) end(path + " can't be read");
    return out.str();
}

template <class T>
T or_end(base::Result<T> result, const std::string& what) {
    if (!result) end(what + ": " + result.error().detail);
    return *std::move(result);
}

PrivateKey key_in(const std::string& path) {
    const std::string text = text_of(path);
    return or_end(PrivateKey::from_string(text.substr(0, text.find('\n'))), path);
}

Plan read_plan(const std::vector<std::string>& words) {
    if (words.size() < 3) end("what is to be done?");
    Plan plan;
    plan.genesis = or_end(genesis::from_json(text_of(words[1])), words[1]);
    plan.time = std::chrono::seconds(std::stoi(words[2]));
    for (std::size_t i = 3; i + 1 < words.size(); i += 2) {
        const std::string& value = words[i + 1];
        const std::size_t mark = value.find('#');
        if (words[i] == "--key") {
            plan.keys.push_back(key_in(value));
        } else if (words[i] == "--signing") {
            plan.signing = key_in(value);
        } else if (words[i] == "--http") {
            plan.http = value;
        } else if (words[i] == "--target" && mark != std::string::npos) {
            plan.targets.push_back(
                {value.substr(0, mark),
                 or_end(base::crypto::PublicKey::from_string(value.substr(mark + 1)), value)});
        } else {
            end(words[i] + " " + value);
        }
    }
    if (plan.http.empty() && (plan.keys.empty() || plan.targets.empty()))
        end("a key and a target are needed");
    return plan;
}

// Well-formed transactions, each with a signature from which a key can be recovered.
std::vector<chain::TransactionReceipt> make_body(const chain::ChainId& chain_id) {
    const PrivateKey key = PrivateKey::generate(KeyType::k1);
    std::vector<chain::TransactionReceipt> receipts;
    for (std::size_t i = 0; i < kTransactions; ++i) {
        chain::SignedTransaction transaction;
        transaction.expiration.seconds = UINT32_MAX;
        transaction.ref_block_prefix = static_cast<std::uint32_t>(i);
        const auto nobody = chain::Name::from_string("nobody");
        transaction.actions.push_back({*nobody, *nobody, {{*nobody, *nobody}}, {}});
        transaction.signatures.push_back(key.sign(transaction.signing_digest(chain_id, {})));
        chain::TransactionReceipt receipt;
        receipt.transaction = chain::PackedTransaction::pack(transaction);
        receipts.push_back(std::move(receipt));
    }
    return receipts;
}

class Attack {
  public:
    explicit Attack(const Plan& plan)
        : plan_(plan),
          body_(make_body(plan.genesis.chain_id())),
          stranger_(PrivateKey::generate(KeyType::k1)) {}

    // One key, until its part of the time is over, it has come to all targets, and is found out.
    void run(const PrivateKey& key, Clock::time_point until) {
        hostile::Peer peer(key, plan_.genesis.chain_id());
        for (const hostile::Target& target : plan_.targets)
            peer.connect(target);
        std::map<transport::ChannelId, std::size_t> said;
        const auto is_over = [&] {
            if (said.size() == plan_.targets.size() && !peer.closed().empty()) {
                return Clock::now() >= until;
            }
            return Clock::now() >= until + hostile::kLateMax;
        };
        while (!is_over()) {
            const auto heard = peer.hear(std::chrono::milliseconds(20));
            if (!heard || !heard->message) continue;
            const auto* push = std::get_if<p2p::Blocks>(&*heard->message);
            if (push == nullptr || push->blocks.empty()) continue;
            if (said[heard->channel]++ > 0) continue;
            for (std::size_t i = 0; i < kVolley; ++i, ++sent)
                peer.say(heard->channel, block_on(push->blocks.front()->header));
        }
        channels += said.size();
        for (const std::string& text : peer.closed())
            ++closed[text.substr(0, text.find(" ("))];
    }

    std::size_t sent = 0;
    std::size_t channels = 0;
    std::map<std::string, std::size_t> closed;

  private:
    // A child of the head, in the next slot of its owner, signed by nobody who may.
    [[nodiscard]] p2p::Body block_on(const chain::BlockHeader& head) {
        const auto& entries = plan_.genesis.schedule.entries;
        const auto repetitions = static_cast<std::uint32_t>(plan_.genesis.parameters.repetitions);
        chain::BlockHeader header = head;
        header.slot = head.slot + 1;
        header.height = head.height + 1;
        header.producer = entries[header.slot / repetitions % entries.size()].producer;
        header.previous = head.id();
        header.state_digest = base::crypto::sha256(base::as_bytes(std::to_string(++number_)));
        return p2p::Blocks{{chain::make_block({header, stranger_.sign(header.id())}, body_, {})}};
    }

    const Plan& plan_;
    std::vector<chain::TransactionReceipt> body_;
    PrivateKey stranger_;
    std::uint64_t number_ = 0;
};

void flood_with_blocks(const Plan& plan) {
    Attack attack(plan);
    const auto begun = Clock::now();
    for (std::size_t i = 0; i < plan.keys.size(); ++i) {
        attack.run(plan.keys[i], begun + plan.time * (i + 1) / plan.keys.size());
    }
    fmt::print("{} blocks over {} connections\n", attack.sent, attack.channels);
    for (const auto& [text, count] : attack.closed)
        fmt::print("{} times {}\n", count, text);
}

void attack(const std::vector<std::string>& words) {
    const Plan plan = read_plan(words);
    if (words[0] == "unsigned-blocks") return flood_with_blocks(plan);
    if (words[0] == "many-signatures") return hostile::sign_in_vain(plan);
    if (words[0] == "pushes" && plan.signing) return hostile::push_by_connections(plan);
    if (words[0] == "come-and-go") return hostile::come_and_go(plan);
    if (words[0] == "claims") return hostile::claim_heights(plan);
    if (words[0] != "header-variants") end("what is to be done?");
    if (!plan.signing) end("the validator's signing key is needed");
    hostile::vary_headers(plan);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        attack({argv + 1, argv + argc});
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        std::cerr << "bor-hostile: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
