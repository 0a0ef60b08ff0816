#pragma once

#include "base/log.hpp"
#include "p2p/network.hpp"
#include "p2p/snapshot_desk.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

// Nodes in one thread: Networks joined by wires in memory, in virtual time, each over a ledger
// that believes every block whose producer is not named "liar".
namespace p2p::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline PublicKey key_of(std::size_t number) {
    PublicKey key;
    key.type = base::crypto::KeyType::r1;
    key.point[0] = std::byte{2};
    key.point[31] = static_cast<std::byte>(number >> 8U);
    key.point[32] = static_cast<std::byte>(number & 0xFFU);
    return key;
}

inline PublicKey vote_key_of(std::size_t number) {
    PublicKey key = key_of(number);
    key.type = base::crypto::KeyType::k1;
    return key;
}

inline Signature signature_of(std::size_t number) {
    Signature signature;
    signature.compact[0] = std::byte{31};
    signature.compact[64] = static_cast<std::byte>(number & 0xFFU);
    return signature;
}

// Signatures of tests: the digest and the key, which anybody could write.
inline Signature sign(const PublicKey& key, const base::Hash256& digest) {
    Signature signature;
    signature.compact[0] = std::byte{31};
    for (std::size_t i = 0; i < 32; ++i)
        signature.compact[1 + i] = digest.bytes[i];
    for (std::size_t i = 0; i < 31; ++i)
        signature.compact[33 + i] = key.point[2 + i];
    return signature;
}
inline bool verify(const PublicKey& key, const Signature& signature, const base::Hash256& digest) {
    return sign(key, digest) == signature;
}

inline chain::PackedTransaction transaction_of(std::uint32_t number, std::size_t bytes = 100) {
    chain::PackedTransaction packed;
    packed.signatures = {signature_of(number)};
    packed.packed_trx.resize(bytes);
    for (std::size_t i = 0; i < 4; ++i) {
        packed.packed_trx[i] = static_cast<std::byte>(number >> (8 * i) & 0xFFU);
    }
    return packed;
}

inline chain::BlockPtr genesis() {
    chain::BlockHeader header;
    header.height = 1;
    return chain::make_block({header, signature_of(0)}, {}, {});
}

struct BlockOptions {
    std::string producer = "p";
    std::vector<chain::PackedTransaction> transactions{};
    std::optional<chain::BlockId> finalized{};
    chain::Slot slots = 1;
};
inline chain::BlockPtr block_on(const chain::Block& parent, const BlockOptions& options = {}) {
    chain::BlockHeader header;
    header.slot = parent.header.slot + options.slots;
    header.height = parent.header.height + 1;
    header.producer = *chain::Name::from_string(options.producer);
    header.previous = parent.id;
    if (options.finalized) header.finalized = {1, *options.finalized};
    std::vector<chain::TransactionReceipt> receipts;
    for (const chain::PackedTransaction& packed : options.transactions) {
        receipts.emplace_back().transaction = packed;
        header.transaction_root = packed.packed_digest();
    }
    return chain::make_block({header, signature_of(1)}, std::move(receipts), {});
}

inline chain::VoteData vote_data(const chain::Block& block, chain::VoteKind kind) {
    return {.kind = kind,
            .slot = block.header.slot,
            .height = block.header.height,
            .block_id = block.id};
}
inline chain::Vote vote_of(const chain::Block& block,
                           std::size_t voter,
                           chain::VoteKind kind = chain::VoteKind::notarize) {
    return {vote_data(block, kind), vote_key_of(voter), signature_of(voter)};
}
inline chain::Certificate certificate_of(const chain::Block& block, chain::VoteKind kind) {
    return {
        vote_data(block, kind), {base::Bytes{std::byte{7}}}, {signature_of(1), signature_of(2)}};
}

// Of the block of this height, as a certified block above it would prove it.
inline RangeProof range_proof_of(const chain::Block& certified, chain::Height height) {
    RangeProof proof;
    proof.finality.certified = certified.header;
    proof.finality.certificate = certificate_of(certified, chain::VoteKind::commit);
    proof.finality.ancestor =
        chain::MerkleProof{.index = height - 1, .count = certified.header.height, .siblings = {}};
    return proof;
}

