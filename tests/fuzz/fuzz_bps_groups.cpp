#include "base/check.hpp"
#include "node/bps/core/codec/reader.hpp"
#include "node/bps/core/groups.hpp"
#include "tests/node/bps/core/chain_view.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)

constexpr std::string_view kInstances[] = {"one", "two"};
constexpr std::string_view kProtocols[] = {"range", "sticky", "roundrobin"};

// What a disk may hold in place of records of groups, and what clients may say in place of a
// subscription: it is taken or refused, and what is taken works.
void load(base::ByteView bytes) {
    (void)bps::topics_of_subscription(bytes);
    const support::ChainView view;
    const bps::Quotas quotas;
    base::Rng rng(1);
    bps::Groups groups(view.rights, quotas, {}, rng);
    groups.set_partitions(1);
    bps::Reader in(bytes);
    while (in.ok() && in.left() > 0) {
        const auto key_size = in.integer<std::uint8_t>("size");
        const base::ByteView key = in.raw(key_size, "key");
        const auto size = in.integer<std::uint16_t>("size");
        const base::ByteView value = in.raw(size, "value");
        if (!in.ok()) break;
        (void)groups.load(key, size == 0 ? std::nullopt : std::optional(value));
    }
    groups.begin(0, 0);
    groups.check_invariants();
    bps::GroupEffects out;
    while (groups.next_time())
        groups.on_time(*groups.next_time(), out);
    groups.check_invariants();
    groups.end(0, out);
    CHECK(groups.all().empty());
}

// Clients that say anything in any order to one group, and a disk that is done when it likes.
class Conversation {
  public:
    explicit Conversation(base::ByteView bytes) : in_(bytes) {
        groups_.set_partitions(1);
        groups_.begin(0, 0);
        view_.topic(1, "t", 2);
        view_.grant_all("alice"_n);
    }
    void run() {
        while (in_.ok() && in_.left() > 0) {
            step(in_.integer<std::uint8_t>("what"));
            take();
            groups_.check_invariants();
        }
        // All that was asked is answered once, when the disk is done and the coordinator leaves.
        while (!writes_.empty())
            store(bps::ErrorCode::none);
        groups_.end(0, out_);
        take();
        CHECK(open_.empty());
        CHECK(groups_.all().empty());
        CHECK(!groups_.next_time());
    }

  private:
    void step(std::uint8_t what) {
        switch (what % 10) {
            case 0:
            case 1:
                return join();
            case 2:
                return sync();
            case 3:
                return heartbeat();
            case 4:
                return leave();
            case 5:
                return commit();
            case 6:
                return remove();
            case 7:
                return store(bps::ErrorCode::none);
            case 8:
                return store(bps::ErrorCode::kafka_storage_error);
            default:
                break;
        }
        now_ += in_.integer<std::uint16_t>("time");
        view_.on_final(now_);
        groups_.on_time(now_, out_);
    }
    bps::Caller caller(std::int16_t version) {
        bps::Caller caller{.id = {1, ++number_},
                           .version = version,
                           .correlation = 0,
                           .principal = {"alice"_n, "active"_n},
                           .client_id = "c",
                           .client_host = "h"};
        open_.insert(number_);
        return caller;
    }
    // One of the members, one that was, or nobody.
    std::string_view member() {
        const auto which = in_.integer<std::uint8_t>("member");
        return which >= ids_.size() ? std::string_view() : std::string_view(ids_[which]);
    }
    std::optional<std::string_view> instance() {
        const auto which = in_.integer<std::uint8_t>("instance");
        return which < 2 ? std::optional(kInstances[which]) : std::nullopt;
    }
    std::int32_t generation() {
        const auto at = groups_.all().find("g");
        const auto shift = in_.integer<std::uint8_t>("generation") == 255 ? 1 : 0;
        return at == groups_.all().end() ? -1 : at->second.generation - shift;
    }
    void join() {
        bps::JoinGroupRequest request;
        request.group_id = "g";
        request.session_timeout_ms = 6'000;
        request.rebalance_timeout_ms = 20'000;
        request.member_id = member();
        request.group_instance_id = instance();
        request.protocol_type = "consumer";
        const auto protocols = in_.integer<std::uint8_t>("protocols");
        for (std::size_t i = 0; i < 3; ++i) {
            if (((protocols >> i) & 1U) != 0) request.protocols.push_back({kProtocols[i], {}});
        }
        groups_.join(now_, caller(protocols >= 128 ? 3 : 7), request, out_);
    }
    void sync() {
        bps::SyncGroupRequest request;
        request.group_id = "g";
        request.member_id = member();
        request.group_instance_id = instance();
        request.generation_id = generation();
        for (const std::string& id : ids_)
            request.assignments.push_back({id, {}});
        groups_.sync(now_, caller(5), request, out_);
    }
    void heartbeat() {
        bps::HeartbeatRequest request;
        request.group_id = "g";
        request.member_id = member();
        request.group_instance_id = instance();
        request.generation_id = generation();
        groups_.heartbeat(now_, caller(4), request, out_);
    }
    void leave() {
        bps::LeaveGroupRequest request;
        request.group_id = "g";
        const std::string_view id = member();
        request.members = {{id, instance()}};
        groups_.leave(now_, caller(4), request, out_);
    }
    void commit() {
        bps::OffsetCommitRequest request;
        request.group_id = "g";
        request.member_id = member();
        request.generation_id_or_member_epoch = request.member_id.empty() ? -1 : generation();
        request.topics = {{"t", {{0, 5, -1, "m"}, {1, 6, -1, {}}}}};
        groups_.commit(now_, caller(8), request, out_);
    }
    void remove() {
        bps::DeleteGroupsRequest request;
        request.groups_names = {"g"};
        groups_.remove(now_, caller(2), request, out_);
    }
    void store(bps::ErrorCode code) {
        if (writes_.empty()) return;
        const std::uint64_t id = writes_.front();
        writes_.erase(writes_.begin());
        groups_.on_stored(now_, id, code, out_);
        take();
    }
    // What came out.
    void take() {
        for (const bps::Reply& reply : out_.replies)
            CHECK(open_.erase(reply.id.number) == 1);
        for (const bps::GroupWrite& write : out_.writes)
            writes_.push_back(write.id);
        out_ = {};
        const auto at = groups_.all().find("g");
        if (at == groups_.all().end()) return;
        const auto note = [this](const std::string& id) {
            if (std::ranges::find(ids_, id) == ids_.end()) ids_.push_back(id);
        };
        for (const auto& [id, member] : at->second.members)
            note(id);
        for (const auto& [id, until] : at->second.pending)
            note(id);
    }

    bps::Reader in_;
    support::ChainView view_;
    bps::Quotas quotas_;
    base::Rng rng_{1};
    bps::Groups groups_{view_.rights, quotas_, {}, rng_};
    bps::GroupEffects out_;
    std::int64_t now_ = 0;
    std::uint64_t number_ = 0;
    std::vector<std::string> ids_;
    std::vector<std::uint64_t> writes_;
    std::set<std::uint64_t> open_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    if (bytes.empty()) return 0;
    if (bytes[0] == std::byte{0}) {
        load(bytes.subspan(1));
    } else {
        Conversation(bytes.subspan(1)).run();
    }
    return 0;
}