// Keeps lines, so that a failed test can be read.
class Lines : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level) const override { return true; }
    void write(base::Level, std::string_view, std::string_view line) override {
        lines.emplace_back(line);
    }
    [[nodiscard]] bool has(std::string_view part) const {
        return std::any_of(lines.begin(), lines.end(), [part](const std::string& line) {
            return line.find(part) != std::string::npos;
        });
    }
    std::vector<std::string> lines;
};

// All blocks that a node has; the best branch and what is final on it.
struct Ledger {
    std::map<chain::BlockId, chain::BlockPtr> blocks;
    std::map<chain::Height, chain::BlockId> finals;  // By height, up to `finalized`.
    chain::BlockPtr head = genesis();
    chain::BlockPtr finalized = head;
    chain::Slot latest = ~chain::Slot{0};  // Blocks of later slots are too early.
    chain::Height earliest = 1;            // It has pruned what is final below.

    Ledger() {
        blocks[head->id] = head;
        finals[1] = head->id;
    }
    [[nodiscard]] input::LedgerChanged view() const {
        input::LedgerChanged view{.head = {head->header.height, head->id},
                                  .finalized = {finalized->header.height, finalized->id},
                                  .branch = {}};
        view.earliest_height = earliest;
        for (chain::BlockPtr at = head; at->id != finalized->id;
             at = blocks.at(at->header.previous)) {
            view.branch.insert(view.branch.begin(), at->id);
        }
        return view;
    }
    // What is final now: this block of the branch, and its ancestors.
    void finalize(const chain::BlockId& id) {
        const auto found = blocks.find(id);
        if (found == blocks.end()) return;
        if (found->second->header.height <= finalized->header.height) return;
        for (chain::BlockPtr at = found->second; at->id != finalized->id;
             at = blocks.at(at->header.previous)) {
            finals[at->header.height] = at->id;
        }
        finalized = found->second;
        if (extends(head, finalized)) return;
        head = finalized;
        for (const auto& [each, block] : blocks) {
            const bool is_higher = block->header.height > head->header.height;
            if (is_higher && extends(block, finalized)) head = block;
        }
    }
    [[nodiscard]] bool extends(chain::BlockPtr block, const chain::BlockPtr& ancestor) const {
        while (block->header.height > ancestor->header.height)
            block = blocks.at(block->header.previous);
        return block->id == ancestor->id;
    }
    Verdict add(const chain::BlockPtr& block) {
        if (blocks.contains(block->id)) return Verdict::duplicate;
        if (!blocks.contains(block->header.previous)) return Verdict::unsure;
        if (block->header.slot > latest) return Verdict::early;
        base::Hash256 root;
        for (const chain::TransactionReceipt& receipt : block->transactions) {
            root = std::get<chain::PackedTransaction>(receipt.transaction).packed_digest();
        }
        if (root != block->header.transaction_root) return Verdict::bad;
        if (block->header.producer.to_string() == "liar") return Verdict::bad;
        blocks[block->id] = block;
        if (block->header.height > head->header.height) head = block;
        finalize(block->header.finalized.id);
        return Verdict::good;
    }
    // A chain of so many blocks; each calls the one two below it final.
    void grow(std::size_t count, const BlockOptions& options = {}) {
        for (std::size_t i = 0; i < count; ++i) {
            BlockOptions now = options;
            const auto parent = blocks.find(head->header.previous);
            if (parent != blocks.end()) now.finalized = parent->second->id;
            (void)add(block_on(*head, now));
        }
    }
};

class World;

// One node: a Network and what stands for the rest.
struct Node {
    std::size_t number = 0;
    std::string name;
    std::uint64_t boot_id = 0;
    chain::Slot start_slot = 0;
    Options options;
    Ledger ledger;
    std::unique_ptr<Network> network;
    // What came out of it.
    std::vector<chain::PackedTransaction> transactions;
    std::vector<chain::Vote> votes;
    std::vector<chain::BlockHeader> headers;
    std::vector<chain::Certificate> certificates;
    std::vector<ClockStatement> clocks;
    std::vector<effect::PeerReady> ready;
    std::vector<effect::TwinKey> twins;
    std::vector<effect::TwinTold> twins_told;
    std::size_t sync_blocks = 0;
    std::size_t ranges = 0;  // That came with a proof.
    std::vector<effect::MendArrived> mends;
    enum class Proofs : std::uint8_t { none, good, lies };
    Proofs proofs = Proofs::good;  // Of the ranges that it serves.
    bool answers_reads = true;     // Else ReadBlocks are never answered.
    milliseconds read_delay{0};
    std::size_t read_most = ~std::size_t{0};                          // Blocks at once.
    std::function<void(Ledger&, std::vector<SharedBytes>&)> falsify;  // What it serves.
    SnapshotDesk desk;
    SnapshotFiles* files = &desk;
    std::function<void(TimeStamps&)> misdate;  // What it answers.
};

class World {
  public:
    static constexpr chain::Slot kLie = 12'345'678;
    struct Channel {
        std::size_t from = 0;
        std::size_t to = 0;
        ChannelId id;    // At `from`.
        ChannelId peer;  // At `to`.
    };

    explicit World(std::size_t count, std::vector<std::size_t> listed = {}) {
        for (std::size_t i = 0; i < count; ++i)
            add(i);
        std::vector<RegisteredNode> nodes;
        for (std::size_t i = 0; i < count; ++i) {
            if (!listed.empty() && std::count(listed.begin(), listed.end(), i) == 0) continue;
            nodes.push_back({key_of(i), organisation(i), kValidator});
        }
        for (auto& node : nodes_)
            input(*node, input::RegistryChanged{nodes});
    }
    static chain::Name organisation(std::size_t number) {
        return *chain::Name::from_string(std::string("org") + static_cast<char>('a' + number));
    }
    static Options options_of(std::size_t number) {
        Options options;
        options.chain_id.bytes[0] = std::byte{1};
        options.times = {.initial = {1'700'000'000'000'000}, .interval_milliseconds = 500};
        options.node_key = key_of(number);
        options.boot_id = 100 + number;
        options.roles = kValidator;
        options.listen_address = std::string(1, static_cast<char>('a' + number)) + ":1";
        options.vote_keys = {vote_key_of(number)};
        options.verify = &verify;
        return options;
    }
    void add(std::size_t number) {
        auto node = std::make_unique<Node>();
        node->number = number;
        node->name = std::string(1, static_cast<char>('A' + nodes_.size()));
        node->options = options_of(number);
        node->boot_id = node->options.boot_id;
        nodes_.push_back(std::move(node));
        start(*nodes_.back());
    }
    // Starts it anew; its options may have been changed.
    void start(Node& node) {
        node.network = std::make_unique<Network>(node.options, base::Log(log, node.name));
        input(node, node.ledger.view());
    }
    Node& operator[](std::size_t i) { return *nodes_.at(i); }

    // `one` dials `other`.
    void join(std::size_t one, std::size_t other, milliseconds delay = milliseconds(1)) {
        const ChannelId at_one{++next_channel_};
        const ChannelId at_other{++next_channel_};
        wires_[at_one] = {other, at_other, delay};
        wires_[at_other] = {one, at_one, delay};
        base::Hash256 exporter;
        exporter.bytes[31] = static_cast<std::byte>(next_channel_);
        up(*nodes_.at(one), at_one, other, true, exporter);
        up(*nodes_.at(other), at_other, one, false, exporter);
    }
    // Whatever they are connected by breaks.
    void part(std::size_t one, std::size_t other) {
        std::vector<std::pair<ChannelId, ChannelId>> broken;
        for (const auto& [channel, wire] : wires_) {
            const bool is_theirs = wire.to == other && wires_.at(wire.peer).to == one;
            if (is_theirs) broken.emplace_back(channel, wire.peer);
        }
        for (const auto& [channel, peer] : broken) {
            wires_.erase(channel);
            wires_.erase(peer);
            input(*nodes_.at(one), input::ChannelDown{channel, "the line is cut"});
            input(*nodes_.at(other), input::ChannelDown{peer, "the line is cut"});
        }
    }
    // Each with the next one.
    void join_line() {
        for (std::size_t i = 0; i + 1 < nodes_.size(); ++i)
            join(i, i + 1);
    }
    void join_all() {
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            for (std::size_t j = i + 1; j < nodes_.size(); ++j)
                join(i, j);
        }
    }

    void input(Node& node, const Input& input) {
        Effects out;
        node.network->step(now, input, out);
        for (const Effect& effect : out) {
            std::visit([&](const auto& value) { carry_out(node, value); }, effect);
        }
    }
    // The ledger of a node was changed by hand.
    void tell_ledger(Node& node) { input(node, node.ledger.view()); }
    // Makes a block on a node's head and pushes it.
    chain::BlockPtr make(Node& node, const BlockOptions& options = {}) {
        auto block = block_on(*node.ledger.head, options);
        (void)node.ledger.add(block);
        tell_ledger(node);
        input(node, input::PushBlock{block});
        return block;
    }

    // A node takes a transaction of a client.
    chain::TransactionPtr push(Node& node, const chain::PackedTransaction& packed) {
        auto transaction = std::make_shared<chain::DecodedTransaction>();
        transaction->packed = packed;
        input(node, input::PushTransaction{transaction});
        return transaction;
    }

    void run(base::Duration time) {
        const base::Timestamp end = now + time;
        while (!events_.empty() && events_.top().at <= end) {
            const Event event = events_.top();
            events_.pop();
            now = std::max(now, event.at);
            event.run();
        }
        now = end;
    }
    void at(base::Timestamp time, std::function<void()> run) {
        events_.push({time, ++next_event_, std::move(run)});
    }
    // The messages from one to the other so far, as "hello notice ...", without heartbeats.
    [[nodiscard]] std::string said(std::size_t from, std::size_t to) const {
        std::string all;
        for (const auto& [pair, type] : script) {
            if (pair != std::pair(from, to) || type == MessageType::time) continue;
            all += (all.empty() ? "" : " ") + std::string(to_string(type));
        }
        return all;
    }
    [[nodiscard]] std::size_t count(MessageType type) const {
        return static_cast<std::size_t>(
            std::count_if(script.begin(), script.end(), [type](const auto& line) {
                return line.second == type;
            }));
    }

    base::Timestamp now = base::Timestamp(base::Duration(1'700'000'100'000'000'000));
    Lines log;
    std::vector<std::pair<std::pair<std::size_t, std::size_t>, MessageType>> script;
    std::vector<std::string> closes;  // "A: duplicate", in order.
    std::vector<std::string> dials;   // "A b:1", in order.
    std::size_t bytes = 0;
    // Refuses connections, if set.
    bool is_cut = false;

  private:
    struct Event {
        base::Timestamp at;
        std::uint64_t order = 0;
        std::function<void()> run;
        bool operator<(const Event& other) const {
            return std::tuple(other.at, other.order) < std::tuple(at, order);
        }
    };
    struct Wire {
        std::size_t to = 0;
        ChannelId peer;
        milliseconds delay{1};
    };

    void up(Node& node,
            ChannelId channel,
            std::size_t other,
            bool outbound,
            const base::Hash256& exporter) {
        VoteKeyStatement statement{.key = node.options.vote_keys.front(),
                                   .boot_id = node.options.boot_id,
                                   .start_slot = node.start_slot};
        statement.signature = sign(
            statement.key,
            statement_digest(statement, {node.options.chain_id, node.options.node_key, exporter}));
        input(node,
              input::ChannelUp{.channel = channel,
                               .key = nodes_.at(other)->options.node_key,
                               .address = nodes_.at(other)->options.listen_address,
                               .outbound = outbound,
                               .exporter = exporter,
                               .statements = {statement}});
    }

    void carry_out(Node& node, const effect::Send& send) {
        const auto at = wires_.find(send.channel);
        if (at == wires_.end()) return;
        const Wire wire = at->second;
        const auto envelope = read_envelope(*send.bytes);
        script.push_back({{node.number, nodes_.at(wire.to)->number}, envelope->type});
        bytes += send.bytes->size();
        this->at(now + wire.delay, [this, &node, send, wire, said = misdated(node, send.bytes)] {
            input(node, input::Written{send.channel, send.bytes->size()});
            if (wires_.contains(wire.peer)) {
                input(*nodes_.at(wire.to), input::Message{wire.peer, *said});
            }
        });
    }
    static SharedBytes misdated(const Node& node, const SharedBytes& bytes) {
        const auto envelope = read_envelope(*bytes);
        if (!node.misdate || envelope->type != MessageType::time) return bytes;
        auto stamps = std::get<TimeStamps>(*read_body(*envelope, *bytes));
        if (stamps.origin != 0) node.misdate(stamps);
        return pack_message(stamps);
    }
    void carry_out(Node& node, const effect::Close& close) {
        closes.push_back(node.name + ": " + std::string(to_string(close.reason)));
        cut(close.channel, close.text);
    }
    // After what was sent before.
    void cut(ChannelId channel, const std::string& text) {
        const auto at = wires_.find(channel);
        if (at == wires_.end()) return;
        const Wire wire = at->second;
        this->at(now + wire.delay, [this, channel, wire, text] {
            wires_.erase(channel);
            if (wires_.erase(wire.peer) == 0) return;
            input(*nodes_.at(wire.to), input::ChannelDown{wire.peer, text});
        });
    }
    void carry_out(Node& node, const effect::Connect& connect) {
        dials.push_back(node.name + " " + connect.address);
        at(now + milliseconds(1), [this, &node, connect] {
            for (std::size_t i = 0; i < nodes_.size(); ++i) {
                if (is_cut || nodes_[i]->options.listen_address != connect.address) continue;
                return join(index_of(node), i);
            }
            input(node, input::ConnectFailed{connect.address, "connection refused"});
        });
    }
    [[nodiscard]] std::size_t index_of(const Node& node) const {
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (nodes_[i].get() == &node) return i;
        }
        return nodes_.size();
    }
    void judge(Node& node,
               Item item,
               const base::Hash256& id,
               ChannelId channel,
               Verdict verdict = Verdict::good) {
        at(now, [this, &node, item, id, channel, verdict] {
            input(node, input::Judged{item, id, channel, verdict, "the ledger says so"});
        });
    }
    void carry_out(Node& node, const effect::HeaderArrived& arrived) {
        node.headers.push_back(arrived.header.signed_header.header);
        const bool is_lie = node.headers.back().producer.to_string() == "liar";
        judge(
            node, Item::header, arrived.id, arrived.channel, is_lie ? Verdict::bad : Verdict::good);
    }
    void carry_out(Node& node, const effect::BlockArrived& arrived) {
        const Verdict verdict = node.ledger.add(arrived.block);
        if (arrived.is_sync) ++node.sync_blocks;
        at(now, [this, &node, arrived, verdict] {
            input(node, node.ledger.view());
            input(node,
                  input::Judged{
                      Item::block, arrived.block->id, arrived.channel, verdict, "of the ledger"});
        });
    }
    void carry_out(Node& node, const effect::TransactionArrived& arrived) {
        node.transactions.push_back(arrived.transaction);
        judge(node, Item::transaction, arrived.id, arrived.channel);
    }
    void carry_out(Node& node, const effect::VoteArrived& arrived) {
        node.votes.push_back(arrived.vote);
        judge(node, Item::vote, arrived.id, arrived.channel);
    }
    void carry_out(Node& node, const effect::CertificateArrived& arrived) {
        node.certificates.push_back(arrived.certificate);
        judge(node, Item::certificate, arrived.id, arrived.channel);
    }
    // A life of 99 is signed wrongly.
    void carry_out(Node& node, const effect::ClockArrived& arrived) {
        node.clocks.push_back(arrived.statement);
        const bool is_lie = arrived.statement.life == 99;
        judge(
            node, Item::clock, arrived.id, arrived.channel, is_lie ? Verdict::bad : Verdict::good);
    }
    void carry_out(Node& node, const effect::ReadBlocks& read) {
        if (!node.answers_reads) return;
        std::vector<SharedBytes> blocks;
        std::size_t size = 0;
        const auto take = [&](const chain::BlockId& id) {
            const auto found = node.ledger.blocks.find(id);
            if (found == node.ledger.blocks.end() || size > read.bytes_max) return;
            if (blocks.size() >= node.read_most) return;
            blocks.push_back(
                std::make_shared<const base::Bytes>(chain::encode_block(*found->second)));
            size += blocks.back()->size();
        };
        for (const chain::BlockId& id : read.ids)
            take(id);
        for (chain::Height h = read.from; h != 0 && h <= read.to; ++h) {
            if (h < node.ledger.earliest) break;
            const auto found = node.ledger.finals.find(h);
            if (found == node.ledger.finals.end() || h < node.ledger.earliest) break;
            take(found->second);
        }
        input::BlocksRead said{read.ticket, {}};
        if (read.trusted && !blocks.empty() && node.proofs != Node::Proofs::none) {
            said.proof = range_proof_of(*node.ledger.finalized,
                                        static_cast<chain::Height>(read.from + blocks.size() - 1));
            // The ledger of a test knows it by this.
            if (node.proofs == Node::Proofs::lies) said.proof->finality.certified.slot = kLie;
        }
        if (node.falsify) node.falsify(node.ledger, blocks);
        said.blocks = std::move(blocks);
        at(now + node.read_delay, [this, &node, said] { input(node, said); });
    }
    void carry_out(Node& node, const effect::RangeArrived& arrived) {
        ++node.ranges;
        Verdict verdict = Verdict::bad;
        if (arrived.proof.finality.certified.slot != kLie) {
            for (const chain::BlockPtr& block : arrived.blocks)
                verdict = node.ledger.add(block);
        }
        at(now, [this, &node, id = arrived.blocks.back()->id, channel = arrived.channel, verdict] {
            input(node, node.ledger.view());
            input(node, input::Judged{Item::block, id, channel, verdict, "of the ledger"});
        });
    }
    // A signature of 50 is wrong.
    void carry_out(Node& node, const effect::MendArrived& arrived) {
        node.mends.push_back(arrived);
        const bool is_lie = arrived.block->signature == signature_of(50);
        judge(node,
              Item::block,
              arrived.block->id,
              arrived.channel,
              is_lie ? Verdict::bad : Verdict::good);
    }
    void carry_out(Node& node, const effect::ReadSnapshot& read) {
        const auto answer = node.files->read(read.piece);
        if (!answer) return;
        const SharedBytes message = pack_message(*answer, {.correlation = read.correlation});
        at(now + node.read_delay, [this, &node, ticket = read.ticket, message] {
            input(node, input::SnapshotRead{ticket, message});
        });
    }
    void carry_out(Node& node, const effect::KeepSnapshot& keep) {
        at(now, [this, &node, kept = node.files->keep(keep)] { input(node, kept); });
    }
    void carry_out(Node& node, const effect::CheckSnapshot& check) {
        at(now,
           [this, &node, checked = node.files->check(check.snapshot)] { input(node, checked); });
    }
    void carry_out(Node& node, const effect::LoadSnapshot& load) {
        at(now, [this, &node, loaded = node.files->load(load.snapshot)] { input(node, loaded); });
    }
    void carry_out(Node& node, const effect::PeerReady& ready) { node.ready.push_back(ready); }
    void carry_out(Node& node, const effect::TwinKey& twin) { node.twins.push_back(twin); }
    void carry_out(Node& node, const effect::TwinTold& told) { node.twins_told.push_back(told); }
    void carry_out(Node& node, const effect::WakeAt& wake) {
        at(wake.time, [this, &node] { input(node, input::Tick{}); });
    }

    std::vector<std::unique_ptr<Node>> nodes_;
    std::map<ChannelId, Wire> wires_;
    std::priority_queue<Event> events_;
    std::uint64_t next_channel_ = 0;
    std::uint64_t next_event_ = 0;
};

}  // namespace p2p::test
